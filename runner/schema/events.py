"""One line of a run's live journal."""

from __future__ import annotations

from typing import Any, Literal

from runner.schema.base import Strict

EventKind = Literal[
    "run_start",
    "state",
    "image",
    "baseline",
    "milestone_start",
    "attempt_start",
    "agent_start",
    "agent_end",
    "snapshot",
    "verify",
    "attempt_end",
    "milestone_end",
    "copy_out",
    "gate",
    "layer",
    "note",
    "run_end",
]


class Event(Strict):
    """``at`` is the controller's clock, ISO 8601 UTC with milliseconds; ``seq`` counts from 1 per run."""

    schema_: Literal["bench/event/1"] = "bench/event/1"
    seq: int
    at: str
    run_id: str
    kind: EventKind
    data: dict[str, Any] = {}
