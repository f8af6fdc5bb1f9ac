"""A stored run, opened again: its branch out of the bundle, every file as its manifest names it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from runner.errors import ContestantError, ProofError, RigError, UsageError
from runner.registry.benchmark import Benchmark, load_benchmark
from runner.repo import Mirror
from runner.schema.run import Revision, RunLock, RunResult
from runner.schema.score import Score
from runner.store.files import read_record
from runner.store.history import History
from runner.store.rundir import RunDir, find_run
from runner.treelimits import TreeLimits


@dataclass(frozen=True)
class Stored:
    """``run`` is at its last revision, and so are ``result`` and ``scores``. ``benchmark`` is as the registry has it
    today; ``benchmark_hash``, ``series`` and ``images`` (role to id) are what the last revision was scored by.
    """

    run: RunDir
    lock: RunLock
    result: RunResult
    scores: list[Score]
    benchmark: Benchmark
    benchmark_hash: str
    series: str
    images: dict[str, str]

    def score(self, layer: str) -> Score | None:
        return next((score for score in self.scores if score.layer == layer), None)


def open_stored(registry: Path, name: str) -> Stored:
    """Raises UsageError for an unknown run, or one that holds no result about the model, and ProofError for a file that
    is not as the history names it.
    """
    from runner.registry.load import runs_folders

    errors: list[UsageError] = []
    for folder in runs_folders(registry):
        try:
            run = find_run(folder, name)
            break
        except UsageError as error:
            errors.append(error)
    else:
        raise errors[-1]
    _prove(run)
    lock, result = run.lock(), run.result()
    if result.outcome in ("invalid", "cancelled"):
        raise UsageError(f"run {run.path.name} is {result.outcome}: it holds no result to be scored again")
    benchmark = load_benchmark(registry, lock.benchmark)
    revision = read_record(run.revision_file, Revision) if run.revision > 1 else None
    images = revision.images if revision else {role: image.id for role, image in lock.images.items()}
    return Stored(
        run, lock, result, run.scores(), benchmark,
        revision.benchmark_hash if revision else lock.benchmark_hash,
        revision.series if revision else lock.series,
        images,
    )  # fmt: skip


def _prove(run: RunDir) -> None:
    """Revision by revision: the manifest is the one that the history names, and every file is as it names it."""
    run_id = run.lock().run_id
    rows = {r.revision: r.manifest for r in History(run.path.parent.parent).verify() if r.run_id == run_id}
    for number in run.sealed():
        if number not in rows:
            raise ProofError(f"run {run.path.name} is sealed but has no row in the history", "bench verify --mend")
        run.at(number).check(rows[number])
    if not run.sealed():
        raise UsageError(f"run {run.path.name} was cut off before it was recorded", "it cannot be scored again")


@contextmanager
def opened_branch(stored: Stored) -> Iterator[tuple[Mirror, str]]:
    """A mirror with the baseline and the run's head, out of its bundle. Raises ProofError where it is not there."""
    lock, result = stored.lock, stored.result
    with tempfile.TemporaryDirectory(prefix="bench-rescore-") as folder:
        mirror, baseline = Mirror.create(Path(folder) / "mirror.git", stored.benchmark.source, lock.baseline)
        head = result.head or baseline
        if head != baseline:
            # A last copy-out that was refused when the run ended is refused again; what was judged lies below it.
            with suppress(ContestantError):
                mirror.import_bundle(stored.run.bundle, f"refs/heads/{lock.branch}", TreeLimits())
            try:
                head = mirror.head(head)
            except RigError:
                raise ProofError(f"{stored.run.bundle} does not hold the commit {head[:12]} that was judged") from None
        yield mirror, head
