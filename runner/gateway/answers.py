"""Reads an answer while it passes by: who answered, how many tokens, whether it came to its end.

Nothing here changes or delays the bytes; what cannot be read ends as "unknown, because ...".
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from runner.gateway.counts import canonical_usage
from runner.gateway.unpack import Unpacker
from runner.gateway.wire import is_context_error
from runner.schema.ledger import Usage, Wire

MAX_PLAIN_BYTES = 32 * 1024 * 1024
MAX_EVENT_BYTES = 16 * 1024 * 1024
MAX_NAMES = 100
"""Of models, or hosts, in one answer that are kept: enough to see that it was more than one."""

_TELLING = {
    "chat": re.compile(rb'"(usage|error)"\s*:\s*[^n\s]|"finish_reason"\s*:\s*"|"object"\s*:\s*"error"'),
    "responses": re.compile(rb'"(response|error)"\s*:\s*[{"]|"(type|object)"\s*:\s*"error"'),
    "anthropic": re.compile(rb'"type"\s*:\s*"(message_(start|delta|stop)|error)"|"error"\s*:\s*[{"]'),
}
"""What an event must hold to say more than a word."""


_NAME = rb'\s*:\s*("(?:[^"\\]|\\.)*")'

_CODE = re.compile(r"[A-Za-z_.: -]{1,80}|\d{1,6}")
"""What an error is called; anything else might quote the key."""


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
    models: list[str] = field(default_factory=list)
    """Every name that a model is called by in it, in their order; ``model`` is the last of them said."""
    hosts: list[str] = field(default_factory=list)
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
        self._heard = {b'"model"': b"\0", b'"provider"': b"\0"}
        """How an event names the model and the host that it names as the one before it did."""
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
        anew = any(text.count(key) != text.count(heard) for key, heard in self._heard.items())
        if known and not anew and (telling := _TELLING.get(self._wire)) is not None and telling.search(text) is None:
            return
        data = _json_object(text)
        if data is None:
            return
        if (error := _error_of(data) if data.get("type") in (None, "error") or _is_error(data) else None) is not None:
            self._failed(error)
        if self._wire in ("anthropic", "responses"):
            self._identity({key: data.get(key) for key in ("model", "provider")}, answers=error is None)
        if self._wire == "anthropic":
            self._anthropic_event(data)
        elif self._wire == "responses":
            self._responses_event(data)
        else:
            self._identity(data, answers=error is None)
            choice = next(_choices(data), {})
            # Moonshot has it inside the choice, Groq in a field of its own; the usual place has the last word.
            for holder in (choice, data.get("x_groq"), data):
                self._usage(holder.get("usage") if isinstance(holder, dict) else None)
            if choice.get("finish_reason"):
                self.facts.complete = True
        if anew:
            self._remember(text)

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
            self._identity(answer, answers=data.get("type") != "response.failed")
            self._usage(answer.get("usage"))
            if data.get("type") in ("response.completed", "response.incomplete"):
                self.facts.complete = True
            elif data.get("type") == "response.failed":
                self._failed(answer.get("error"))

    def _remember(self, text: bytes) -> None:
        """The very bytes by which this event names who answered: one that has them, and no others, says no more."""
        for key, name in ((b'"model"', self.facts.model), (b'"provider"', self.facts.host)):
            for said in re.finditer(key + _NAME, text) if name is not None else ():
                if json.loads(said[1]) == name:
                    self._heard[key] = said[0]

    def _whole(self, data: dict[str, Any]) -> None:
        error = _error_of(data)
        self._identity(data, answers=error is None)
        self._usage(data.get("usage"))
        if error is not None:
            self._failed(error)
        else:
            self.facts.complete = True

    def _failed(self, error: Any) -> None:
        self.facts.error = _reason(error)
        self.facts.context = is_context_error(400, json.dumps(error).encode())

    def _identity(self, data: dict[str, Any], *, answers: bool = True) -> None:
        """Who is named; what only tells of an error (not ``answers``) was computed by nobody, and brokers write other
        names there than in their answers.
        """
        facts = self.facts
        if isinstance(data.get("id"), str) and facts.response_id is None:
            facts.response_id = data["id"]
        if isinstance(data.get("model"), str) and data["model"] and (answers or facts.model is None):
            facts.model = data["model"]
            _add(facts.models, facts.model, answers)
        if isinstance(data.get("provider"), str) and data["provider"] and (answers or facts.host is None):
            facts.host = data["provider"][:100]
            _add(facts.hosts, facts.host, answers)

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


def _add(names: list[str], name: str, counts: bool) -> None:
    if counts and name not in names and len(names) < MAX_NAMES:
        names.append(name)


def _error_of(data: dict[str, Any]) -> Any:
    """The error that an answer, or an event of a stream, tells of; None where it tells of none.

    OpenRouter has it inside the choice, or only says there that one ended it; others, vLLM among them, send it bare.
    """
    if data.get("error"):
        return data["error"]
    if _is_error(data):
        return data
    ended = [choice.get("error") or choice.get("finish_reason") == "error" for choice in _choices(data)]
    return next(filter(None, ended), True if data.get("status") == "failed" else None)


def _is_error(data: dict[str, Any]) -> bool:
    return data.get("object") == "error" or (data.get("type") == "error" and "error" not in data)


def _choices(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    found = data.get("choices")
    yield from (choice for choice in (found if isinstance(found, list) else ()) if isinstance(choice, dict))


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
