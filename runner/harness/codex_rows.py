"""The small print of Codex's rollout lines: usage, arguments, outputs, durations."""

from __future__ import annotations

import json
import re
from typing import Any

from runner.harness.jsonl import Row, count, items, mapping, text
from runner.schema.ledger import Usage


def usage_of(raw: Any) -> Usage | None:
    """OpenAI's usage: the input includes what was read from and written to the cache."""
    if not isinstance(raw, dict):
        return None
    read, written = count(raw.get("cached_input_tokens")), count(raw.get("cache_write_input_tokens"))
    return Usage(
        uncached_input=max(0, count(raw.get("input_tokens")) - read - written),
        cache_read=read,
        cache_write=written,
        output=count(raw.get("output_tokens")),
        reasoning=count(raw["reasoning_output_tokens"]) if "reasoning_output_tokens" in raw else None,
    )


def line_id(row: Row) -> str | None:
    """A line is written twice when all of it is the same, its time with it."""
    data = row.data or {}
    return json.dumps(data, sort_keys=True) if "timestamp" in data or "ordinal" in data else None


class Totals:
    """Answers' tokens from cumulative counts: the same count again is the same answer told twice.

    The count starts anew after a resumption; a fork begins with copies of the counts of another file.
    """

    def __init__(self) -> None:
        self._last: dict[str, Any] | None = None
        self._seen: dict[str, str] = {}

    def rewind(self) -> None:
        """Another file begins."""
        self._last = None

    def spent(self, file: str, total: Any, last: Any) -> Usage | None:
        """What one answer took, as it says itself (``last``) or as ``total`` has grown; null: nothing new."""
        if not isinstance(total, dict):
            return usage_of(last)
        before, self._last = self._last, total
        if total == before or self._seen.setdefault(json.dumps(total, sort_keys=True), file) != file:
            return None
        if isinstance(last, dict):
            return usage_of(last)
        anew = before is None or any(count(total.get(key)) < count(before.get(key)) for key in total)
        return usage_of({key: count(total[key]) - (0 if anew else count((before or {}).get(key))) for key in total})


def arguments_of(payload: dict[str, Any]) -> tuple[Any, bool]:
    """The call's arguments, and whether they are not what JSON calls an object (scripts and patches are text)."""
    if payload.get("type") == "custom_tool_call":
        return {"input": payload.get("input")}, False
    if payload.get("type") == "local_shell_call":
        return mapping(payload.get("action")), False
    raw = payload.get("arguments")
    if not isinstance(raw, str):
        return raw, False
    try:
        parsed = json.loads(raw)
    except (ValueError, RecursionError):
        return raw, True
    return parsed, not isinstance(parsed, dict)


def said(output: Any) -> tuple[str, bool | None]:
    """An output's text, and whether it failed, where a field of the output says so."""
    if isinstance(output, dict):
        content = output.get("content")
        inner = text(content) or "\n".join(text(part.get("text")) or "" for part in items(content))
        success = output.get("success")
        return inner, None if success is None else success is False
    if isinstance(output, list):
        return "\n".join(text(part.get("text")) or "" for part in items(output)), None
    words = text(output) or ""
    if words.startswith('{"output"'):  # older versions: the output and its exit code as JSON
        try:
            data = mapping(json.loads(words))
        except (ValueError, RecursionError):
            return words, None
        code = mapping(data.get("metadata")).get("exit_code")
        return text(data.get("output")) or "", code != 0 if isinstance(code, int) else None
    return words, None


def before_output(head: str) -> str:
    """What Codex says of a command, without what the command printed."""
    return re.split(r"^Output:$", head, maxsplit=1, flags=re.MULTILINE)[0]


def duration_ms(value: Any) -> float | None:
    raw = mapping(value)
    secs, nanos = raw.get("secs"), raw.get("nanos")
    if isinstance(secs, (int, float)) and isinstance(nanos, (int, float)):
        return round(secs * 1000 + nanos / 1e6, 3)
    return None
