"""Claim group 3: solutions whose result is known land exactly where their manifest says."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from runner.errors import ConfigError
from runner.registry.manifests import solutions
from runner.schema.certificate import Claim
from runner.schema.entry import Entry
from runner.schema.manifests import Expectation, Solution
from runner.schema.run import AttemptRecord
from runner.schema.score import Composite, Score
from runner.scoring.code import Corpus, code_components
from runner.scoring.fold import compose
from runner.scoring.gates import measure_gates
from runner.scoring.layers import CorpusResult, measure_corpus
from runner.scoring.patches import PatchFails, apply_patch
from runner.scoring.suite import folder_cases
from runner.validate.bench import Bench

UNUSABLE = {
    "red": ("the corpus is not green on",),
    "placebo": ("the corpus fails on patches that change no behaviour",),
    "empty": ("no-tests",),
    # Whoever tosses a coin may lose it twice.
    "flaky": ("the corpus is flaky", "the corpus is not green on", "the corpus fails on patches that change"),
}


@dataclass(frozen=True)
class Landing:
    """Where one solution landed. ``outcome`` comes from the milestones' verifies on its commit, in order; null as well
    as the others where nothing was asked of it.
    """

    outcome: str | None
    gates: Score
    corpus: CorpusResult | None
    code: Composite | None

    @property
    def killed_pct(self) -> float | None:
        found = self.corpus.corpus.mutation if self.corpus else None
        return 100 * found[0] / found[1] if found and found[1] else None


@dataclass(frozen=True)
class Wanted:
    """What of a solution has to be measured; ``gates`` null: all of them."""

    outcome: bool = True
    gates: frozenset[str] | None = None
    corpus: bool = True
    code: bool = True
    repeats: int | None = None

    @staticmethod
    def by(expect: Expectation, entry: Entry, ranked: bool) -> Wanted:
        """What decides whether ``expect`` is met, and for a ranked solution its points."""
        code = ranked or expect.code is not None
        gates = set(expect.gates) | ({"criterion"} if expect.criterion_failed is not None else set())
        if code:
            weights = entry.weights.code
            gates |= {*weights.get("prerequisites", {}), *weights.get("gates", {})}
            gates |= {"criterion"} if "criterion" in weights else set()
        corpus = code or expect.killed is not None or expect.unusable is not None
        return Wanted(expect.outcome is not None, frozenset(gates), corpus, code, expect.criterion_repeats)


def solution_commit(bench: Bench, home: Path, solution: Solution) -> str:
    """The baseline with the solution's patches and corpus. Raises PatchFails."""
    commit = bench.baseline
    for patch in solution.patches:
        commit = apply_patch(bench.mirror, commit, (home / patch).read_bytes(), f"{solution.id}: {patch}")
    cases_dir = bench.kit.benchmark.entry.cases_dir
    if solution.corpus is not None and cases_dir is not None:
        cases = folder_cases(home / solution.corpus) if (home / solution.corpus).is_dir() else {}
        commit = bench.mirror.replace_folder(commit, cases_dir, cases, f"{solution.id}: corpus")
    return commit


def land(bench: Bench, commit: str, wanted: Wanted, *, whole: bool = False) -> Landing:
    """What the scorers say of a commit, as for a run that ended with it; only what is ``wanted``."""
    entry = bench.kit.benchmark.entry
    branch = bench.branch(commit, wanted.repeats)
    outcome = "pass" if wanted.outcome else None
    attempts = []
    for milestone in entry.milestones if wanted.outcome else ():
        passed = branch.check(entry.command(milestone.verify), f"verify-{milestone.id}").passed
        attempts.append(AttemptRecord(milestone=milestone.id, number=1, counted=True, passed=passed, head=commit,
                                      ended="done", wall_s=0.0))  # fmt: skip
        if not passed:
            outcome = f"fail@{milestone.id}"
            break
    gates = measure_gates(branch, attempts, lambda gate: None, wanted.gates)
    corpus = None
    if wanted.corpus:
        corpus = measure_corpus(branch, lambda line: None, bench.kit.side_by_side, whole=whole)
    code = None
    if wanted.code:
        measured: Corpus | None = corpus.corpus if corpus else None
        code = compose(code_components(entry, gates, measured, "the benchmark has no corpus"), entry.formula)
    return Landing(outcome, gates, corpus, code)


def _prove_solution(
    bench: Bench, kind: str, solution: Solution, home: Path, ranked: bool
) -> tuple[Claim, float | None]:
    """That it lands where its manifest says, and its points (null where they were not wanted)."""
    bench.announce(f"{kind} {solution.id}")
    if solution.expect.says_nothing and not ranked:
        nothing = ["its manifest expects nothing of it, so that it lands there whatever is measured"]
        return _claim(kind, solution.id, nothing, {}, "say under 'expect' what gives it away"), None
    try:
        commit = solution_commit(bench, home, solution)
    except PatchFails as error:
        return _claim(kind, solution.id, [error.what], {}), None
    wanted = Wanted.by(solution.expect, bench.kit.benchmark.entry, ranked)
    landing = land(bench, commit, wanted, whole=_same_tree(bench, commit, bench.reference))
    wrong = _differences(solution.expect, landing)
    points = landing.code.value if landing.code else None
    found: dict[str, object] = {
        "outcome": landing.outcome,
        "gates": {g.id: g.passed for g in landing.gates.gates},
        "killed": None if landing.killed_pct is None else round(landing.killed_pct, 1),
        "code": points,
        "unusable": landing.corpus.corpus.unusable if landing.corpus else None,
    }
    return _claim(kind, solution.id, wrong, found), points


def prove_solutions(bench: Bench, kind: str, folder: str | None) -> list[Claim]:
    """One claim per solution, and for graded ones that neighbours lie the manifest's gap apart."""
    try:
        manifest = solutions(bench.kit.benchmark, folder)
    except ConfigError as error:
        return [_claim(kind, "manifest", [error.what], {}, error.fix or "see docs/reference/registry.md")]
    if manifest is None or folder is None:
        return []
    home = bench.kit.benchmark.path(folder)
    ranked = manifest.gap is not None
    with ThreadPoolExecutor(len(manifest.solutions) or 1) as pool:
        landed = list(pool.map(lambda s: _prove_solution(bench, kind, s, home, ranked), manifest.solutions))
    claims = [claim for claim, _ in landed]
    if manifest.gap is not None:
        names = [solution.id for solution in manifest.solutions]
        claims.append(_order([(n, points) for n, (_, points) in zip(names, landed, strict=True)], manifest.gap))
    return claims


def _same_tree(bench: Bench, one: str, other: str | None) -> bool:
    return other is not None and bench.mirror.tree_id(one) == bench.mirror.tree_id(other)


def prove_reference(bench: Bench) -> list[Claim]:
    """The reference passes every gate that the benchmark has, with full marks."""
    entry = bench.kit.benchmark.entry
    if bench.reference is None:
        # Where its patches do not apply that is said already.
        none = "there is none: nothing shows that the work can be done"
        fix = "develop every milestone yourself, and name the patches under 'reference'"
        return [] if entry.reference else [_claim("solution", "reference", [none], {}, fix)]
    bench.announce("reference")
    try:
        landing = land(bench, bench.reference, Wanted(), whole=True)
    except PatchFails as error:
        return [_claim("solution", "reference", [error.what], {})]
    failed = [g.id for g in landing.gates.gates if g.passed is False]
    wrong = [f"gate {name} fails" for name in failed]
    if landing.outcome != "pass":
        wrong.append(f"its outcome is {landing.outcome}")
    code = landing.code
    if code is None or code.value != 100:
        wrong.append(f"its code is {code.value if code else None}, not 100")
    if code is not None and code.excluded:
        wrong.append(f"not all that has a weight is measured: {code.excluded[0]}")
    fix = _WHICH
    if landing.corpus and (unusable := landing.corpus.corpus.unusable):
        wrong.append(f"{unusable} (case_reader: {entry.case_reader})" if "no-tests" in unusable else unusable)
        if "the frozen program: red" in unusable and entry.mutations and entry.mutations.target != "reference":
            fix = f"tests of what is new cannot be green on the {entry.mutations.target}: say target: reference"
    found: dict[str, object] = {"code": code.value if code else None, "outcome": landing.outcome}
    return [_claim("solution", "reference", wrong, found, fix)]


def _differences(expect: Expectation, landing: Landing) -> list[str]:
    wrong = []
    if expect.outcome is not None and landing.outcome != expect.outcome:
        wrong.append(f"outcome {landing.outcome}, expected {expect.outcome}")
    gates = {g.id: g for g in landing.gates.gates}
    for name, passed in expect.gates.items():
        gate = gates.get(name)
        if gate is None or gate.passed is not passed:
            said = "is not there" if gate is None else "passes" if gate.passed else "fails"
            wrong.append(f"gate {name} {said}, expected to {'pass' if passed else 'fail'}")
    if expect.criterion_failed is not None:
        gate = gates.get("criterion")
        failed = gate.evidence.get("failed", []) if gate and gate.passed is not None else None
        if failed is None or sorted(failed) != sorted(expect.criterion_failed):
            odd = (
                "nothing measured" if failed is None else ", ".join(sorted(set(failed) ^ set(expect.criterion_failed)))
            )
            wrong.append(f"the criterion's failed cases differ: {odd}")
    if expect.killed is not None:
        pct = landing.killed_pct
        if pct is None or not expect.killed[0] <= round(pct, 1) <= expect.killed[1]:
            low, high = expect.killed
            wrong.append(f"kills {'-' if pct is None else f'{pct:.1f}'} %, expected {low:g} to {high:g} %")
    if expect.code is not None:
        value = landing.code.value if landing.code else None
        if value is None or not expect.code[0] <= value <= expect.code[1]:
            wrong.append(f"code {value}, expected {expect.code[0]:g} to {expect.code[1]:g}")
    unusable = landing.corpus.corpus.unusable if landing.corpus else None
    if expect.unusable is not None and not any(said in (unusable or "") for said in UNUSABLE[expect.unusable]):
        wrong.append(f"its corpus is taken for {unusable or 'usable'}, expected {expect.unusable}")
    if expect.unusable is None and expect.killed is not None and expect.killed[0] > 0 and unusable:
        wrong.append(f"its corpus counts for nothing: {unusable}")
    return wrong


def _order(values: Sequence[tuple[str, float | None]], gap: float) -> Claim:
    wrong = []
    for (low, a), (high, b) in pairwise(values):
        if a is None or b is None or round(b - a, 2) < gap:
            wrong.append(f"{high} ({b}) is not {gap:g} points above {low} ({a})")
    shown = " < ".join(f"{name} {value}" for name, value in values)
    return Claim(
        group="solutions",
        id="order",
        ok=not wrong,
        sentence=f"graded solutions in order: {shown}" if not wrong else "; ".join(wrong),
        fix="a yardstick must tell these apart: sharpen patches or weights under a new id",
    )


_WHICH = "the scorer, the benchmark or the manifest is wrong: find out which before anybody is measured"


def _claim(kind: str, name: str, wrong: list[str], found: dict[str, object], fix: str = _WHICH) -> Claim:
    return Claim(
        group="solutions",
        id=f"{kind}-{name}",
        ok=not wrong,
        sentence=f"{kind} {name} lands where it must" if not wrong else f"{kind} {name}: {'; '.join(wrong)}",
        fix=fix,
        evidence=found,
    )
