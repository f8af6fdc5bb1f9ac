"""The end of a run: result, detail, report and the row in the history."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from runner.lab.kit import Kit
from runner.prices import Price
from runner.repo import Mirror
from runner.report.detail import write_detail
from runner.report.human import write_report
from runner.report.row import row
from runner.schema.cell import Cell
from runner.schema.history import HistoryRecord
from runner.schema.run import RunLock, RunResult
from runner.schema.score import Score
from runner.scoring.code import Corpus, code_components
from runner.scoring.fold import compose
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


NOT_YET = "not measured by this version of the runner"


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
        review=Cell.none("no reviewer is configured" if not entry.reviewers else NOT_YET),
        freeze=trail.freeze,
        identity=trail.identity,
    )
    write_record(run.result_file, result)
    cells = row(result, report=run.path.name, series=lock.series)
    detail = write_detail(lock, result, measured.scores, {c: cells[c] for c in entry.history_columns})
    write_atomic(run.path / "detail.md", detail.encode("utf-8"))
    target = kit.benchmark.reports_dir / f"{run.path.name}.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    link = os.path.relpath(run.path / "detail.md", target.parent)
    write_atomic(target, write_report(lock, result, measured.scores, entry.title, link).encode("utf-8"))
    return result


def publish(kit: Kit, run: RunDir, lock: RunLock, result: RunResult) -> None:
    """Seal the run's folder and chain its row on."""
    entry = kit.benchmark.entry
    cells = row(result, report=run.path.name, series=lock.series)
    log_events(run, lock, result.attempts)
    manifest = run.seal()
    History(kit.benchmark.runs_dir.parent).append(
        HistoryRecord(
            seq=0,
            prev="",
            run_id=lock.run_id,
            benchmark=lock.benchmark,
            benchmark_hash=lock.benchmark_hash,
            series=lock.series,
            arm=lock.arm,
            arm_id=lock.arm.arm_id,
            sample=lock.sample,
            outcome=result.outcome,
            cause=result.cause,
            manifest=manifest,
            certificate=lock.certificate,
            columns=entry.history_columns,
            cells=cells,
        )
    )
