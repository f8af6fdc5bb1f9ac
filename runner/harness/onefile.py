"""Reads one log that somebody names, whoever's it is: the agent is told by what stands in it, never by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from runner.harness import (
    claude_log,
    claude_rows,
    codex_log,
    codex_rows,
    mini_log,
    opencode_log,
    opencode_rows,
    pi_log,
    pi_rows,
)
from runner.harness.jsonl import Row, mapping, parsed, rows, text, whole_of
from runner.harness.opencode_db import SQLITE_MAGIC, database_rows
from runner.harness.summary import LogError
from runner.harness.trace import Trace

Reader = Callable[[Sequence[Row]], Trace]

CLAUDE_EVENTS = frozenset(["assistant", "user", "system", "result", "rate_limit_event", "stream_event"])
CODEX_STREAM = frozenset(["thread.started", "turn.started", "turn.completed", "turn.failed", "item.completed"])
WRAPPER = "orch_"
"""How the types of lines begin that a wrapper around the agent adds."""


def read_file(path: Path) -> Trace:
    """The trace of one file: lines of JSON, a JSON document (mini-swe-agent, an export of opencode's), or a database.

    Raises LogError where it is of no known schema, or nothing in it was recognised.
    """
    with path.open("rb") as file:
        head = file.read(len(SQLITE_MAGIC))
    if head == SQLITE_MAGIC:
        return opencode_log.read_dump(database_rows(path))
    found = list(rows(path))
    if any(_kind(row) or "table" in (row.data or {}) for row in found):
        return read_lines(found)
    document = mapping(_document(path))
    if "trajectory_format" in document:
        return mini_log.read_document(path)
    if opencode_rows.is_export(document):
        return opencode_log.read_export(document, path.name)
    return read_lines(found)


def read_lines(found: Sequence[Row]) -> Trace:
    """The trace of one agent's lines. Any event of pi's makes the whole of it pi's. Raises LogError."""
    own = [row for row in found if not (_kind(row) or "").startswith(WRAPPER)]
    return _reader_of(own)(own)


def _reader_of(found: Sequence[Row]) -> Reader:
    kinds = {kind for row in found if (kind := _kind(row))}
    if kinds & (pi_rows.EVENTS - pi_rows.ENTRIES):
        return lambda lines: pi_log.read_events(row for row in lines if _kind(row) not in CLAUDE_EVENTS)
    if any(codex_rows.is_rollout(row) for row in found):
        return codex_log.read_rows
    if any(opencode_rows.is_dump(row) for row in found):
        return opencode_log.read_dump
    if any(opencode_rows.is_event(row) for row in found):
        return opencode_log.read_events
    if kinds & CODEX_STREAM:
        raise LogError(
            "this is what Codex printed: malformed calls and the tokens of a failed run are missing in it",
            "name its rollout (sessions/*/*/*/rollout-*.jsonl)",
        )
    if any(claude_rows.is_transcript(row) for row in found):
        return claude_log.read_rows
    if "session" in kinds and kinds & {"message", "model_change", "thinking_level_change"}:
        return pi_log.read_session
    if kinds & CLAUDE_EVENTS:
        return lambda lines: claude_log.read_rows(lines, stream=True)
    known = "name what pi, Claude Code, Codex, mini-swe-agent or opencode wrote"
    raise LogError(f"{len(found)} lines, and none is of a known schema", known)


def _kind(row: Row) -> str | None:
    return text((row.data or {}).get("type"))


def _document(path: Path) -> object:
    return parsed(whole_of(path))
