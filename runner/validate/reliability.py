"""How often the reference passes each gate: measured once, by hand, and kept beside the frozen files."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from runner import __version__
from runner.errors import ConfigError, RigError
from runner.lab.bay import Bays
from runner.lab.check import Place
from runner.lab.kit import Kit
from runner.registry.frozen import check_frozen
from runner.repo import Mirror
from runner.schema.base import digest
from runner.schema.certificate import Claim, GateRun, Passes, Reliability
from runner.schema.entry import Entry
from runner.schema.score import Gate
from runner.scoring import SCORER_VERSION
from runner.scoring.branch import Branch
from runner.scoring.gates import measure_gates
from runner.scoring.patches import reference_commit
from runner.store.clock import new_run_id, now
from runner.store.files import append_line, drop_torn_line, locked, read_lines, read_record, write_record

VERIFY = "verify"
"""The name of the last milestone's verify among the gates: the outcome hangs on it."""

Told = Callable[[GateRun, int, int], None]
"""A run that is over, how many are by now, and how many there will be."""


@dataclass(frozen=True)
class Bench:
    """Where the reference is judged: ``folder`` takes what the checks print, ``place`` carries them out."""

    kit: Kit
    mirror: Mirror
    baseline: str
    reference: str
    folder: Path
    place: Place


def measured_gates(entry: Entry) -> list[str]:
    """Every gate that runs something and that the registry has, the longest first."""
    there = {
        "criterion": entry.criterion is not None,
        "ci": "ci" in entry.commands,
        VERIFY: True,
        "determinism": "e2e_update" in entry.commands,
        "behaviour": bool(entry.etalon_dir and entry.mutations and entry.cases_dir),
        "e2e": "e2e" in entry.commands,
    }
    return [name for name, named in there.items() if named]


def measure_reliability(kit: Kit, runs: int, told: Told) -> Reliability:
    """Every gate that runs something, ``runs`` times on the reference, each in a fresh container on a fresh database;
    of the success criterion single repeats.

    Each run is on disk when it is over: what was stopped goes on where it was, as long as benchmark, images, machine
    and versions are the same. Raises ConfigError for a benchmark without a reference or one that is not as it was
    frozen, RigError where the sandbox fails twice in one run.
    """
    benchmark = kit.benchmark
    if not benchmark.entry.reference:
        raise ConfigError(f"{benchmark.id} has no reference to measure", "name its patches under reference")
    check_frozen(benchmark)
    journal = journal_file(kit)
    with ExitStack() as stack:
        stack.enter_context(locked(journal.with_suffix(".lock"), kit.cancel))
        drop_torn_line(journal)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-reliability-")))
        mirror, baseline = Mirror.create(folder / "mirror.git", benchmark.source, benchmark.entry.baseline)
        reference = reference_commit(benchmark, mirror, baseline)
        workers = kit.side_by_side + 1
        bays = stack.enter_context(Bays(kit, mirror, new_run_id(), workers))
        go_on(Bench(kit, mirror, baseline, reference, folder, bays.run), journal, runs, workers, told)
    return summary(kit, read_lines(journal, GateRun))


def go_on(bench: Bench, journal: Path, runs: int, workers: int, told: Told) -> None:
    """Judge what ``journal`` does not have yet, gate after gate in turn, and note each run in it; an error ends it."""
    gates = measured_gates(bench.kit.benchmark.entry)
    seen = Counter(run.gate for run in read_lines(journal, GateRun))
    jobs = [(gate, n) for n in range(1, runs + 1) for gate in gates if n > seen[gate]]
    guard, failed = threading.Lock(), threading.Event()
    over = len(gates) * runs - len(jobs)

    def one(job: tuple[str, int]) -> None:
        nonlocal over
        if failed.is_set():
            return
        try:
            run = _run(bench, *job, journal.with_suffix(""))
        except BaseException:
            failed.set()
            raise
        with guard:
            append_line(journal, run)
            over += 1
            told(run, over, len(gates) * runs)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, jobs))


def _run(bench: Bench, gate: str, number: int, kept: Path) -> GateRun:
    """One gate, judged as a contestant's is, but for the sandbox: where that fails, once more."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=bench.folder) as name:
        try:
            found = _judge(bench, gate, number, Path(name))
        except RigError as error:
            if not error.retry:
                raise
            found = _judge(bench, gate, number, Path(name))
        if not found.passed:
            kept.mkdir(exist_ok=True)
            for file in (f for f in Path(name).iterdir() if f.is_file()):
                shutil.copy(file, kept / f"{gate}-{number}-{file.name}")
    ended = "pass" if found.passed else found.reason or str(found.evidence.get("ended") or found.evidence)
    return GateRun(
        gate=gate, number=number, passed=found.passed is True, ended=ended, date=now(),
        seconds=round(time.monotonic() - started, 1),
    )  # fmt: skip


def _judge(bench: Bench, gate: str, number: int, folder: Path) -> Gate:
    """On a branch of its own: nothing that was judged before is remembered."""
    kit = bench.kit
    branch = Branch(
        kit, bench.mirror, bench.baseline, bench.reference, f"reliability-{number}", folder, bench.place, repeats=1
    )
    if gate == VERIFY:
        last = kit.benchmark.entry.milestones[-1]
        result = branch.verdict(kit.benchmark.entry.command(last.verify), f"verify-{last.id}")
        return Gate(id=VERIFY, passed=result.passed, evidence={"ended": result.why()}, evidence_class="in-process")
    (found,) = measure_gates(branch, None, lambda gate: None, [gate]).gates
    return found


def summary(kit: Kit, seen: Sequence[GateRun]) -> Reliability:
    """What all noted runs come to; how those ended that did not pass is said by name."""
    gates = {}
    for name in measured_gates(kit.benchmark.entry):
        runs = [run for run in seen if run.gate == name]
        failures = dict(sorted(Counter(run.ended for run in runs if not run.passed).items()))
        gates[name] = Passes(runs=len(runs), passed=sum(run.passed for run in runs), failures=failures)
    return Reliability(
        benchmark=kit.benchmark.id,
        benchmark_hash=kit.benchmark.hash,
        since=min(run.date for run in seen)[:10],
        date=max(run.date for run in seen)[:10],
        machine=_machine(kit),
        images=_images(kit),
        runner_version=__version__,
        scorer_version=SCORER_VERSION,
        gates=gates,
    )


def _machine(kit: Kit) -> str:
    info = kit.engine.info
    return f"{info.ncpu} cores, {info.mem_bytes / (1 << 30):.0f} GB, Linux {info.kernel}, Docker {info.version}"


def _images(kit: Kit) -> dict[str, str]:
    return {role: image.id for role, image in sorted(kit.images.items())}


def journal_file(kit: Kit) -> Path:
    """One line per run, beside the certificates; another file as soon as anything differs that could decide a run."""
    decides = [kit.benchmark.hash, _images(kit), _machine(kit), __version__, SCORER_VERSION]
    folder = kit.benchmark.runs_dir.parent / "reliability"
    return folder / f"{kit.benchmark.id}-{digest(decides)[:16]}.jsonl"


def reliability_file(kit: Kit) -> Path:
    return kit.benchmark.home / kit.benchmark.id / "reliability.json"


def store_reliability(kit: Kit, measured: Reliability) -> bool:
    """Keep it beside the frozen files, unless what is there rests on more runs of this very benchmark."""
    path = reliability_file(kit)
    if path.is_file():
        kept = read_record(path, Reliability)
        if kept.benchmark_hash == measured.benchmark_hash and kept.runs > measured.runs:
            return False
    path.parent.mkdir(parents=True, exist_ok=True)
    write_record(path, measured)
    return True


def reliability_claims(kit: Kit) -> list[Claim]:
    """What was measured once; nothing is claimed where nothing was, or where it was another benchmark."""
    path = reliability_file(kit)
    if not path.is_file():
        return []
    found = read_record(path, Reliability)
    if found.benchmark_hash != kit.benchmark.hash:
        return []
    few = f": too few to show {Reliability.NEEDED - 1} of {Reliability.NEEDED}" if found.too_few else ""
    return [
        Claim(
            group="determinism",
            id="reliability",
            ok=found.holds and not found.too_few,
            sentence=f"the reference passed {found.shown()} ({found.date}; {found.machine}){few}",
            fix=f"bench validate {kit.benchmark.id} --reliability {Reliability.NEEDED}"
            if found.holds
            else "a gate that fails the reference once in 200 times charges a model for luck: mend it under a new id",
        )
    ]
