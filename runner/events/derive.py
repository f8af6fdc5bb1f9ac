"""The one event log of a run: derived, so that anybody can derive it again and find the same bytes."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from runner.events.freezes import freezes
from runner.events.segments import Segment
from runner.harness.trace import Answer, Call, Compaction, Retry
from runner.schema.base import canonical
from runner.schema.events import Event
from runner.schema.ledger import LedgerLine
from runner.schema.look import Look
from runner.schema.run_events import RunEvent, RunEventKind, Source

_JOURNAL: dict[str, RunEventKind] = {
    "run_start": "run_start",
    "run_end": "run_end",
    "milestone_start": "segment_start",
    "milestone_end": "segment_end",
    "attempt_start": "attempt_start",
    "attempt_end": "attempt_end",
    "agent_start": "agent_start",
    "agent_end": "agent_end",
    "verify": "verify",
}


@dataclass
class Sources:
    """What a run left. Lines of ``journal``, ``ledger`` and ``looks`` as they stand in their files."""

    run_id: str
    journal: Sequence[Event] = ()
    ledger: Sequence[LedgerLine] = ()
    segments: Sequence[Segment] = ()
    looks: Sequence[Look] = ()
    causes: dict[str, str | None] = field(default_factory=dict)
    """Why an attempt (``M01-1``) ended as it did, by the runner."""


@dataclass
class _Found:
    """An event and its place: by its time, else behind the event before it in its own source."""

    key: tuple[str, int, int]
    event: dict[str, Any]


def derive(sources: Sources) -> list[RunEvent]:
    """All events in the order of time; at the same time the journal comes first, then wire, agent, snapshots."""
    found: list[_Found] = []
    for rank, source in enumerate((_journal, _wire, _agents, _looks)):
        last = ""
        for index, event in enumerate(source(sources)):
            last = event["at"] or last
            found.append(_Found((last, rank, index), event))
    found.sort(key=lambda item: item.key)
    return [RunEvent(seq=seq, run_id=sources.run_id, **item.event) for seq, item in enumerate(found, 1)]


def write_events(path: Path, events: Iterable[RunEvent]) -> None:
    """One event a line, each with one write call, in the canonical form. The file is written anew."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        for event in events:
            line = canonical(event).encode("ascii") + b"\n"
            if os.write(handle, line) != len(line):
                raise OSError(f"{path} is not written whole")
    finally:
        os.close(handle)


def _journal(sources: Sources) -> Iterable[dict[str, Any]]:
    milestone: str | None = None
    for number, event in enumerate(sources.journal, 1):
        kind = _JOURNAL.get(event.kind)
        if kind is None:
            continue
        data = dict(event.data)
        milestone = data.pop("milestone", None) if "milestone" in data else None
        attempt = data.pop("number", None)
        if kind == "agent_end":
            data["cause"] = sources.causes.get(f"{milestone}-{attempt}")
        yield _event(kind, event.at, milestone, attempt, "", Source(file="journal.jsonl", line=number), data)


def _wire(sources: Sources) -> Iterable[dict[str, Any]]:
    """Freezes stand on the wire alone; answers are told where the agent's log tells them, or else here."""
    logged = {number for number, _ in _joined(sources).values()}
    found = []
    for number, line in enumerate(sources.ledger, 1):
        asks = line.protocol in ("chat", "responses", "anthropic") and not line.ours
        if not asks or number in logged:
            continue
        found.append(_event("answer", line.time, *_place(line.attempt), "", Source(file="gateway.jsonl", line=number),
                            {**_on_wire(line), "logged": False}))  # fmt: skip
    for freeze in freezes(sources.ledger):
        source = Source(file="gateway.jsonl", line=freeze.line)
        data = {"requests": freeze.requests, "lost_ms": freeze.lost_ms, "reason": freeze.reason,
                "recovered": freeze.recovered}  # fmt: skip
        found.append(_event("freeze", freeze.at, *_place(freeze.attempt), "", source, data))
    return sorted(found, key=lambda event: event["at"] or "")


def _agents(sources: Sources) -> Iterable[dict[str, Any]]:
    wire = _joined(sources)
    for segment in sources.segments:
        place = (segment.label, segment.number)
        start = _started(sources, segment)
        if segment.trace is None:
            yield _event("log_error", start, *place, "", None, {"reason": segment.reason})
            continue
        for step in segment.trace.steps:
            source = Source(file=f"agent/{segment.file}/{step.file}", line=step.line)
            if isinstance(step, Call):
                yield _event("tool_call", step.at, *place, step.stream, source, _call(step))
            elif isinstance(step, Retry):
                retry = {"reason": step.reason, "wait_ms": _finite(step.wait_ms)}
                yield _event("retry", step.at, *place, step.stream, source, retry)
            elif isinstance(step, Compaction):
                data = {"usage": step.usage.model_dump(mode="json") if step.usage else None}
                yield _event("compaction", step.at, *place, step.stream, source, data)
            else:
                yield _event("answer", step.at, *place, step.stream, source, _answer(step, wire))


def _joined(sources: Sources) -> dict[int, tuple[int, LedgerLine]]:
    """The ledger's line of each answer that a log tells of, by the answer's identity in memory.

    Servers may give many answers one id: they are joined in their order, those of the same attempt first. An answer
    that a later log tells again belongs to the line that it has.
    """
    lines: dict[str, list[tuple[int, LedgerLine]]] = {}
    for number, line in enumerate(sources.ledger, 1):
        if line.response_id and not line.ours:
            lines.setdefault(line.response_id, []).append((number, line))
    found: dict[int, tuple[int, LedgerLine]] = {}
    used: set[int] = set()
    for segment in sources.segments:
        for answer in segment.trace.answers if segment.trace else ():
            known = lines.get(answer.response_id or "", [])
            mine = [item for item in known if item[1].attempt == f"{segment.label}-{segment.number}"]
            free = [item for item in [*mine, *known] if item[0] not in used]
            if known:
                found[id(answer)] = (free or known)[0]
                used.add(found[id(answer)][0])
    return found


def _looks(sources: Sources) -> Iterable[dict[str, Any]]:
    for number, look in enumerate(sources.looks, 1):
        data = {
            "tree": look.tree, "paths": look.paths, "lines": look.lines, "requests": look.requests,
            "changed": [change.path for change in look.changes], "reason": look.reason,
        }  # fmt: skip
        yield _event("snapshot", look.at, *_place(look.attempt), "", Source(file="snapshots.jsonl", line=number), data)


def _event(
    kind: RunEventKind, at: str | None, milestone: str | None, attempt: int | None, stream: str, source: Source | None,
    data: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    return {"kind": kind, "at": at, "milestone": milestone, "attempt": attempt, "stream": stream, "source": source,
            "data": {key: value for key, value in data.items() if value is not None}}  # fmt: skip


def _call(call: Call) -> dict[str, Any]:
    """Never the arguments themselves: their hash and size."""
    return {
        "id": call.id, "tool": call.tool, "arguments_sha256": call.signature, "arguments_bytes": len(call.text),
        "malformed": call.malformed, "error": "failed" if call.failed else None, "answered": call.answered,
        "duration_ms": _finite(call.duration_ms), "wait": call.wait or None, "nested": call.nested or None,
    }  # fmt: skip


def _answer(answer: Answer, wire: dict[int, tuple[int, LedgerLine]]) -> dict[str, Any]:
    """The agent's words, and the ledger's line of the same id (``usage_wire``: where that one counts otherwise)."""
    number, line = wire.get(id(answer), (None, None))
    seen = line.usage if line is not None else None
    return {
        "response_id": answer.response_id, "ledger_line": number, "logged": True,
        "whole": answer.whole, "side": answer.side or None, "model": answer.model, "stop": answer.stop,
        "error": answer.error, "context": answer.context or None, "effort": answer.effort,
        "usage": answer.usage.model_dump(mode="json") if answer.usage else None,
        "usage_wire": seen.model_dump(mode="json") if seen is not None and not seen.counts_as(answer.usage) else None,
    }  # fmt: skip


def _on_wire(line: LedgerLine) -> dict[str, Any]:
    return {
        "response_id": line.response_id, "outcome": line.outcome, "status": line.status, "model": line.model_served,
        "fault": line.fault, "refused": line.refused, "context": line.context or None,
        "usage": line.usage.model_dump(mode="json") if line.usage else None,
    }  # fmt: skip


def _place(label: str) -> tuple[str | None, int | None]:
    milestone, _, number = label.rpartition("-")
    return (milestone, int(number)) if milestone and number.isdigit() else (label or None, None)


def _started(sources: Sources, segment: Segment) -> str | None:
    """When the attempt's agent was started, just after it, so that it stands behind that event."""
    for event in sources.journal:
        here = (event.data.get("milestone"), event.data.get("number")) == (segment.label, segment.number)
        if event.kind == "agent_start" and here:
            after = datetime.fromisoformat(event.at) + timedelta(milliseconds=1)
            return after.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return None


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
