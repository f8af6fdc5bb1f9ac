"""Time lost to requests that failed and were asked again: what the wire saw, whatever the agent says of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from runner.gateway.wire import ANSWERS
from runner.schema.ledger import LedgerLine


@dataclass(frozen=True)
class Freeze:
    """From the first failed request to the answer that followed it, or to the last failure where none did.

    ``requests``: how many failed; ``line``: 1-based, of the first, in the ledger.
    """

    attempt: str
    at: str
    requests: int
    lost_ms: float
    reason: str
    line: int
    recovered: bool


def freezes(ledger: Sequence[LedgerLine]) -> list[Freeze]:
    """All of a run. A conversation that no longer fits, and a refusal by the gateway, freeze nothing."""
    found: list[Freeze] = []
    for attempt in dict.fromkeys(line.attempt for line in ledger):
        mine = [(n, line) for n, line in enumerate(ledger, 1) if line.attempt == attempt and line.protocol in ANSWERS]
        found += _of_attempt(attempt, sorted(mine, key=lambda item: item[1].time))
    return sorted(found, key=lambda freeze: (freeze.at, freeze.line))


def _of_attempt(attempt: str, lines: Iterable[tuple[int, LedgerLine]]) -> list[Freeze]:
    found, failed = [], list[tuple[int, LedgerLine]]()
    for number, line in lines:
        if line.outcome in ("error", "cut") and not line.context:
            failed.append((number, line))
        elif line.outcome == "answered" and failed:
            found.append(_freeze(attempt, failed, _start(line), recovered=True))
            failed = []
    if failed:
        last = failed[-1][1]
        found.append(_freeze(attempt, failed, _start(last) + last.latency_ms / 1000, recovered=False))
    return found


def _freeze(attempt: str, failed: list[tuple[int, LedgerLine]], until: float, *, recovered: bool) -> Freeze:
    number, first = failed[0]
    lost = max(0.0, until - _start(first)) * 1000
    reason = first.fault or first.outcome
    return Freeze(attempt, first.time, len(failed), round(lost, 3), reason, number, recovered)


def _start(line: LedgerLine) -> float:
    return datetime.fromisoformat(line.time).timestamp()
