"""Adds a ledger up. Pure: the same lines give the same totals, live in the gateway or years later from the file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
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


def add_up(lines: Iterable[LedgerLine], attempt: str | None = None, *, spoke: bool | None = None) -> LedgerTotals:
    """The totals of a run, or of one attempt of it.

    ``spoke``: whether the model answered elsewhere in the run; without it the given lines say so. It decides whether
    a fault needs a witness (see ``_judge``).
    """
    everything = list(lines)
    chosen = [line for line in everything if (attempt is None or line.attempt == attempt) and line.protocol != "egress"]
    usage = Usage(uncached_input=0, output=0, reasoning=0)
    usd, reason = 0.0, None
    unmetered = 0
    passed = [line for line in chosen if line.outcome != "refused" and not line.ours]
    refused = [line for line in chosen if line.outcome == "refused"]
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
    count = {
        outcome: sum(line.outcome == outcome for line in asked) for outcome in ("answered", "error", "cut", "abandoned")
    }
    if spoke is None:
        spoke = any(
            line.outcome == "answered" and line.protocol in ANSWERS and not line.ours and line.attempt != attempt
            for line in everything
        )
    verdict = _judge([line for line in chosen if line.protocol in ANSWERS and line.outcome != "refused"], spoke=spoke)
    turned_away = sum(line.repeats for line in refused)
    return LedgerTotals(
        requests=len(passed) + turned_away,
        answered=count["answered"],
        errors=count["error"],
        cut=count["cut"],
        abandoned=count["abandoned"],
        refused=turned_away,
        usage=usage,
        unmetered=unmetered,
        price_usd=None if reason else round(usd, 10),
        price_reason=reason,
        models_served=sorted({line.model_served for line in passed if line.model_served}),
        hosts_served=sorted({line.host_served for line in passed if line.host_served}),
        efforts_wire=sorted({line.effort_wire for line in asked}, key=lambda effort: effort or ""),
        model_seconds=round(sum(line.latency_ms for line in asked) / 1000, 3),
        cap=next(filter(None, map(_cap, chosen)), None),
        tools_refused=sorted(
            {said.removeprefix("tool: ") for line in refused if (said := line.refused or "").startswith("tool: ")}
        ),
        context_errors=sum(line.context for line in asked),
        context_death=bool(asked) and asked[-1].context,
        provider_fault=verdict.fault,
        recovered_faults=verdict.recovered,
        unconfirmed_fault=verdict.unconfirmed,
        diverged=next((line.note for line in refused if line.refused == "divergence"), None),
    )


def _cap(line: LedgerLine) -> str | None:
    """The cap that refused or ended this request, in words."""
    said = line.refused or line.note or ""
    return said.rpartition("cap: ")[2] if "cap: " in said else None


@dataclass(frozen=True)
class Verdict:
    """``fault``: the provider's, and nothing made it good. ``unconfirmed``: a fault that no witness saw."""

    fault: str | None = None
    recovered: int = 0
    unconfirmed: str | None = None


def _judge(lines: list[LedgerLine], *, spoke: bool) -> Verdict:
    """Whose doing the end is.

    A wrong model is never made good. Otherwise the last request decides. Once the model has spoken, what it did may
    be what its provider chokes on (a burst, a body that is refused): then a fault is the provider's only if a request
    of the runner's own, made after the trouble began, failed as well, or if the same request goes well when the runner
    makes it once more: then it was not the request. Where no request at all was answered in the
    run, whatever kept the model from answering is not the model's.
    """
    asked = [line for line in lines if not line.ours]
    wrong = next((line.fault for line in asked if line.fault and line.fault.startswith("wrong ")), None)
    faults = sum(line.fault is not None for line in asked)
    answered = any(line.outcome == "answered" for line in asked)
    if wrong:
        return Verdict(wrong)
    if not asked:
        return Verdict()
    fault = end_fault(asked, spoke=spoke)
    recovered = faults - _trailing(asked) if asked[-1].fault else faults
    if fault is None:
        return Verdict(None, recovered)
    if (spoke or answered) and not witnessed(lines) and not was_passing(lines):
        return Verdict(None, recovered, fault)
    return Verdict(fault, recovered)


def end_fault(asked: list[LedgerLine], *, spoke: bool) -> str | None:
    """What looks like the provider's fault at the end of ``asked`` (the contestant's own requests), or None."""
    if not asked:
        return None
    last = asked[-1]
    answered = any(line.outcome == "answered" for line in asked)
    if last.fault:
        return last.fault
    if last.outcome == "abandoned" and last.first_byte_ms is None:
        if (not answered and not spoke) or last.latency_ms >= SILENCE_MS:
            return f"no answer in {last.latency_ms / 1000:.0f} s"
    elif not answered and last.outcome == "error" and not last.context:
        return f"HTTP {last.status} to every request"
    return None


def witnessed(lines: list[LedgerLine]) -> bool:
    """Whether the last request of the runner's own failed, and was made after the contestant's last good answer."""
    for line in reversed(lines):
        if line.ours and not line.again:
            return line.fault is not None or line.outcome != "answered"
        if line.outcome == "answered" and not line.fault:
            return False
    return False


def was_passing(lines: list[LedgerLine]) -> bool:
    """Whether the contestant's last request, made once more by the runner, went well: then it was not the request."""
    last = lines[-1]
    good = last.outcome in ("answered", "abandoned") and last.fault is None
    return last.again and good and last.status is not None and last.status < 300


def _trailing(asked: list[LedgerLine]) -> int:
    count = 0
    for line in reversed(asked):
        if not line.fault:
            break
        count += 1
    return count
