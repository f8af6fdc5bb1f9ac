"""The layer ``cost``: what a run's requests cost, and what they would have cost without a prompt cache."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime

from runner.prices import Price
from runner.schema.cell import Cell
from runner.schema.ledger import LedgerLine, Usage
from runner.schema.score import Score

SCORER_VERSION = "cost-1"
Pricer = Callable[[str, Usage, datetime], Price]
"""Model, tokens and moment of one request to its price by the list."""


def measure_cost(ledger: Sequence[LedgerLine], by_list: Pricer, why_not: str = "no model was asked") -> Score:
    """Summed request by request; one unknown price makes the sum null. ``by_list`` prices tokens again.

    ``difference_usd`` is what the provider charged beyond the price list, where both are known.
    """
    if not ledger:
        names = ("cost_usd", "without_cache_usd", "list_usd", "difference_usd")
        return Score(layer="cost", scorer_version=SCORER_VERSION, figures={n: Cell.none(why_not) for n in names},
                     reason=why_not)  # fmt: skip
    billed = [line for line in ledger if line.price_usd != 0.0 or line.usage is not None]
    free = bool(billed) and all(line.price_source == "free" for line in billed)
    listed, uncached = _repriced(billed, by_list, lambda u: u), _repriced(billed, by_list, without_cache)
    cost = _charged(billed)
    zero = Cell.of(0.0, "the provider is declared free")
    figures = {
        "cost_usd": zero if free else cost,
        "without_cache_usd": zero if free else uncached,
        "list_usd": zero if free else listed,
        "difference_usd": _difference(cost, listed) if not free else Cell.none("the provider is declared free"),
        **_tokens(billed),
    }
    return Score(layer="cost", scorer_version=SCORER_VERSION, figures=figures)


def without_cache(usage: Usage) -> Usage:
    """The same tokens with nothing read from or written to a cache."""
    return Usage(
        uncached_input=usage.uncached_input + usage.cache_read + usage.cache_write,
        output=usage.output,
        reasoning=usage.reasoning,
    )


def _charged(lines: Sequence[LedgerLine]) -> Cell:
    unknown = [line for line in lines if line.price_usd is None]
    if unknown:
        return Cell.none(f"{len(unknown)} of {len(lines)} requests have no price: {unknown[0].price_source}")
    sources = Counter(line.price_source for line in lines)
    total = round(sum(line.price_usd or 0.0 for line in lines), 10)
    return Cell.of(total, "ledger, per request: " + ", ".join(f"{name} {n}" for name, n in sources.most_common()))


def _repriced(lines: Sequence[LedgerLine], by_list: Pricer, change: Callable[[Usage], Usage]) -> Cell:
    total, source = 0.0, "price list"
    for line in lines:
        if line.usage is None:
            return Cell.none(f"a request without usage: {line.usage_reason or 'unknown'}")
        model = line.model_served or line.model_asked or ""
        found = by_list(model, change(line.usage), datetime.fromisoformat(line.time))
        if found.usd is None:
            return Cell.none(found.source)
        total, source = total + found.usd, found.source
    return Cell.of(round(total, 10), f"{source}, per request")


def _difference(cost: Cell, listed: Cell) -> Cell:
    if not isinstance(cost.value, float) or not isinstance(listed.value, float):
        return Cell.none(cost.reason or listed.reason or "not known")
    return Cell.of(round(cost.value - listed.value, 10), "charged, less the price list")


def _tokens(lines: Sequence[LedgerLine]) -> dict[str, Cell]:
    total = Usage(uncached_input=0, output=0, reasoning=0)
    silent = 0
    for line in lines:
        silent += line.usage is None
        total = total.plus(line.usage) if line.usage is not None else total
    source = f"ledger, {silent} answers silent" if silent else "ledger"
    cells = {
        name: Cell.of(getattr(total, name), source)
        for name in ("uncached_input", "cache_read", "cache_write", "output")
    }
    unsaid = "not every answer said how much of it was reasoning"
    cells["reasoning"] = Cell.none(unsaid) if total.reasoning is None else Cell.of(total.reasoning, source)
    return cells
