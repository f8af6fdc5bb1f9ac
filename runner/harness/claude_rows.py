"""The small print of Claude Code's lines: kinds, whose they are, tokens; and what the lines of one answer (one a
content block) say together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from runner.harness.jsonl import Row, count, items, mapping, text
from runner.schema.base import digest
from runner.schema.ledger import Usage

KNOWN = frozenset(
    [
        "assistant",
        "user",
        "system",
        "result",
        "api-request",
        "queue-operation",
        "last-prompt",
        "cost-state",
        "summary",
        "attachment",
        "progress",
        "file-history-snapshot",
        "ai-title",
        "custom-title",
        "agent-name",
        "tag",
        "mode",
        "permission-mode",
        "stream_event",
        "rate_limit_event",
        "conversation_reset",
        "tool_progress",
        "tool_use_summary",
        "auth_status",
        "keep_alive",
        "control_request",
        "control_response",
        "prompt_suggestion",
        "pr-link",
        "agent-setting",
        "content-replacement",
        "worktree-state",
        "api-request-blob",
        "api-request-shape",
        "atis-latch",
        "tools-used",
    ]
)
_AGENTS_OWN = r"^\s*(?:<tool_use_error>.{0,200}?|(?:Error: )?)"
"""It speaks itself: in its own tag, or at the very start. What a command prints comes behind its exit code."""
MALFORMED = tuple(
    (kind, re.compile(_AGENTS_OWN + words, re.DOTALL))
    for kind, words in (
        ("json", r"InputValidationError.{0,200}JSON"),
        ("schema", r"(?:InputValidationError|(?:Input )?did not match the expected schema|Invalid tool parameter)"),
        ("unknown_tool", r"No such tool available"),
    )
)

OWN_QUERIES = re.compile(r"(sdk|repl_main_thread(:.*)?)?\Z", re.DOTALL)
"""What a request of the main agent's own is called; a helper's, a title's or a summary's has a name of its own."""
VARIANT = re.compile(r"\[\w+\]\Z")
"""Behind a model's name: ``[1m]``."""


_OWN_IDS = frozenset(["uuid", "parentUuid", "logicalParentUuid", "sessionId", "session_id"])


@dataclass
class Message:
    """The lines of one message id. ``closed``: its usage is the final one, not the opening of a stream's."""

    stop: str | None = None
    usage: Usage | None = None
    closed: bool = False
    whole: bool = True
    calls: set[str] = field(default_factory=set)
    followed_by_error: bool = False


def gather(found: Iterable[Row], *, stream: bool) -> dict[str, Message]:
    """Messages by id; on a ``stream`` their usage is the opening one.

    A message is whole when it has a reason to stop, or one of its calls was answered. Without both it was cut if the
    log gives reasons elsewhere, or if an API error comes next; older versions and the stream give none at all.
    """
    messages: dict[str, Message] = {}
    answered: set[str] = set()
    last: Message | None = None
    for row in found:
        data = row.data or {}
        message = mapping(data.get("message"))
        if data.get("type") == "user":
            answered |= {text(b.get("tool_use_id")) or "" for b in items(message.get("content"))}
        elif data.get("type") == "system" and data.get("subtype") in ("api_error", "api_retry") and last:
            last.followed_by_error = True
        elif data.get("type") == "assistant" and is_api_error(data):
            if last:
                last.followed_by_error = True
        elif data.get("type") == "assistant" and message:
            last = messages.setdefault(answer_id(row), Message())
            _add(last, message, opening=stream)
    reasons = any(m.stop for m in messages.values())
    for item in messages.values():
        ran = bool(item.calls & answered)
        item.whole = item.stop is not None or ran or not (reasons or item.followed_by_error)
    return messages


def answer_id(row: Row) -> str:
    """What the lines of one answer share: its id, with its request's or else its session's: servers may repeat ids."""
    data = row.data or {}
    ident = text(mapping(data.get("message")).get("id"))
    session = text(data.get("sessionId")) or text(data.get("session_id")) or ""
    return f"{ident} {text(data.get('requestId')) or row.file + session}" if ident else f"{row.file}:{row.number}"


def with_requests(found: list[Row]) -> list[Row]:
    """``found``, each answer's line with its request's id, where only one of its session's requests got that answer."""
    requests: dict[tuple[str, str, str], set[str]] = {}
    for row in found:
        if (place := _place(row)) and (name := _request(row)):
            requests.setdefault(place, set()).add(name)
    return [
        replace(row, data={**(row.data or {}), "requestId": next(iter(names))})
        if (place := _place(row)) and not _request(row) and len(names := requests.get(place, ())) == 1
        else row
        for row in found
    ]


def _request(row: Row) -> str | None:
    return text((row.data or {}).get("requestId"))


def _place(row: Row) -> tuple[str, str, str] | None:
    data = row.data or {}
    ident = text(mapping(data.get("message")).get("id")) if data.get("type") == "assistant" else None
    session = text(data.get("sessionId")) or text(data.get("session_id")) or ""
    return (row.file, session, ident) if ident else None


def copy_id(row: Row) -> str | None:
    """What a line shares with its copies, under ids of their own: sessions that went on began with such. An answer
    with its request's id is known by that.
    """
    data = row.data or {}
    if "timestamp" not in data:
        return None
    if data.get("type") == "system":
        return digest({key: value for key, value in data.items() if key not in _OWN_IDS})
    if data.get("type") != "assistant" or "requestId" in data:
        return None
    return digest([data["timestamp"], data.get("message")])


def settled(stream: Iterable[Row]) -> bool:
    """Whether the last start (``init``) that a stream tells of came to its last word (``result``)."""
    kinds = [kind for row in stream if (kind := (row.data or {}).get("subtype")) == "init" or _is_result(row)]
    return bool(kinds) and kinds[-1] != "init"


def _is_result(row: Row) -> bool:
    return (row.data or {}).get("type") == "result"


def sidechains(found: Iterable[Row]) -> dict[str, str]:
    """The first line's id, by the id of each line of a sub-agent without a name: lines form a chain of parents."""
    roots: dict[str, str] = {}
    for row in found:
        data = row.data or {}
        ident = text(data.get("uuid"))
        if ident is not None and data.get("isSidechain") is True and text(data.get("agentId")) is None:
            roots[ident] = roots.get(text(data.get("parentUuid")) or "", ident)
    return roots


def _add(facts: Message, message: dict[str, Any], *, opening: bool) -> None:
    facts.stop = text(message.get("stop_reason")) or facts.stop
    facts.calls |= {text(b.get("id")) or "" for b in items(message.get("content")) if b.get("type") == "tool_use"}
    used = usage_of(message.get("usage"))
    if used is not None and (facts.usage is None or used.output >= facts.usage.output):
        facts.usage = used
    facts.closed = facts.closed or not opening


def is_api_error(data: dict[str, Any]) -> bool:
    """A line in which the agent speaks of an API error, in the words of a made-up answer."""
    if data.get("isApiErrorMessage") is True or data.get("is_api_error_message") is True:
        return True
    synthetic = mapping(data.get("message")).get("model") == "<synthetic>"
    return synthetic and (
        isinstance(data.get("error"), str) or said(mapping(data.get("message"))).startswith("API Err")
    )


def complaints(data: dict[str, Any]) -> list[str]:
    """The words of a last line that tells of an error: one answer's, or a list of all that went wrong, the last of
    which ended the run.
    """
    errors = data.get("errors")
    listed = [error for error in errors if isinstance(error, str)] if isinstance(errors, list) else []
    result = text(data.get("result"))
    return [result] if result else listed


def said(message: dict[str, Any]) -> str:
    """The text blocks of a message."""
    return "".join(text(block.get("text")) or "" for block in items(message.get("content")))


def usage_of(raw: Any) -> Usage | None:
    """Anthropic's usage: input without cache, output with reasoning."""
    if not isinstance(raw, dict):
        return None
    split = mapping(raw.get("cache_creation"))  # by how long they are kept
    thought = mapping(raw.get("output_tokens_details")).get("thinking_tokens")
    written = count(raw.get("cache_creation_input_tokens")) or sum(map(count, split.values()))
    return Usage(
        uncached_input=count(raw.get("input_tokens")),
        cache_read=count(raw.get("cache_read_input_tokens")),
        cache_write=written,
        cache_write_1h=min(count(split.get("ephemeral_1h_input_tokens")), written),
        output=count(raw.get("output_tokens")),
        reasoning=None if thought is None else count(thought),
    )


def is_transcript(row: Row) -> bool:
    """A line of a transcript, not of the stream (which says ``session_id``)."""
    data = row.data or {}
    return "sessionId" in data and text(data.get("type")) in KNOWN


def stream_of(data: dict[str, Any], roots: dict[str, str]) -> str:
    """The sub-agent a line belongs to: its own name, or the call that started it; empty for the main agent.

    Older versions name none: a line belongs to the one whose first line (``roots``) it follows.
    """
    parent = text(data.get("parent_tool_use_id"))
    if parent:
        return parent
    if data.get("isSidechain") is True:
        return text(data.get("agentId")) or roots.get(text(data.get("uuid")) or "") or "sidechain"
    agent = text(data.get("agent"))
    run = data.get("agentRun")
    return "" if agent is None else agent if run is None else f"{agent}#{run}"


def totals_of(models: dict[str, Any]) -> Usage | None:
    """The agent's own sum over models; null where it is empty."""
    total: Usage | None = None
    for raw in models.values():
        used = mapping(raw)
        part = Usage(
            uncached_input=count(used.get("inputTokens")),
            cache_read=count(used.get("cacheReadInputTokens")),
            cache_write=count(used.get("cacheCreationInputTokens")),
            output=count(used.get("outputTokens")),
            reasoning=count(used["thinkingTokens"]) if "thinkingTokens" in used else None,
        )
        total = part if total is None else total.plus(part)
    return total


def window_of(models: dict[str, Any], own: str | None) -> int:
    """The context window of the run's ``own`` model among all that were asked; 0 where that cannot be told."""
    bare = {VARIANT.sub("", name): used for name, used in models.items()}
    used = models.get(own or "") or bare.get(VARIANT.sub("", own or ""))
    if used is None and len(models) == 1:
        (used,) = models.values()
    return count(mapping(used).get("contextWindow"))


def rest_of(totals: Usage | None, shown: Usage) -> Usage | None:
    """What the agent's totals hold beyond its answers; null where there are no totals."""
    if totals is None:
        return None
    return Usage(
        uncached_input=max(0, totals.uncached_input - shown.uncached_input),
        cache_read=max(0, totals.cache_read - shown.cache_read),
        cache_write=max(0, totals.cache_write - shown.cache_write),
        output=max(0, totals.output - shown.output),
    )


def added(known: list[float | None]) -> float | None:
    """The sum, where each is known."""
    return None if any(one is None for one in known) else round(sum(one or 0.0 for one in known), 9)
