"""The small print of pi's entries and events: their kinds, whose they are, tokens, and the words of errors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from runner.harness.jsonl import Row, amount, count, text
from runner.harness.summary import LogError
from runner.harness.trace import Retry, shortened
from runner.schema.base import digest
from runner.schema.ledger import Usage

SESSION_VERSIONS = (1, 2, 3)
"""1 has neither ids nor, in its header, a version; 2 has ids and parents; 3 renames a role that nobody counts."""
ENTRIES = frozenset(
    [
        "session",
        "model_change",
        "thinking_level_change",
        "message",
        "compaction",
        "context_edit",
        "usage",
        "label",
        "branch_summary",
        "session_info",
        "custom",
        "custom_message",
    ]
)
EVENTS = frozenset(
    [
        "session",
        "agent_start",
        "agent_end",
        "agent_settled",
        "turn_start",
        "turn_end",
        "message_start",
        "message_update",
        "message_end",
        "tool_execution_start",
        "tool_execution_update",
        "tool_execution_end",
        "auto_compaction_start",
        "auto_compaction_end",
        "compaction_start",
        "compaction_end",
        "auto_retry_start",
        "auto_retry_end",
        "entry_appended",
        "queue_update",
        "session_info_changed",
        "thinking_level_changed",
    ]
)
MALFORMED = (
    ("json", re.compile(r"^Invalid arguments for tool")),
    ("schema", re.compile(r"^Validation failed for tool")),
    ("unknown_tool", re.compile(r"^Tool .{0,200} not found\s*\Z")),
)


def check_header(found: Sequence[Row], name: str) -> int:
    head = next((row.data for row in found if row.data is not None), {})
    version = head.get("version", SESSION_VERSIONS[0])
    if head.get("type") != "session" or version not in SESSION_VERSIONS:
        known = f"{SESSION_VERSIONS[0]} to {SESSION_VERSIONS[-1]}"
        raise LogError(f"{name} is no session of pi in version {known}")
    return int(version)


def entry_id(row: Row) -> str | None:
    """An entry's id with its time; where it has no id (version 1), all of it, if it says when it was written."""
    data = row.data or {}
    ident, at = text(data.get("id")), text(data.get("timestamp"))
    if ident is not None:
        return f"{ident} {at}"
    return digest(data) if at is not None else None


def stream_of(data: dict[str, Any]) -> str:
    """The sub-agent that an event is tagged with; empty for the main agent."""
    agent = text(data.get("agent"))
    run = data.get("agentRun")
    return "" if agent is None else agent if run is None else f"{agent}#{run}"


def key_of(stream: str, ident: Any) -> str:
    return f"{stream} {text(ident) or ''}"


def usage_of(raw: Any) -> Usage | None:
    """Input is without cache; output includes reasoning, which not every provider tells apart."""
    if not isinstance(raw, dict):
        return None
    output, written = count(raw.get("output")), count(raw.get("cacheWrite"))
    unsaid = output > 0 and "reasoning" not in raw
    return Usage(
        uncached_input=count(raw.get("input")),
        cache_read=count(raw.get("cacheRead")),
        cache_write=written,
        cache_write_1h=min(count(raw.get("cacheWrite1h")), written),
        output=output,
        reasoning=None if unsaid else count(raw.get("reasoning")),
    )


def retry_of(row: Row, stream: str) -> Retry:
    data = row.data or {}
    return Retry(
        file=row.file, line=row.number, stream=stream, reason=shortened(text(data.get("errorMessage"))) or "retry",
        wait_ms=amount(data.get("delayMs")),
    )  # fmt: skip
