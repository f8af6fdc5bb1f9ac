"""Reads pi's session file (schema version 3) and its event stream.

The session file is the better witness (one entry a message, compactions, line numbers); the event stream survives
when the session file does not, and it alone says whether the agent came to rest.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from runner.harness.jsonl import Row, count, items, mapping, rows, text
from runner.harness.summary import Claim, LogError, Summary
from runner.schema.ledger import Usage

SESSION_VERSION = 3
STDOUT = "stdout.jsonl"
MAX_ERROR = 300

ENTRIES = {
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
}
OVERFLOW = re.compile(
    r"context.?(length|window|size)|prompt is too long|maximum context|input token count|too many tokens"
    r"|reduce the length|exceeds? the (available )?context",
    re.IGNORECASE,
)
MALFORMED = (
    ("json", re.compile(r"^Invalid arguments for tool")),
    ("schema", re.compile(r"^Validation failed for tool")),
    ("unknown_tool", re.compile(r"^Tool .{1,200} not found")),
)


@dataclass
class Log:
    """The parts of one or more sessions that matter, in the order they were written."""

    entries: list[Row] = field(default_factory=list)
    settled: bool = False
    torn: int = 0


def load(log_dir: Path) -> Log:
    """Read what was collected of one attempt. LogError when there is no log, or one of an unknown schema."""
    log = Log()
    stdout = log_dir / STDOUT
    sessions = sorted(path for path in log_dir.rglob("*.jsonl") if path != stdout)
    for path in sessions:
        found = list(rows(path))
        _check_header(found, path.name)
        log.entries += [row for row in found if row.data is not None]
        log.torn += sum(row.data is None for row in found)
    events = list(rows(stdout)) if stdout.is_file() else []
    log.settled = any(row.data and row.data.get("type") == "agent_settled" for row in events)
    if not sessions and events:
        _check_header(events, STDOUT)
        log.entries = [entry for row in events if (entry := _as_entry(row)) is not None]
        log.torn = sum(row.data is None for row in events)
    if not log.entries:
        raise LogError("pi left no log", "its stderr says why")
    return log


def summarise(log: Log) -> Summary:
    """What happened. LogError when no message was recognised."""
    answers = [row for row in log.entries if _role(row) == "assistant"]
    if not any(_role(row) for row in log.entries):
        raise LogError("no message was recognised in pi's log")
    whole = [row for row in answers if _message(row).get("stopReason") not in ("error", "aborted")]
    failed = [row for row in answers if _message(row).get("stopReason") == "error"]
    calls = [call for row in whole for call in items(_message(row).get("content")) if call.get("type") == "toolCall"]
    malformed, broken = _malformed(log.entries, calls)
    overflows = [row for row in failed if OVERFLOW.search(text(_message(row).get("errorMessage")) or "")]
    last = _message(answers[-1]) if answers else {}
    return Summary(
        turns=len(whole),
        calls=len(calls),
        malformed=dict(malformed),
        failed_tools=broken,
        errors=len(failed),
        retries=_retries(answers),
        context_errors=len(overflows),
        context_death=bool(overflows) and overflows[-1] is answers[-1],
        compactions=sum(mapping(row.data).get("type") == "compaction" for row in log.entries),
        usage=_usage(log.entries),
        stop=text(last.get("stopReason")),
        error=(text(last.get("errorMessage")) or "")[:MAX_ERROR] or None,
        settled=log.settled,
        longest_run=max((len(list(group)) for _, group in groupby(map(_signature, calls))), default=0),
        response_ids=tuple(name for row in answers if (name := text(_message(row).get("responseId")))),
        torn_lines=log.torn,
    )


def logged_effort(log: Log) -> Claim | None:
    """The thinking level of the last answer, or of the last change of it where answers do not say."""
    for row in reversed(log.entries):
        level = text(_message(row).get("thinkingLevel")) if _role(row) == "assistant" else None
        if level:
            return Claim(level, row.file, row.number)
    changes = [row for row in log.entries if mapping(row.data).get("type") == "thinking_level_change"]
    level = text(mapping(changes[-1].data).get("thinkingLevel")) if changes else None
    return Claim(level, changes[-1].file, changes[-1].number) if level else None


def logged_model(log: Log) -> Claim | None:
    """The model that the last answer names: what the provider said, or else what was asked."""
    for row in reversed(log.entries):
        message = _message(row)
        name = text(message.get("responseModel")) or text(message.get("model"))
        if _role(row) == "assistant" and name:
            return Claim(name, row.file, row.number)
    return None


def _check_header(found: list[Row], name: str) -> None:
    head = next((row.data for row in found if row.data is not None), None)
    if head is None or head.get("type") != "session" or head.get("version") != SESSION_VERSION:
        raise LogError(f"{name} is no session of pi in version {SESSION_VERSION}")
    if name == STDOUT:
        return
    unknown = {str(row.data.get("type")) for row in found if row.data is not None} - ENTRIES
    if unknown:
        raise LogError(f"{name} holds entries of an unknown kind: {', '.join(sorted(unknown))[:200]}")


def _as_entry(row: Row) -> Row | None:
    """An event of the stream as the session entry it stands for."""
    data = row.data or {}
    kind = data.get("type")
    if kind == "message_end":
        return Row(row.file, row.number, {"type": "message", "message": data.get("message")})
    if kind == "compaction_end" and isinstance(data.get("result"), dict):
        return Row(row.file, row.number, {"type": "compaction", **data["result"]})
    return row if kind == "session" else None


def _message(row: Row) -> dict[str, Any]:
    data = row.data or {}
    return mapping(data.get("message")) if data.get("type") == "message" else {}


def _role(row: Row) -> str | None:
    return text(_message(row).get("role"))


def _malformed(entries: list[Row], calls: list[dict[str, Any]]) -> tuple[Counter[str], int]:
    """Malformed tool inputs by kind, and the tools that failed on a good input."""
    bad_json = {call.get("id") for call in calls if call.get("argumentsError")}
    kinds: Counter[str] = Counter()
    seen: set[Any] = set()
    failed = 0
    for row in entries:
        message = _message(row)
        if message.get("role") != "toolResult" or message.get("toolCallId") in seen:
            continue
        seen.add(message.get("toolCallId"))
        said = "".join(text(part.get("text")) or "" for part in items(message.get("content")))
        kind = "json" if message.get("toolCallId") in bad_json else None
        if message.get("isError") and kind is None:
            kind = next((name for name, pattern in MALFORMED if pattern.search(said)), None)
        if kind:
            kinds[kind] += 1
        elif message.get("isError"):
            failed += 1
    kinds["json"] += len(bad_json - seen)
    return +kinds, failed


def _retries(answers: list[Row]) -> int:
    """Errors that were asked again: an overflow that was followed by a compaction is none."""
    tries = 0
    for row, _ in pairwise(answers):
        message = _message(row)
        if message.get("stopReason") == "error" and not OVERFLOW.search(text(message.get("errorMessage")) or ""):
            tries += 1
    return tries


def _usage(entries: list[Row]) -> Usage:
    total = Usage(uncached_input=0, output=0, reasoning=0)
    for row in entries:
        raw = _message(row).get("usage") or mapping(row.data).get("usage")
        if isinstance(raw, dict):
            output = count(raw.get("output"))
            # Not every provider says how much of its output was reasoning.
            unsaid = output > 0 and "reasoning" not in raw
            total = total.plus(
                Usage(
                    uncached_input=count(raw.get("input")),
                    cache_read=count(raw.get("cacheRead")),
                    cache_write=count(raw.get("cacheWrite")),
                    output=output,
                    reasoning=None if unsaid else count(raw.get("reasoning")),
                )
            )
    return total


def _signature(call: dict[str, Any]) -> str:
    return json.dumps([call.get("name"), call.get("arguments")], sort_keys=True)
