"""The small print of mini-swe-agent's messages: answers in the form of chat completions, or of Responses."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runner.gateway.counts import canonical_usage
from runner.harness.jsonl import count, items, mapping, text
from runner.schema.ledger import Usage

_WRAPPED = re.compile(r";response_id:(.+)$", re.DOTALL)
_COMPLAINTS = (
    (re.compile(r"Error parsing tool call arguments"), "json"),
    (re.compile(r"Unknown tool '"), "unknown_tool"),
    (re.compile(r"Missing 'command' argument"), "schema"),
)


@dataclass(frozen=True)
class Asked:
    """A call as the model asked for it. ``malformed``: what the agent found wrong, where the call itself is lost."""

    id: str | None
    tool: str
    arguments: Any
    malformed: str | None = None


@dataclass(frozen=True)
class Said:
    """An answer, or the ``error`` in its place. ``logged_id``: as its id stands in the file; ``id``: as it was sent."""

    id: str | None
    logged_id: str
    model: str | None
    usage: Usage | None
    stop: str | None
    created: Any
    calls: list[Asked] = field(default_factory=list)
    error: str | None = None


def said_of(message: Mapping[str, Any], extra: Mapping[str, Any]) -> Said:
    """The answer in a message: the message itself, or what the server sent, stored beside it."""
    response = mapping(extra.get("response"))
    if message.get("object") == "response" or response.get("object") == "response":
        return _from_responses(response or message)
    ident = text(response.get("id"))
    choice = next(iter(items(response.get("choices"))), {})
    said = mapping(choice.get("message")) or message
    calls = []
    for asked in items(said.get("tool_calls")):
        function = mapping(asked.get("function"))
        calls.append(Asked(text(asked.get("id")), text(function.get("name")) or "?", function.get("arguments")))
    return Said(ident, ident or "", text(response.get("model")), usage_of(response.get("usage")),
                text(choice.get("finish_reason")), response.get("created"), calls)  # fmt: skip


def _from_responses(response: Mapping[str, Any]) -> Said:
    logged = text(response.get("id")) or ""
    calls = [
        Asked(text(item.get("call_id")) or text(item.get("id")), text(item.get("name")) or "?", item.get("arguments"))
        for item in items(response.get("output"))
        if item.get("type") == "function_call"
    ]
    status = text(response.get("status"))
    why = text(mapping(response.get("incomplete_details")).get("reason"))
    complaint = mapping(response.get("error"))
    error = text(complaint.get("message")) or text(complaint.get("code")) or ("failed" if status == "failed" else None)
    return Said(own_id(logged), logged, text(response.get("model")), usage_of(response.get("usage")),
                why or status, response.get("created_at"), calls, error)  # fmt: skip


def own_id(logged: str) -> str | None:
    """The server's id of an answer: litellm hides it, with its own notes, in an id that it makes of them."""
    rest = logged.partition("_")[2]
    try:
        found = _WRAPPED.search(base64.b64decode(rest + "=" * (-len(rest) % 4)).decode())
    except ValueError:
        found = None
    return found[1] if found else logged or None


def arguments_of(asked: Asked, tool: str | None) -> tuple[Any, str | None]:
    """A call's arguments and, where the agent refused the answer, what was wrong with this one.

    ``tool`` is the only one that it has, or null where it took the answer. An answer is refused as a whole, so that a
    good call beside a bad one is refused with it.
    """
    given: Any = asked.arguments
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return given, "json"
    if tool is None:
        return given, None
    if asked.tool != tool:
        return given, "unknown_tool"
    command = given.get("command") if isinstance(given, dict) else None
    return given, None if isinstance(command, str) and command else "schema"


def lost_call(words: str) -> list[Asked]:
    """The call of an answer that was refused and not kept, from the agent's complaint about it."""
    kind = next((kind for pattern, kind in _COMPLAINTS if pattern.search(words)), None)
    return [Asked(None, "?", words, kind)] if kind else []


def usage_of(raw: Any) -> Usage | None:
    """OpenAI's usage in either form, read as on the wire: it is what the server said."""
    if not isinstance(raw, dict):
        return None
    into = mapping(raw.get("prompt_tokens_details")) or mapping(raw.get("input_tokens_details"))
    out = mapping(raw.get("completion_tokens_details")) or mapping(raw.get("output_tokens_details"))
    return canonical_usage("chat", {
        **_counts(raw),
        "prompt_tokens": count(raw.get("prompt_tokens", raw.get("input_tokens"))),
        "completion_tokens": count(raw.get("completion_tokens", raw.get("output_tokens"))),
        "prompt_tokens_details": _counts(into),
        "completion_tokens_details": _counts(out),
    })  # fmt: skip


def _counts(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {key: count(value) for key, value in raw.items() if value is not None}


def words_of(content: Any) -> str:
    return text(content) or "".join(text(part.get("text")) or "" for part in items(content))
