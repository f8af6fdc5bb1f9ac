"""Runs every group of claims and writes the certificate."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path

from runner import __version__
from runner.errors import ConfigError, UsageError
from runner.lab.bay import Bays
from runner.lab.check import CannotBegin, Check, CheckResult
from runner.lab.kit import Kit
from runner.registry.benchmark import Benchmark, load_benchmark
from runner.registry.frozen import changes, frozen_file
from runner.repo import Mirror
from runner.schema.certificate import Certificate, Claim, GroupName
from runner.scoring.patches import PatchFails, reference_commit
from runner.store.certificates import certificate_path
from runner.store.clock import new_run_id
from runner.store.files import writable_folder, write_record
from runner.store.space import check_space
from runner.validate.baseline import prove_baseline_claims
from runner.validate.bench import Bench
from runner.validate.commands import prove_commands
from runner.validate.determinism import prove_determinism
from runner.validate.leaks import prove_no_leaks
from runner.validate.memo import Memo
from runner.validate.patches import prove_patches
from runner.validate.reliability import reliability_claims
from runner.validate.saboteur import prove_saboteur
from runner.validate.solutions import prove_reference, prove_solutions
from runner.validate.watch import Watch

_ROOM = 64 << 20
_AGAIN = "repetition"

Told = Callable[[Claim], None]


def certify(kit: Kit, watch: Watch, told: Told, *, seed: int = 1) -> Certificate:
    """Prove all claims; each is told as soon as it stands, and ``watch`` hears of every check.

    Raises RigError where the rig itself fails.
    """
    benchmark = kit.benchmark
    frozen = [frozen_claim(kit)]
    _tell(frozen, told)
    run_id = new_run_id()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-validate-")))
        mirror, baseline = Mirror.create(folder / "mirror.git", benchmark.source, benchmark.entry.baseline)
        reference, unfit = _reference(kit, mirror, baseline)
        _tell(unfit, told)
        # One more than there is room for: a check that waits for an answer leaves its core to another one. A success
        # criterion mostly waits, for what a broken program never does: it stands in a row of its own.
        bays, waiting = (stack.enter_context(Bays(kit, mirror, run_id, kit.side_by_side + 1)) for _ in range(2))

        def place(check: Check) -> CheckResult:
            with watch.check():
                return (waiting if check.oracle_dir else bays).run(check)

        memo = Memo(mirror, place)
        bench = Bench(kit, mirror, baseline, reference, run_id, folder, watch.say, memo.run)
        tools: dict[str, str] = {}
        matrix: dict[str, list[str]] = {}
        groups = _groups(bench, seed, tools, matrix)
        for name in (*groups, _AGAIN):
            watch.expect(name)
        claims = frozen + unfit + _side_by_side(bench, groups, told, watch)
        repeated = _group("determinism", _AGAIN, lambda: prove_determinism(bench, seed))() + reliability_claims(kit)
        repeated += _still(benchmark)
        _tell(repeated, told)
    return Certificate(
        benchmark=benchmark.id,
        benchmark_hash=benchmark.hash,
        baseline=baseline,
        images={role: image.id for role, image in sorted(kit.images.items())},
        tools=tools,
        runner_version=__version__,
        claims=claims + repeated,
        matrix=matrix,
    )


Group = Callable[[], list[Claim]]


def _groups(bench: Bench, seed: int, tools: dict[str, str], matrix: dict[str, list[str]]) -> dict[str, Group]:
    """All groups of claims but the repetition, by what people call them."""
    benchmark = bench.kit.benchmark

    def commands() -> list[Claim]:
        claims, found = prove_commands(bench)
        tools.update(found)
        return claims

    def patches() -> list[Claim]:
        found = prove_patches(bench, seed)
        matrix.update(found.matrix)
        return found.claims

    def listed(kind: str, where: str) -> Group:
        return lambda: prove_solutions(bench, kind, where)

    kinds = (("graded", benchmark.entry.graded), ("flawed", benchmark.entry.flawed))
    found: dict[str, tuple[GroupName, Group]] = {
        "commands": ("commands", commands),
        "baseline": ("baseline", lambda: prove_baseline_claims(bench)),
        "patches": ("patches", patches),
        **{kind: ("solutions", listed(kind, where)) for kind, where in kinds if where},
        "reference": ("solutions", lambda: prove_reference(bench)),
        "saboteur": ("solutions", lambda: prove_saboteur(bench)),
        "leaks": ("leaks", lambda: prove_no_leaks(bench)),
    }
    return {what: _group(name, what, group) for what, (name, group) in found.items()}


def _group(name: GroupName, what: str, group: Group) -> Group:
    """A group in which a command or the setup cannot begin breaks one claim, and leaves the others to be proven."""

    def proven() -> list[Claim]:
        try:
            return group()
        except CannotBegin as error:
            return [
                Claim(
                    group=name,
                    id=f"{what}-not-begun",
                    ok=False,
                    sentence=f"nothing of this could be proven: {error.what}",
                    fix="mend the command or the setup that the entry names, or the benchmark's image",
                )
            ]

    return proven


def _side_by_side(bench: Bench, groups: Mapping[str, Group], told: Told, watch: Watch) -> list[Claim]:
    """The claims of all groups, in the order of the groups. All begin at once, and their checks wait for a free place:
    so no core is idle until the last ones. The first error ends the other ones.
    """
    with ThreadPoolExecutor(len(groups)) as pool:
        futures = {pool.submit(group): what for what, group in groups.items()}
        try:
            for future in as_completed(futures):
                _tell(future.result(), told)
                watch.over(futures[future])
        except BaseException:
            bench.kit.cancel.set()
            raise
    return [claim for future in futures for claim in future.result()]


def _tell(claims: Sequence[Claim], told: Told) -> None:
    for claim in claims:
        told(claim)


def place_of(benchmark: Benchmark) -> Path:
    """Where the certificate belongs. Raises RigError or DiskFull where nothing can be kept there."""
    path = certificate_path(benchmark.runs_dir, benchmark.id, benchmark.hash)
    check_space(path.parent, _ROOM)
    writable_folder(path.parent)
    return path


def store(kit: Kit, certificate: Certificate) -> Path:
    path = place_of(kit.benchmark)
    write_record(path, certificate)
    return path


def frozen_claim(kit: Kit) -> Claim:
    changed = changes(kit.benchmark)
    there = frozen_file(kit.benchmark).exists()
    return Claim(
        group="frozen",
        id="files",
        ok=there and not changed,
        sentence=f"{len(kit.benchmark.files)} files and the entry are as they were frozen"
        if there and not changed
        else f"{changed[0]} differs from what was frozen"
        if changed
        else "the benchmark is not frozen: nothing holds its files in place",
        fix="undo the edit, or give the benchmark a new id"
        if changed
        else f"bench validate {kit.benchmark.id} --freeze",
        evidence={"changed": changed},
    )


def _still(benchmark: Benchmark) -> list[Claim]:
    """Nothing where all files are as they were when the proof began: what is proven must be what is named."""
    try:
        now = load_benchmark(benchmark.index, benchmark.id)
    except (ConfigError, UsageError) as error:
        edited = error.what
    else:
        files = now.files.keys() | benchmark.files.keys()
        names = sorted(n for n in files if now.files.get(n) != benchmark.files.get(n))
        edited = names[0] if names else "" if now.hash == benchmark.hash else "the entry in index.md"
    if not edited:
        return []
    return [
        Claim(
            group="frozen",
            id="meanwhile",
            ok=False,
            sentence=f"edited while the proof ran, so that nobody knows which state was proven: {edited}",
            fix=f"bench validate {benchmark.id} once more, and leave its files alone meanwhile",
        )
    ]


def _reference(kit: Kit, mirror: Mirror, baseline: str) -> tuple[str | None, list[Claim]]:
    if not kit.benchmark.entry.reference:
        return None, []
    try:
        return reference_commit(kit.benchmark, mirror, baseline), []
    except PatchFails as error:
        return None, [
            Claim(
                group="solutions", id="reference", ok=False, sentence=error.what, fix="make the reference patches anew"
            )
        ]
