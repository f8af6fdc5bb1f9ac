"""Adds a ledger up. Pure: the same lines give the same totals, live in the gateway or years later from the file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from runner.errors import RigError
from runner.gateway.wire import ANSWERS
from runner.schema.ledger import LedgerLine, LedgerTotals, Usage

SILENCE_MS = 300_000.0
"""An agent that waited this long for a first byte was let down, whatever came before."""


def read_ledger(path: Path) -> list[LedgerLine]:
    """All lines of a ledger; a torn last line (the machine died) is left out. RigError for anything else unreadable."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    lines: list[LedgerLine] = []
    whole = data.split(b"\n")
    torn = whole.pop()
    if torn:
        try:
            json.loads(torn)
            whole.append(torn)
        except ValueError:
            pass
    for number, text in enumerate(whole, 1):
        try:
            lines.append(LedgerLine.model_validate_json(text))
        except ValidationError:
            raise RigError(f"line {number} of {path.name} is no ledger line") from None
    return lines


def add_up(lines: Iterable[LedgerLine], attempt: str | None = None) -> LedgerTotals:
    """The totals of a run, or of one attempt of it."""
    chosen = [line for line in lines if attempt is None or line.attempt == attempt]
    usage = Usage(uncached_input=0, output=0, reasoning=0)
    usd, reason = 0.0, None
    unmetered = 0
    passed = [line for line in chosen if line.outcome != "refused"]
    asked = [line for line in passed if line.protocol in ANSWERS]
    for line in asked:
        billable = line.outcome == "answered" or (
            line.outcome in ("cut", "abandoned") and line.first_byte_ms is not None
        )
        if line.usage is not None:
            usage = usage.plus(line.usage)
        elif billable:
            unmetered += 1
        if line.price_usd is not None:
            usd += line.price_usd
        elif billable and reason is None:
            reason = line.price_source
    count = {outcome: sum(line.outcome == outcome for line in chosen) for outcome in ("answered", "error", "cut")}
    fault, recovered = _judge(asked)
    return LedgerTotals(
        requests=len(chosen),
        answered=count["answered"],
        errors=count["error"],
        cut=count["cut"],
        abandoned=sum(line.outcome == "abandoned" for line in chosen),
        refused=len(chosen) - len(passed),
        usage=usage,
        unmetered=unmetered,
        price_usd=None if reason else round(usd, 10),
        price_reason=reason,
        models_served=sorted({line.model_served for line in passed if line.model_served}),
        efforts_wire=sorted({line.effort_wire for line in asked}, key=lambda effort: effort or ""),
        model_seconds=round(sum(line.latency_ms for line in asked) / 1000, 3),
        cap=next(filter(None, map(_cap, chosen)), None),
        context_errors=sum(line.context for line in asked),
        context_death=bool(asked) and asked[-1].context,
        provider_fault=fault,
        recovered_faults=recovered,
    )


def _cap(line: LedgerLine) -> str | None:
    """The cap that refused or ended this request, in words."""
    said = line.refused or line.note or ""
    return said.rpartition("cap: ")[2] if "cap: " in said else None


def _judge(asked: list[LedgerLine]) -> tuple[str | None, int]:
    """The provider's fault that nothing made good, and how many were made good by a later whole answer.

    A wrong model is never made good. Otherwise the last request decides; and where no request at all was
    answered, whatever kept the model from answering is not the model's.
    """
    wrong = next((line.fault for line in asked if line.fault and line.fault.startswith("wrong model")), None)
    faults = [line for line in asked if line.fault]
    answered = sum(line.outcome == "answered" for line in asked)
    if wrong:
        return wrong, 0
    if not asked:
        return None, 0
    last = asked[-1]
    if last.fault:
        return last.fault, len(faults) - _trailing(asked)
    if last.outcome == "abandoned" and last.first_byte_ms is None and (not answered or last.latency_ms >= SILENCE_MS):
        return f"no answer in {last.latency_ms / 1000:.0f} s", len(faults)
    if not answered and last.outcome == "error" and not last.context:
        return f"HTTP {last.status} to every request", len(faults)
    return None, len(faults)


def _trailing(asked: list[LedgerLine]) -> int:
    count = 0
    for line in reversed(asked):
        if not line.fault:
            break
        count += 1
    return count
