"""The small print of Codex's rollout lines: usage, arguments, outputs, durations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from runner.harness.jsonl import Row, count, items, mapping, text
from runner.harness.trace import Call, shortened, since_ms
from runner.schema.ledger import Usage

KNOWN = frozenset(
    [
        "session_meta",
        "turn_context",
        "response_item",
        "event_msg",
        "token_usage_record",
        "compacted",
        "world_state",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
    ]
)
CALLS = frozenset(["function_call", "custom_tool_call", "local_shell_call", "mcp_tool_call", "tool_search_call"])
OUTPUTS = frozenset(
    [
        "function_call_output",
        "custom_tool_call_output",
        "local_shell_call_output",
        "mcp_tool_call_output",
        "tool_search_output",
    ]
)
RECONNECT = re.compile(r"^Reconnecting\.\.\. (\d+)/(\d+)\s*(.*)", re.DOTALL)
UNPARSED = re.compile(r"^failed to parse (function|tool) arguments", re.IGNORECASE)
UNKNOWN_TOOL = re.compile(r"^(unsupported (custom tool )?call|unknown tool)\b", re.IGNORECASE)
SCRIPT_UNKNOWN = re.compile(r"^Script error:\s+TypeError: tools\b.{0,200} is not a function", re.MULTILINE)
SCRIPT_ERROR = re.compile(r"^Script error:\s+SyntaxError", re.MULTILINE)
RAN_WELL = re.compile(r"^(Process exited with code|Exit code:?) 0\b|^Script completed", re.MULTILINE)
FAILED = re.compile(
    r"^(Script failed|apply_patch verification failed|execution error|exec_command failed|write_stdin failed"
    r"|Failed to |aborted|command timed out)|^(Process exited with code|Exit code:?) (?!0\b)-?\d+",
    re.IGNORECASE | re.MULTILINE,
)
HEAD = 2_000


def is_rollout(row: Row) -> bool:
    """A line of a rollout."""
    data = row.data or {}
    return text(data.get("type")) in KNOWN and isinstance(data.get("payload"), dict)


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


def is_kind(payload: dict[str, Any], known: frozenset[str], ending: str) -> bool:
    """Whether an item is of a ``known`` kind, or of one that a version added, with a call's id and that ``ending``."""
    kind = text(payload.get("type"))
    return kind in known or (kind is not None and kind.endswith(ending) and text(payload.get("call_id")) is not None)


def reconnected(data: dict[str, Any]) -> str | None:
    """Why it asked again, where a line of the stream says that it did."""
    words = text(data.get("message")) or ""
    match = RECONNECT.match(words) if data.get("type") == "error" else None
    return (shortened(match.group(3).strip("() \n")) or words) if match else None


def line_id(row: Row) -> str | None:
    """A line is written twice when all of it is the same, its time with it."""
    data = row.data or {}
    return json.dumps(data, sort_keys=True) if "timestamp" in data or "ordinal" in data else None


def last_failure(stream: Iterable[tuple[str, Row]]) -> Row | None:
    """The event by which a stream of events, by kind, ended; None where it went on, or had come to its end before."""
    failed, over = None, False
    for kind, row in stream:
        if kind.startswith(("turn.", "thread.")):
            over = kind == "turn.completed"
        if kind == "turn.failed" or (kind == "error" and not over):
            failed = row
        elif kind.startswith(("turn.", "item.")):
            failed = None
    return failed


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
    if words.startswith("{"):  # older versions: the output and its exit code as JSON
        try:
            data = mapping(json.loads(words))
        except (ValueError, RecursionError):
            return words, None
        if data.keys() != {"output", "metadata"}:
            return words, None
        code = mapping(data.get("metadata")).get("exit_code")
        return text(data.get("output")) or "", code != 0 if isinstance(code, int) else None
    return words, None


def answered(call: Call, payload: dict[str, Any], at: str | None) -> None:
    """The call has its output."""
    call.output, failed = said(payload.get("output"))
    call.answered, call.ended = True, at
    call.duration_ms = call.duration_ms if call.duration_ms is not None else since_ms(call.at, at)
    call.malformed = malformed_kind(call.tool, call.output, call.malformed)
    if failed is None:  # nothing says how it ended but Codex's own words, before those of the command
        failed = ended_badly(call.output)
    call.refused = call.refused or failed or call.malformed is not None
    call.failed = call.malformed is None and (call.failed or call.refused)


def malformed_kind(tool: str, output: str, before: str | None) -> str | None:
    """What Codex found wrong with a call, by its output; ``before``: what was known of that already."""
    head = output[:HEAD]
    script = tool == "exec" and head.startswith("Script failed")
    if UNPARSED.search(head):
        return before or "schema"
    if UNKNOWN_TOOL.search(head) or (script and SCRIPT_UNKNOWN.search(head)):
        return "unknown_tool"
    return "json" if script and SCRIPT_ERROR.search(head) else before


def ended_badly(output: str) -> bool:
    """Whether Codex says so of a command, in what stands before the command's own output."""
    words = re.split(r"^Output:$", output[:HEAD], maxsplit=1, flags=re.MULTILINE)[0]
    return not RAN_WELL.search(words) and bool(FAILED.search(words))


def duration_ms(value: Any) -> float | None:
    raw = mapping(value)
    secs, nanos = raw.get("secs"), raw.get("nanos")
    if isinstance(secs, (int, float)) and isinstance(nanos, (int, float)):
        return round(secs * 1000 + nanos / 1e6, 3)
    return None
