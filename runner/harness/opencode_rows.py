"""The small print of opencode's rows and events: their kinds, tokens, efforts, and the words of errors."""

from __future__ import annotations

import re
from typing import Any

from runner.gateway.overflow import overflows
from runner.harness.jsonl import Row, amount, count, items, mapping, text
from runner.harness.opencode import VARIANT
from runner.harness.trace import shortened
from runner.schema.ledger import Usage

TABLES = frozenset(
    [
        "session",
        "message",
        "part",
        "todo",
        "permission",
        "project",
        "session_share",
        "session_message",
        "workspace",
        "event",
        "event_sequence",
        "control_account",
        "account",
        "account_state",
        "__drizzle_migrations",
        "data_migration",
    ]
)
PARTS = frozenset(
    [
        "text",
        "reasoning",
        "tool",
        "step-start",
        "step-finish",
        "patch",
        "snapshot",
        "file",
        "agent",
        "retry",
        "compaction",
        "subtask",
    ]
)
EVENTS = {"tool_use", "step_start", "step_finish", "text", "reasoning", "error"}
UNKNOWN_TOOL = re.compile(r"unavailable tool|no such tool|unknown tool", re.IGNORECASE)
BAD_JSON = re.compile(r"json parsing failed|not valid json|unterminated|unexpected (token|end)", re.IGNORECASE)
BAD_SCHEMA = re.compile(
    r"^(the \S{0,200} tool was called with invalid arguments|type validation failed|invalid (tool )?(input|arguments))"
    r"|satisfies the expected schema",
    re.IGNORECASE,
)


def is_dump(row: Row) -> bool:
    """A line of a dump."""
    data = row.data or {}
    return text(data.get("table")) in TABLES and isinstance(data.get("row"), dict)


def is_event(row: Row) -> bool:
    """A line of the event stream."""
    data = row.data or {}
    return text(data.get("type")) in EVENTS and "sessionID" in data


def is_export(document: dict[str, Any]) -> bool:
    """What ``opencode export`` prints."""
    messages = document.get("messages")
    return (
        isinstance(document.get("info"), dict)
        and all("info" in m and "parts" in m for m in items(messages))
        and (bool(messages))
    )


def created_at(message: tuple[Row, str, dict[str, Any]]) -> float:
    """When it was said, in Unix milliseconds: stores are read by their names, and what was said last is the end."""
    return amount(mapping(message[2].get("time")).get("created")) or 0.0


def level_of(variant: Any) -> str | None:
    """The effort that a variant stands for: the runner's own are called after it."""
    name = text(variant)
    return name and name.removeprefix(VARIANT)


def usage_of(raw: Any) -> Usage | None:
    """opencode's tokens: input without cache reads, output without reasoning."""
    tokens = mapping(raw)
    if not tokens:
        return None
    cache, thought = mapping(tokens.get("cache")), count(tokens.get("reasoning"))
    return Usage(
        uncached_input=count(tokens.get("input")),
        cache_read=count(cache.get("read")),
        cache_write=count(cache.get("write")),
        output=count(tokens.get("output")) + thought,
        reasoning=thought,
    )


def malformed_kind(words: str) -> str:
    if UNKNOWN_TOOL.search(words):
        return "unknown_tool"
    return "json" if BAD_JSON.search(words) else "schema"


def words_of(error: Any) -> str:
    raw = mapping(error)
    return shortened(text(mapping(raw.get("data")).get("message")) or text(raw.get("message"))
                     or text(raw.get("name"))) or "error"  # fmt: skip


def is_context(error: Any) -> bool:
    raw = mapping(error)
    return "ContextOverflow" in (text(raw.get("name")) or "") or overflows(words_of(error))


def part_id(row: Row) -> str | None:
    return text(mapping((row.data or {}).get("part")).get("id"))


def row_id(row: Row) -> str | None:
    data = row.data or {}
    ident = text(mapping(data.get("row")).get("id"))
    return f"{data.get('table')}/{ident}" if ident else None
