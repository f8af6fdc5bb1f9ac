"""One sealed revision of a run as a record of the history."""

from __future__ import annotations

from collections.abc import Sequence

from runner.report.row import row
from runner.schema.history import HistoryRecord
from runner.schema.run import Revision
from runner.store.files import read_record
from runner.store.rundir import RunDir, sha256_of


def record_of(run: RunDir, columns: Sequence[str]) -> HistoryRecord:
    """All of it follows from the run's own files, so it can be made again if it was never written."""
    lock, result = run.lock(), run.result()
    benchmark_hash, series = lock.benchmark_hash, lock.series
    if run.revision > 1:
        revision = read_record(run.revision_file, Revision)
        benchmark_hash, series, columns = revision.benchmark_hash, revision.series, revision.columns
    versions = {score.scorer_version for score in run.scores()}
    return HistoryRecord(
        seq=0,
        prev="",
        run_id=lock.run_id,
        benchmark=lock.benchmark,
        benchmark_hash=benchmark_hash,
        series=series,
        arm=lock.arm,
        arm_id=lock.arm.arm_id,
        wire_arm_id=result.wire_arm_id,
        sample=lock.sample,
        outcome=result.outcome,
        cause=result.cause,
        manifest=sha256_of(run.manifest_file),
        certificate=lock.certificate,
        columns=list(columns),
        cells=row(result, report=run.path.name, series=series),
        revision=run.revision,
        scorer_version=", ".join(sorted(versions)) or None,
        rubric=result.rubric,
    )
