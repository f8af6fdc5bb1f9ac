"""Attempts with what their agents' logs hold: of a run of ours, or of a log as the published scripts write it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from runner.errors import UsageError
from runner.harness.jsonl import Row, rows, text
from runner.harness.onefile import read_file, read_lines
from runner.harness.readers import reader
from runner.harness.summary import LogError
from runner.harness.trace import Trace, moment
from runner.schema.base import digest


@dataclass
class Segment:
    """One attempt. ``label`` is the milestone it is at; ``trace`` null: its log could not be read, for ``reason``.

    Times are ISO 8601 UTC; ``file`` is where the log lies.
    """

    label: str
    number: int
    file: str
    trace: Trace | None
    reason: str | None = None
    started: str | None = None
    ended: str | None = None
    lines: list[Row] = field(default_factory=list, repr=False)


def of_run(agent: Path, harness: str, labels: list[tuple[str, int]]) -> list[Segment]:
    """The attempts of a stored run: ``agent/<milestone>-<number>``, read by their harness's reader.

    A log that cannot be read is no clean one: its segment has the reason instead of a trace.
    """
    read = reader(harness)
    found = []
    for milestone, number in labels:
        folder = agent / f"{milestone}-{number}"
        trace: Trace | None = None
        reason: str | None = f"there is no reader for the logs of {harness}"
        if read is not None:
            try:
                trace, reason = read(folder), None
            except (LogError, OSError) as error:
                reason = str(error)
        found.append(Segment(milestone, number, folder.name, trace, reason))
    return found


def of_log(path: Path, *, whole: str | None = None) -> list[Segment]:
    """The attempts in one log: between ``run_segment`` markers, or the whole of it as one attempt at ``whole``.

    A missing end closes at the next start or at the end of the file; an end without a start is ignored; a line
    outside all segments belongs to none. Raises UsageError for an unlabelled segment and for a log without markers
    where no ``whole`` is named; LogError where a segment's events are in no known schema.
    """
    if not path.is_file():
        raise UsageError(f"there is no log {path}")
    cut = _cut(path)
    if not cut:
        if whole is None:
            raise UsageError(f"{path} has no run_segment markers", "name the log by --ndjson, as one attempt")
        cut = [Segment(whole, 1, path.name, _read(path))]
    counts: dict[str, int] = {}
    for segment in cut:
        counts[segment.label] = counts.get(segment.label, 0) + 1
        segment.number = counts[segment.label]
        segment.file = path.name
        segment.trace = segment.trace or read_segment(segment.lines, f"{path.name}, segment {segment.label}")
        times = [step.at for step in segment.trace.steps if step.at]
        segment.started = segment.started or min(times, default=None)
        segment.ended = segment.ended or max(times, default=None)
        segment.lines = []
    return cut


def _cut(path: Path) -> list[Segment]:
    cut: list[Segment] = []
    current: Segment | None = None
    marks: set[str] = set()
    for row in rows(path):
        data = row.data or {}
        if data.get("type") != "run_segment":
            if current is not None:
                current.lines.append(row)
            continue
        mark = digest(data)
        if "timestamp" in data and mark in marks:  # written twice
            continue
        marks.add(mark)
        label, at = text(data.get("segment")) or "", moment(data.get("timestamp"))
        if data.get("event") == "end":
            if current is not None and label in ("", current.label):
                current.ended, current = at, None
            continue
        if not label or label.isdigit():
            raise UsageError(
                f"{path.name}, line {row.number}: a segment has no label of its own ({label or 'none'})",
                "start the agent with a segment label",
            )
        current = Segment(label, 0, path.name, None, started=at)
        cut.append(current)
    return cut


def read_segment(lines: list[Row], where: str) -> Trace:
    """One attempt's events, by their schema. Raises LogError, which says ``where``."""
    try:
        return read_lines(lines)
    except LogError as error:
        raise LogError(f"{where}: {error.what}", error.fix) from None


def _read(path: Path) -> Trace:
    try:
        return read_file(path)
    except LogError as error:
        raise LogError(f"{path.name}: {error.what}", error.fix) from None
