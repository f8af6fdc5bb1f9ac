"""One line of ``events.jsonl``: what happened in a run, derived from its journal, its ledger and its agents' logs."""

from __future__ import annotations

from typing import Any, Literal

from runner.schema.base import Strict

RunEventKind = Literal[
    "run_start",
    "run_end",
    "segment_start",
    "segment_end",
    "attempt_start",
    "attempt_end",
    "agent_start",
    "agent_end",
    "answer",
    "tool_call",
    "retry",
    "freeze",
    "compaction",
    "snapshot",
    "verify",
    "log_error",
]


class Source(Strict):
    """Where an event was read: a file of the run's folder and its 1-based line."""

    file: str
    line: int


class RunEvent(Strict):
    """``at``: ISO 8601 UTC, null where no source says when; such an event keeps its place in its own source.

    ``stream``: the sub-agent it belongs to, empty for the main agent. Derived: the same files give the same lines.
    """

    schema_: Literal["bench/run-event/1"] = "bench/run-event/1"
    seq: int
    at: str | None
    run_id: str
    kind: RunEventKind
    milestone: str | None = None
    attempt: int | None = None
    stream: str = ""
    source: Source | None = None
    data: dict[str, Any] = {}
