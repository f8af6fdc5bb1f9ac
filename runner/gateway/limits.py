"""Caps of a run and of an attempt, and the running sums they are checked against."""

from __future__ import annotations

from dataclasses import dataclass

from runner.schema.base import Strict
from runner.schema.ledger import LedgerLine, Usage


class Caps(Strict):
    """What may be used; null is no cap. ``tokens`` counts all tokens in and out; ``wall_s`` are seconds.

    A cap is checked before a request is passed on: answers under way may overshoot tokens and ``usd``.
    ``concurrent`` ends nothing: a request beyond it is told to come back. ``attempt`` holds caps of one attempt.
    """

    requests: int | None = None
    tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: float | None = None
    wall_s: float | None = None
    concurrent: int | None = None
    attempt: Caps | None = None


@dataclass
class Spent:
    """What a run, or an attempt, has used so far."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def add(self, usage: Usage | None, usd: float | None) -> None:
        """Count an answer."""
        if usage is not None:
            self.input_tokens += usage.uncached_input + usage.cache_read + usage.cache_write
            self.output_tokens += usage.output
        self.usd += usd or 0.0

    def add_line(self, line: LedgerLine) -> None:
        """Count a line of an earlier session; refused requests and the runner's own cost nothing."""
        if line.outcome != "refused" and not line.ours and line.protocol != "egress":
            self.requests += 1
            self.add(line.usage, line.price_usd)


def exceeded(caps: Caps, spent: Spent, elapsed_s: float) -> str | None:
    """The first cap that forbids another request, in words, or None."""
    if caps.requests is not None and spent.requests >= caps.requests:
        return f"{caps.requests} requests"
    if caps.tokens is not None and spent.tokens >= caps.tokens:
        return f"{caps.tokens} tokens"
    if caps.input_tokens is not None and spent.input_tokens >= caps.input_tokens:
        return f"{caps.input_tokens} input tokens"
    if caps.output_tokens is not None and spent.output_tokens >= caps.output_tokens:
        return f"{caps.output_tokens} output tokens"
    if caps.usd is not None and spent.usd >= caps.usd:
        return f"{caps.usd:g} USD"
    if caps.wall_s is not None and elapsed_s >= caps.wall_s:
        return f"{caps.wall_s:.0f} s"
    return None
