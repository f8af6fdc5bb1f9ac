"""What a run's logs, ledger and looks amount to: event log, identity, the layers process and cost."""

from __future__ import annotations

from dataclasses import dataclass

from runner.errors import RigError
from runner.events.churn import changed_lines, returned
from runner.events.derive import Sources, derive, write_events
from runner.events.freezes import freezes
from runner.events.identity import identify_run
from runner.events.segments import Segment, of_run
from runner.gateway.totals import read_ledger
from runner.report import format as fmt
from runner.schema.cell import Cell
from runner.schema.entry import Entry
from runner.schema.identity import IdentityRecord
from runner.schema.ledger import LedgerLine
from runner.schema.run import AttemptRecord, RunLock
from runner.schema.score import Component, Score
from runner.scoring.agentic import agentic_components
from runner.scoring.cost import Pricer, measure_cost
from runner.scoring.process import Churn, look_at, measure_process
from runner.store.files import disk_error, write_record
from runner.store.rundir import RunDir

SCRIPTED = "scripted"
NO_AGENT = "a control has no agent"


@dataclass(frozen=True)
class Trail:
    """``freeze``: time lost to failed requests, as the row shows it."""

    process: Score
    cost: Score
    agentic: list[Component]
    identity: IdentityRecord
    freeze: Cell


def follow(
    run: RunDir, lock: RunLock, entry: Entry, attempts: list[AttemptRecord], outcome: str, diff_lines: int | None,
    by_list: Pricer,
) -> Trail:  # fmt: skip
    """Read what lies in the run's folder; writes ``identity.json`` into that of its revision."""
    scripted = lock.arm.harness == SCRIPTED
    segments, looks = _segments(run, lock, attempts), run.looks()
    ledger, broken = _ledger(run)
    counted = [a for a in attempts if a.counted]
    churn = None
    if looks and diff_lines is not None:
        churn = Churn(changed_lines(looks), diff_lines, sum(look.tree is not None for look in looks), returned(looks))
    process = measure_process(
        look_at(segments, entry.process), len(counted), len({a.milestone for a in counted}), diff_lines, churn,
        [line.response_id for line in ledger if line.outcome == "answered" and line.response_id and not line.ours],
    )  # fmt: skip
    trail = Trail(
        process=process,
        cost=measure_cost(ledger, by_list, broken or "no model was asked"),
        agentic=agentic_components(entry, None if scripted else process.figures, outcome, NO_AGENT),
        identity=identify_run(run.path, lock, segments, ledger),
        freeze=_freeze(ledger, broken or "no model was asked"),
    )
    write_record(run.folder / "identity.json", trail.identity)
    return trail


def log_events(run: RunDir, lock: RunLock, attempts: list[AttemptRecord]) -> None:
    """Write ``events.jsonl`` from the files of the run's folder: the same files, the same bytes. Raises RigError."""
    causes = {f"{a.milestone}-{a.number}": a.cause for a in attempts}
    ledger, _ = _ledger(run)
    segments = _segments(run, lock, attempts)
    sources = Sources(run.path.name, run.events(), ledger, segments, run.looks(), dict(causes))
    try:
        write_events(run.events_file, derive(sources))
    except OSError as error:
        raise disk_error(error, run.events_file) from None


def _segments(run: RunDir, lock: RunLock, attempts: list[AttemptRecord]) -> list[Segment]:
    if lock.arm.harness == SCRIPTED:
        return []
    labels = [(a.milestone, a.number) for a in attempts if (run.agent / f"{a.milestone}-{a.number}").is_dir()]
    known = lock.arm.harness if lock.log_format in (None, "none") else lock.log_format
    return of_run(run.agent, known, labels)


def _ledger(run: RunDir) -> tuple[list[LedgerLine], str | None]:
    """The ledger, or why it cannot be read: the run still ends in its row."""
    try:
        return read_ledger(run.ledger), None
    except RigError as error:
        return [], error.what


def _freeze(ledger: list[LedgerLine], why_not: str) -> Cell:
    if not ledger:
        return Cell.none(why_not)
    found = freezes(ledger)
    if not found:
        return Cell.of("0s", "ledger")
    lost = sum(freeze.lost_ms for freeze in found) / 1000
    words = fmt.duration(lost)
    # As published: seconds alone are written with their minutes.
    return Cell.of(f"{'0m00s' if words == '0s' else words} ({sum(f.requests for f in found)})", "ledger")
