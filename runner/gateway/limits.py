"""Caps of a run, and the running sums they are checked against."""

from __future__ import annotations

from dataclasses import dataclass

from runner.schema.base import Strict
from runner.schema.ledger import LedgerLine


class Caps(Strict):
    """What one run may use; null is no cap. ``tokens`` counts all tokens in and out, ``wall_s`` runs from open_run.

    A cap is checked before a request is passed on: answers under way may overshoot ``tokens`` and ``usd``.
    """

    requests: int | None = None
    tokens: int | None = None
    usd: float | None = None
    wall_s: float | None = None


@dataclass
class Spent:
    """What a run has used so far."""

    requests: int = 0
    tokens: int = 0
    usd: float = 0.0

    def add(self, line: LedgerLine) -> None:
        """Count a line that was passed on; refused ones cost nothing."""
        if line.outcome == "refused":
            return
        if line.usage is not None:
            self.tokens += line.usage.total
        self.usd += line.price_usd or 0.0


def exceeded(caps: Caps, spent: Spent, elapsed_s: float) -> str | None:
    """The first cap that forbids another request, in words, or None."""
    if caps.requests is not None and spent.requests >= caps.requests:
        return f"{caps.requests} requests"
    if caps.tokens is not None and spent.tokens >= caps.tokens:
        return f"{caps.tokens} tokens"
    if caps.usd is not None and spent.usd >= caps.usd:
        return f"{caps.usd:g} USD"
    if caps.wall_s is not None and elapsed_s >= caps.wall_s:
        return f"{caps.wall_s:.0f} s"
    return None
