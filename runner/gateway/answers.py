"""Reads an answer while it passes by: who answered, how many tokens, whether it came to its end.

Nothing here changes or delays the bytes; what cannot be read ends as "unknown, because ...".
"""

from __future__ import annotations

import json
import math
import re
import zlib
from dataclasses import dataclass, field
from typing import Any

from runner.gateway.unpack import Unpacker
from runner.gateway.wire import is_context_error
from runner.schema.ledger import Usage, Wire

MAX_PLAIN_BYTES = 32 * 1024 * 1024
MAX_EVENT_BYTES = 16 * 1024 * 1024

_TELLING = {
    "chat": re.compile(rb'"(usage|error)"\s*:\s*[^n\s]|"finish_reason"\s*:\s*"'),
    "responses": re.compile(rb'"(response|error)"\s*:\s*[{"]|"type"\s*:\s*"error"'),
    "anthropic": re.compile(rb'"type"\s*:\s*"(message_(start|delta|stop)|error)"|"error"\s*:\s*[{"]'),
}
"""What an event must hold to say more than a word."""


_CODE = re.compile(r"[A-Za-z_.: -]{1,80}|\d{1,6}")
"""What an error is called; anything else might quote the key."""


_CACHE_READ = ("prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens")
"""Beside OpenAI's own place for it: DeepSeek, Moonshot, LiteLLM's proxy."""
_CACHE_WRITTEN = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
"""OpenAI and OpenRouter, LiteLLM's proxy, Alibaba."""


@dataclass
class Facts:
    """What is known about an answer so far."""

    model: str | None = None
    response_id: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    complete: bool = False
    error: str | None = None
    context: bool = False
    """The error says that the conversation no longer fits."""
    unreadable: str | None = None
    host: str | None = None
    """Who computed it, where a broker says so."""
    tools_used: list[str] = field(default_factory=list)
    """What the provider counted of its own tools, such as ``web_search_requests=2``."""


class AnswerReader:
    """Feed it the answer's bytes as they pass; ``facts`` is always up to date, ``finish`` reads what is left.

    Whether it is one JSON document or a stream of events is told by its first byte: servers mislabel both.
    """

    def __init__(self, wire: Wire, *, encoding: str | None = None) -> None:
        self.facts = Facts()
        self._wire = wire
        self._streamed: bool | None = None
        self._rest = b""
        self._parts: list[bytes] = []
        self._size = 0
        self._raw: dict[str, Any] = {}
        self._packed = bool(encoding)
        self._unpacker = Unpacker(encoding)
        if not self._unpacker.known:
            self.facts.unreadable = f"the answer is compressed with {encoding}"

    def feed(self, chunk: bytes) -> None:
        if self.facts.unreadable:
            return
        if self._packed:
            try:
                chunk = self._unpacker.feed(chunk)
            except zlib.error:
                self.facts.unreadable = "the answer's compression is broken"
                return
        if self._streamed is None:
            chunk = chunk.lstrip(b" \t\r\n\xef\xbb\xbf")
            if not chunk:
                return
            self._streamed = chunk[:1] != b"{"
        self._size += len(chunk)
        if not self._streamed:
            self._parts.append(chunk)
        else:
            self._lines(chunk)
        if self._size > (MAX_EVENT_BYTES if self._streamed else MAX_PLAIN_BYTES):
            self.facts.unreadable, self._rest, self._parts = "the answer is too large to read", b"", []

    def _lines(self, chunk: bytes) -> None:
        text, half = self._rest + chunk, b""
        if b"\r" in text:
            half = b"\r" if text.endswith(b"\r") else b""  # the rest of that line's end may be under way
            text = text.removesuffix(half).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = text.split(b"\n")
        self._rest = rest + half
        for line in lines:
            if line.startswith(b"data:"):
                self._parts.append(line[5:].strip())
            elif not line:
                self._event_ends()

    def finish(self) -> Facts:
        """The answer has ended, whole or not."""
        if self._streamed:
            if self._rest.startswith(b"data:"):
                self._parts.append(self._rest[5:].strip())
            self._event_ends()
        elif self._parts and (data := _json_object(b"".join(self._parts))) is not None:
            self._whole(data)
        self._rest, self._parts = b"", []
        return self.facts

    def _event_ends(self) -> None:
        """An event's data may stand on several lines; where no empty line parts them, each is one of its own."""
        parts, self._parts, self._size = self._parts, [], 0
        if len(parts) == 1:
            self._event(parts[0])
            return
        whole = b"\n".join(parts)
        for text in [whole] if _json_object(whole) is not None else parts:
            self._event(text)

    def _event(self, text: bytes) -> None:
        if text == b"[DONE]":
            self.facts.complete = True
            return
        # Most events are a word of the answer; only what may hold a fact is parsed. A quote inside a text is escaped,
        # so a text can never look like one of these fields.
        known = self._wire == "anthropic" or (self.facts.model is not None and self.facts.response_id is not None)
        if known and (telling := _TELLING.get(self._wire)) is not None and telling.search(text) is None:
            return
        data = _json_object(text)
        if data is None:
            return
        if data.get("error") and data.get("type") in (None, "error"):
            self._failed(data["error"])
        elif self._wire == "responses" and data.get("type") == "error":
            self._failed(data)
        if self._wire == "anthropic":
            self._anthropic_event(data)
        elif self._wire == "responses":
            self._responses_event(data)
        else:
            self._identity(data)
            choice = _first(data.get("choices"))
            if choice.get("error"):
                self._failed(choice["error"])
            # Moonshot has it inside the choice, Groq in a field of its own; the usual place has the last word.
            for holder in (choice, data.get("x_groq"), data):
                self._usage(holder.get("usage") if isinstance(holder, dict) else None)
            if choice.get("finish_reason"):
                self.facts.complete = True

    def _anthropic_event(self, data: dict[str, Any]) -> None:
        kind = data.get("type")
        if kind == "message_start" and isinstance(data.get("message"), dict):
            self._identity(data["message"])
            self._usage(data["message"].get("usage"))
        elif kind == "message_delta":
            self._usage(data.get("usage"))
        elif kind == "message_stop":
            self.facts.complete = True

    def _responses_event(self, data: dict[str, Any]) -> None:
        answer = data.get("response")
        if isinstance(answer, dict):
            self._identity(answer)
            self._usage(answer.get("usage"))
            if data.get("type") in ("response.completed", "response.incomplete"):
                self.facts.complete = True
            elif data.get("type") == "response.failed":
                self._failed(answer.get("error"))

    def _whole(self, data: dict[str, Any]) -> None:
        self._identity(data)
        self._usage(data.get("usage"))
        if error := data.get("error") or _first(data.get("choices")).get("error"):  # OpenRouter: inside the choice
            self._failed(error)
        else:
            self.facts.complete = True

    def _failed(self, error: Any) -> None:
        self.facts.error = _reason(error)
        self.facts.context = is_context_error(400, json.dumps(error).encode())

    def _identity(self, data: dict[str, Any]) -> None:
        if isinstance(data.get("model"), str) and data["model"]:
            self.facts.model = data["model"]
        if isinstance(data.get("id"), str) and self.facts.response_id is None:
            self.facts.response_id = data["id"]
        if isinstance(data.get("provider"), str) and data["provider"]:
            self.facts.host = data["provider"][:100]

    def _usage(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        # Anthropic reports in two steps; later figures replace earlier ones, silence and zeros keep them.
        self._raw.update({key: value for key, value in usage.items() if value or self._raw.get(key) is None})
        self.facts.usage = canonical_usage(self._wire, self._raw)
        used = self._raw.get("server_tool_use")
        if isinstance(used, dict):
            self.facts.tools_used = [f"{str(name)[:40]}={n}" for name, n in used.items() if isinstance(n, int) and n]
        cost = self._raw.get("cost")
        if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < math.inf:
            self.facts.cost_usd = float(cost)


def canonical_usage(wire: Wire, raw: dict[str, Any]) -> Usage | None:
    """A provider's usage in canonical form; None when it lacks the counts of its protocol."""
    if wire == "anthropic":
        into, out = _count(raw, "input_tokens"), _count(raw, "output_tokens")
        if into is None or out is None:
            return None
        split = raw.get("cache_creation")  # by how long they are kept
        parts = {key: _count(split, key) or 0 for key in split} if isinstance(split, dict) else {}
        written = _count(raw, "cache_creation_input_tokens") or sum(parts.values())
        return Usage(
            uncached_input=into,
            cache_read=_count(raw, "cache_read_input_tokens") or 0,
            cache_write=written,
            cache_write_1h=min(parts.get("ephemeral_1h_input_tokens", 0), written),
            output=out,
        )
    names = ("input", "output") if wire == "responses" else ("prompt", "completion")
    into, out = _count(raw, f"{names[0]}_tokens"), _count(raw, f"{names[1]}_tokens")
    if into is None or out is None:
        return None
    inside = raw.get(f"{names[0]}_tokens_details")
    spent = raw.get(f"{names[1]}_tokens_details")
    inside = inside if isinstance(inside, dict) else {}
    spent = spent if isinstance(spent, dict) else {}
    read = next(filter(None, (_count(inside, "cached_tokens"), *(_count(raw, key) for key in _CACHE_READ))), 0)
    write = next(filter(None, (_count(part, key) for part in (inside, raw) for key in _CACHE_WRITTEN)), 0)
    read = min(read, into)
    write = min(write, into - read)
    thought = _count(spent, "reasoning_tokens")
    if thought and _count(raw, "total_tokens") == into + out + thought:  # xAI: the total alone says it is not inside
        out += thought
    return Usage(
        uncached_input=into - read - write,
        cache_read=read,
        cache_write=write,
        output=out,
        reasoning=thought,
    )


def _count(raw: dict[str, Any], key: str) -> int | None:
    value = raw.get(key)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _first(choices: Any) -> dict[str, Any]:
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, dict) else {}


def _json_object(text: bytes) -> dict[str, Any] | None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _reason(error: Any) -> str:
    """A few words about an error inside an answer; never its whole text, which may quote anything."""
    if isinstance(error, dict):
        for key in ("code", "type", "status"):
            if isinstance(error.get(key), str | int) and _CODE.fullmatch(str(error[key])):
                return str(error[key])
    return "error in the answer"
