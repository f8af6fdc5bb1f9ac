"""A recorded exchange between an agent and its model, as a run's cassette keeps it."""

from __future__ import annotations

from typing import Any, Literal

from runner.schema.base import Strict


class TapedExchange(Strict):
    """One request and its answer. No key and no run token is in it, in no encoding.

    ``at_ms``: when the request came, on the machine's own clock; the order of a cassette. ``request`` is
    the body as the agent sent it, ``answer`` the whole body as text; ``sizes`` are the bytes in which it arrived.
    """

    schema_: Literal["bench/taped-exchange/1"] = "bench/taped-exchange/1"
    at_ms: float
    attempt: str
    protocol: Literal["chat", "responses", "anthropic"]
    path: str
    request: dict[str, Any]
    status: int
    headers: dict[str, str]
    streamed: bool
    cut: bool
    answer: str
    sizes: list[int]
