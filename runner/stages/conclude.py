"""The end of a run: result, detail, report and the row in the history."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from runner.lab.kit import Kit
from runner.prices import Price
from runner.registry.benchmark import Benchmark
from runner.repo import Mirror
from runner.report.detail import write_detail
from runner.report.human import write_report
from runner.report.record import record_of
from runner.report.row import row
from runner.schema.base import digest
from runner.schema.cell import Cell
from runner.schema.run import RunLock, RunResult
from runner.schema.score import Score
from runner.scoring.code import Corpus, code_components
from runner.scoring.fold import compose
from runner.scoring.review import PENDING
from runner.sprint.driver import Progress
from runner.sprint.worker import Facts
from runner.stages.trail import follow, log_events
from runner.store.files import write_atomic, write_record
from runner.store.history import History
from runner.store.rundir import RunDir


@dataclass
class Measured:
    """What the scorers found, as far as they came."""

    gates: Score | None = None
    corpus: Corpus | None = None
    scores: list[Score] = field(default_factory=list)
    why_not: str = "the run ended before it was measured"


def write_result(
    kit: Kit, run: RunDir, mirror: Mirror, lock: RunLock, progress: Progress, facts: Facts, measured: Measured
) -> RunResult:
    """Write scores, result, detail and report; returns the result."""
    entry = kit.benchmark.entry
    diff_lines = mirror.diff_lines(lock.baseline, progress.head)
    outcome = progress.outcome or "invalid"
    by_list = facts.by_list or (lambda *_: Price(None, "no model was asked"))
    trail = follow(run, lock, entry, progress.attempts, outcome, diff_lines, by_list)
    measured.scores += [trail.process, trail.cost]
    for score in measured.scores:
        run.write_score(score)
    parts = code_components(entry, measured.gates, measured.corpus, measured.why_not)
    result = RunResult(
        run_id=lock.run_id,
        sample=lock.sample,
        benchmark=lock.benchmark,
        arm=lock.arm,
        arm_id=lock.arm.arm_id,
        outcome=outcome,
        cause=progress.cause,
        detail=progress.detail,
        attempts=progress.attempts,
        head=progress.head,
        diff_lines=diff_lines,
        wall_s=round(sum(a.wall_s for a in progress.attempts), 3),
        started_at=run.states()[0].at,
        tokens=facts.tokens,
        tokens_reason=facts.tokens_reason,
        requests=facts.requests,
        models_served=facts.models_served,
        cost=facts.cost,
        code=compose(parts, lock.formula),
        components=parts + trail.agentic,
        agentic=compose(trail.agentic, lock.formula),
        review=Cell.none(PENDING),
        freeze=trail.freeze,
        identity=trail.identity,
    )
    write_record(run.result_file, result)
    write_pages(kit.benchmark, run, lock, result, measured.scores, lock.series)
    return result


def series_for(
    benchmark_hash: str, formula: str, templates: str, harness_version: str, limits: object, rubric: str | None = None
) -> str:
    """What rows must share to be ranked together. A review's rubric, prompt and reviewers count, where there is one."""
    basis = [benchmark_hash, formula, templates, harness_version, limits]
    return digest([*basis, rubric] if rubric else basis)


def series_of(lock: RunLock, benchmark_hash: str, formula: str, rubric: str | None) -> str:
    """The series of a stored run that was scored by a benchmark of that hash."""
    return series_for(benchmark_hash, formula, lock.templates, lock.arm.harness_version, lock.limits, rubric)


def write_pages(
    benchmark: Benchmark, run: RunDir, lock: RunLock, result: RunResult, scores: Sequence[Score], series: str
) -> None:
    """The detail of this revision, and the report that people read first (always about the last revision)."""
    entry = benchmark.entry
    cells = row(result, report=run.path.name, series=series)
    detail = write_detail(lock, result, scores, {c: cells[c] for c in entry.history_columns})
    write_atomic(run.detail_file, detail.encode("utf-8"))
    target = benchmark.reports_dir / f"{run.path.name}.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    link = os.path.relpath(run.detail_file, target.parent)
    write_atomic(target, write_report(lock, result, scores, entry.title, link).encode("utf-8"))


def publish(benchmark: Benchmark, run: RunDir) -> None:
    """Seal this revision of the run and chain its row on. Between the two a death leaves a sealed revision without a
    row, which ``bench verify`` names and ``bench verify --mend`` appends.
    """
    log_events(run, run.lock(), run.result().attempts)
    run.seal()
    History(benchmark.runs_dir.parent).append(record_of(run, benchmark.entry.history_columns))
