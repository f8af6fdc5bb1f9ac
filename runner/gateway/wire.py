"""The protocols as the gateway sees them: which path is which, what a request asks for, what an error looks like."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import Any

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

ANSWERS = ("chat", "responses", "anthropic")
"""The protocols that make a model answer; the others only ask about one."""

_CONTEXT_WORDS = (
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "prompt is too long",
    "exceed_context_size",
    "input token count",
    "too many tokens",
)


@dataclass(frozen=True)
class Asked:
    """What a request asks for. ``body`` is what goes upstream; ``note`` says what was changed in it."""

    model: str | None
    stream: bool
    effort: str | None
    body: bytes
    note: str | None = None
    data: dict[str, Any] = field(default_factory=dict, repr=False)
    """The request as it was read."""


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


def read_request(wire: Wire, body: bytes, encoding: str | None) -> Asked:
    """Look into a request; only a streamed chat request without usage is changed, and only by that option."""
    plain = _plain(body, encoding)
    try:
        data = json.loads(plain, object_pairs_hook=_each_key_once)
    except ValueError:
        raise UnreadableBody("the body is not JSON") from None
    if not isinstance(data, dict):
        raise UnreadableBody("the body is not a JSON object")
    model = data.get("model")
    stream = data.get("stream") is True
    asked = Asked(model if isinstance(model, str) else None, stream, effort_of(data), body, data=data)
    options = data.get("stream_options")
    if wire == "chat" and stream and not (isinstance(options, dict) and options.get("include_usage") is True):
        changed = with_usage(plain, data)
        return Asked(asked.model, True, asked.effort, changed, "include_usage added", data)
    return asked


def with_usage(plain: bytes, data: dict[str, Any]) -> bytes:
    """The same body, asking for usage at the stream's end; every other byte stays where it was if it can."""
    if "stream_options" not in data:
        start = plain.index(b"{") + 1
        return plain[:start] + b'"stream_options":{"include_usage":true},' + plain[start:]
    options = data["stream_options"] if isinstance(data["stream_options"], dict) else {}
    return json.dumps({**data, "stream_options": {**options, "include_usage": True}}).encode()


def effort_of(data: dict[str, Any]) -> str | None:
    """The thinking effort as the request words it; None when it says nothing about it."""
    if isinstance(data.get("reasoning_effort"), str):
        return str(data["reasoning_effort"])
    for holder in ("reasoning", "output_config"):
        part = data.get(holder)
        if isinstance(part, dict):
            if isinstance(part.get("effort"), str):
                return str(part["effort"])
            for key in ("max_tokens", "enabled"):
                if key in part:
                    return f"{key}={json.dumps(part[key])}"
    thinking = data.get("thinking")
    if isinstance(thinking, dict):
        if "budget_tokens" in thinking:
            return f"budget_tokens={thinking['budget_tokens']}"
        return f"thinking={thinking.get('type')}"
    template = data.get("chat_template_kwargs")
    if isinstance(template, dict) and "enable_thinking" in template:
        return f"enable_thinking={json.dumps(template['enable_thinking'])}"
    if "enable_thinking" in data:
        return f"enable_thinking={json.dumps(data['enable_thinking'])}"
    return None


def is_context_error(status: int, body: bytes) -> bool:
    """Whether an upstream's refusal says that the conversation no longer fits."""
    if status not in (400, 413, 422, 500):
        return False
    text = body[:20_000].decode("utf-8", "replace").lower()
    return any(word in text for word in _CONTEXT_WORDS)


def error_body(wire: Wire, kind: str, message: str) -> bytes:
    """An error as the protocol's own clients read it."""
    error: dict[str, Any] = {"type": kind, "message": message}
    if wire in ("anthropic", "count_tokens"):
        return json.dumps({"type": "error", "error": error}).encode()
    return json.dumps({"error": {**error, "code": kind, "param": None}}).encode()


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key that stands twice could be one model for us and another upstream."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _unpacked(body: bytes, wbits: int) -> bytes:
    """Raises UnreadableBody where a small body unpacks to a huge one."""
    stream = zlib.decompressobj(wbits)
    plain = stream.decompress(body, MAX_PLAIN)
    if stream.unconsumed_tail:
        raise UnreadableBody("the body is too large unpacked")
    if not stream.eof:
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
