"""The protocols as the gateway sees them: which path is which, what a request asks for, what an error looks like."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson

from runner.gateway.overflow import overflows
from runner.gateway.tools import provider_tools
from runner.schema.ledger import Wire

MAX_PLAIN = 256 << 20
"""Bytes of a request, unpacked."""

ROUTES: dict[tuple[str, str], Wire] = {
    ("POST", "/chat/completions"): "chat",
    ("POST", "/responses"): "responses",
    ("POST", "/messages"): "anthropic",
    ("POST", "/messages/count_tokens"): "count_tokens",
    ("GET", "/models"): "models",
}

MAX_EFFORT = 100
"""Characters of an agent's words for effort that are kept."""

PATHS = {"chat": "/chat/completions", "responses": "/responses", "anthropic": "/messages"}
"""Where each protocol's answers are made, below the provider's base URL."""

ANSWERS = ("chat", "responses", "anthropic")
"""The protocols that make a model answer; the others only ask about one."""


@dataclass(frozen=True)
class Asked:
    """What a request asks for.

    ``body`` is what goes upstream; ``note`` says what was changed in it. A body that was changed is never compressed,
    whatever it was before (``changed``). ``tools``: kinds of tools that the provider would execute. ``data``: the
    request as the agent made it; ``sent``: as it goes on, with the fields that were set.
    """

    model: str | None
    stream: bool
    effort: str | None
    body: bytes
    note: str | None = None
    tools: list[str] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict, repr=False)
    sent: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def others(self) -> bool:
        """Whether it names models to take in the place of the first, as brokers let one."""
        lists = [self.data.get(name) for name in ("models", "fallbacks")]
        return any(part not in (None, [], [self.model]) for part in lists)

    @property
    def changed(self) -> bool:
        return self.note is not None


class UnreadableBody(ValueError):
    """The body is not JSON, or is compressed in a way that cannot be read: the model cannot be pinned."""


def route(method: str, path: str) -> tuple[Wire, str] | None:
    """The protocol of an agent's request and the path below the provider's base URL, or None."""
    suffix = path.removeprefix("/v1")
    if not suffix.startswith("/"):
        return None
    suffix = suffix.rstrip("/")
    wire = ROUTES.get((method, suffix))
    if wire is None and method == "GET" and suffix.startswith("/models/") and ".." not in suffix:
        wire = "models"
    return (wire, suffix) if wire else None


def read_request(wire: Wire, body: bytes, encoding: str | None, pinned: Mapping[str, Any] | None = None) -> Asked:
    """Look into a request; it is changed only by what ``note`` names.

    A streamed chat request is made to report its usage; ``pinned`` are fields that every answer-making request of the
    run has (where a broker may send it, options of the model). Raises UnreadableBody.
    """
    plain = _plain(body, encoding)
    data = _read(plain)
    if not isinstance(data, dict):
        raise UnreadableBody("the body is not a JSON object")
    if data.get("background") is True:
        raise UnreadableBody("an answer made in the background cannot be metered")
    model = data.get("model")
    stream = data.get("stream") is True
    fields: dict[str, Any] = {}
    notes = []
    options = data.get("stream_options")
    if wire == "chat" and stream and not (isinstance(options, dict) and options.get("include_usage") is True):
        fields["stream_options"] = {**(options if isinstance(options, dict) else {}), "include_usage": True}
        notes.append("include_usage added")
    for name, value in (pinned or {}).items() if wire in ANSWERS else ():
        if data.get(name) != value:
            fields[name] = value
            notes.append(f"{name} pinned" if name not in data else f"{name} pinned in place of the agent's")
    sent = {**data, **fields}
    return Asked(
        model if isinstance(model, str) else None,
        stream,
        effort_of(sent),
        with_fields(plain, data, fields) if fields else body,
        "; ".join(notes) or None,
        provider_tools(wire, sent),
        data,
        sent,
    )


def with_fields(plain: bytes, data: dict[str, Any], fields: dict[str, Any]) -> bytes:
    """The same body with ``fields`` set; every other byte stays where it was if it can."""
    if not fields.keys() & data.keys():
        start = plain.index(b"{") + 1
        added = json.dumps(fields, separators=(",", ":"))[1:-1].encode()
        return plain[:start] + added + (b"," if data else b"") + plain[start:]
    return json.dumps({**data, **fields}).encode()


def effort_of(data: dict[str, Any]) -> str | None:
    """The thinking effort as the request words it, shortened; None when it says nothing about it."""
    said = _effort(data)
    return None if said is None else said[:MAX_EFFORT]


def _effort(data: dict[str, Any]) -> str | None:
    if isinstance(data.get("reasoning_effort"), str):
        return str(data["reasoning_effort"])
    for holder in ("reasoning", "output_config"):
        part = data.get(holder)
        if isinstance(part, dict):
            if isinstance(part.get("effort"), str):
                return str(part["effort"])
            for key in ("max_tokens", "enabled"):
                if key in part:
                    return _named(key, part[key])
    thinking = data.get("thinking")
    if isinstance(thinking, dict):
        key = "budget_tokens" if "budget_tokens" in thinking else "type"
        value = thinking.get(key)
        return f"thinking={value}" if key == "type" and isinstance(value, str | None) else _named(key, value)
    template = data.get("chat_template_kwargs")  # of a local server: what its model's template understands
    for part in (template if isinstance(template, dict) else {}, data):
        if isinstance(part.get("reasoning_effort"), str):
            return str(part["reasoning_effort"])
        for key in ("enable_thinking", "thinking", "thinking_budget", "reasoning_budget", "think"):
            if key in part:
                return _named(key, part[key])
    return None


def _named(key: str, value: Any) -> str:
    return f"{key}={'...' if isinstance(value, dict | list) else json.dumps(value)}"


def is_context_error(status: int, body: bytes) -> bool:
    """Whether an upstream's refusal says that the conversation no longer fits."""
    return status == 413 or (status in (400, 422, 500) and overflows(body[:20_000].decode("utf-8", "replace")))


def question(wire: Wire, dialect: str, model: str, words: str = "", tokens: int = 16) -> dict[str, Any]:
    """The smallest request that makes a model answer in ``wire``."""
    words = words or "Answer with the single word: ready"
    if wire == "responses":
        return {"model": model, "input": words, "max_output_tokens": tokens}
    # OpenAI's own newer models know only the longer name of this limit.
    limit = "max_completion_tokens" if dialect == "openai" and wire == "chat" else "max_tokens"
    return {"model": model, "messages": [{"role": "user", "content": words}], limit: tokens}


def error_body(wire: Wire, kind: str, message: str) -> bytes:
    """An error as the protocol's own clients read it."""
    error: dict[str, Any] = {"type": kind, "message": message}
    if wire in ("anthropic", "count_tokens"):
        return json.dumps({"type": "error", "error": error}).encode()
    return json.dumps({"error": {**error, "code": kind, "param": None}}).encode()


def _read(plain: bytes) -> Any:
    """Raises UnreadableBody for what is not JSON, or has a key twice in one object.

    What an agent's own serialiser wrote comes out of ours byte for byte: then no key stood twice. That is three times
    as fast as to look at every object, and a long conversation waits for it.
    """
    with suppress(orjson.JSONDecodeError, orjson.JSONEncodeError):  # then the strict reader decides
        data = orjson.loads(plain)
        if orjson.dumps(data) == plain:
            return data
    try:
        return _STRICT.decode(plain.decode(json.detect_encoding(plain), "surrogatepass"))
    except (ValueError, RecursionError):
        raise UnreadableBody("the body is not JSON") from None


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key that stands twice could be one model for us and another upstream."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


_STRICT = json.JSONDecoder(object_pairs_hook=_each_key_once)


def _unpacked(body: bytes, wbits: int) -> bytes:
    """Raises UnreadableBody where a small body unpacks to a huge one."""
    stream = zlib.decompressobj(wbits)
    plain = stream.decompress(body, MAX_PLAIN)
    if stream.unconsumed_tail:
        raise UnreadableBody("the body is too large unpacked")
    if not stream.eof or stream.unused_data:
        raise EOFError
    return plain


def _plain(body: bytes, encoding: str | None) -> bytes:
    name = (encoding or "identity").strip().lower()
    try:
        if name in ("identity", ""):
            return body
        if name in ("gzip", "x-gzip"):
            return _unpacked(body, 16 + zlib.MAX_WBITS)
        if name == "deflate":
            return _unpacked(body, zlib.MAX_WBITS)
    except (OSError, EOFError, zlib.error):
        raise UnreadableBody(f"the body is not {name}") from None
    raise UnreadableBody(f"the body is compressed with {name}")
