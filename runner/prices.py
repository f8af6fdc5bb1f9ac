"""What a request costs, by the day it was made. Unknown is null with a reason, never zero."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from importlib.metadata import version
from typing import Any

from runner.schema.ledger import Usage

_KINDS = ("uncached_input", "cache_read", "cache_write", "cache_write_1h", "output")


@dataclass(frozen=True)
class Price:
    """``usd`` or null; ``source`` says where it comes from, or why there is none."""

    usd: float | None
    source: str


def price(
    model: str,
    usage: Usage | None,
    at: datetime,
    *,
    catalogue: str | None,
    free: bool = False,
    own_cost: float | None = None,
    rates: Mapping[str, float | None] | None = None,
) -> Price:
    """The price of one request.

    ``catalogue`` is the provider's id in genai-prices, ``own_cost`` what the provider itself says it charged:
    that wins. ``rates`` are prices of the registry's own, USD per million tokens by kind (``uncached_input``,
    ``cache_read``, ``cache_write``, ``cache_write_1h``, ``output``): they win over the list. A provider declared
    ``free`` costs 0.00.
    """
    if free:
        return Price(0.0, "free")
    if own_cost is not None:
        return Price(own_cost, "provider")
    if catalogue is None and rates is None:
        return Price(None, "no price list for this provider")
    if usage is None:
        return Price(None, "usage unknown")
    if rates is not None:
        return Price(_by_rates(usage, rates), "registry")
    assert catalogue is not None
    return _listed(model, usage, at, catalogue)


@lru_cache(maxsize=1)
def price_source() -> str:
    """Name and version of the price list."""
    return f"genai-prices {version('genai-prices')}"


def _by_rates(usage: Usage, rates: Mapping[str, float | None]) -> float:
    """A kind without a rate of its own costs what uncached input costs; kept for an hour: what any write costs."""
    into = rates["uncached_input"] or 0.0
    read, write, hour = (rates.get(kind) for kind in ("cache_read", "cache_write", "cache_write_1h"))
    write = into if write is None else write
    each = (into, into if read is None else read, write, write if hour is None else hour, rates["output"] or 0.0)
    return _sum(each, usage)


def _sum(rates: Sequence[float], usage: Usage) -> float:
    """``rates`` by kind as in ``_KINDS``, USD per million tokens."""
    minutes = usage.cache_write - usage.cache_write_1h
    counts = (usage.uncached_input, usage.cache_read, minutes, usage.cache_write_1h, usage.output)
    return sum(rate * count for rate, count in zip(rates, counts, strict=True)) / 1e6


def _listed(model: str, usage: Usage, at: datetime, catalogue: str) -> Price:
    found = _rates(catalogue, model, at.replace(second=0, microsecond=0))
    if isinstance(found, str):
        return Price(None, found)
    if found is None:
        return _asked(model, usage, at, catalogue)
    return Price(_sum(found, usage), price_source())


@lru_cache(maxsize=64)
def _rates(catalogue: str, model: str, at: datetime) -> tuple[float, ...] | str | None:
    """A model's prices per million tokens at ``at``, by ``_KINDS``.

    None where they depend on the size, a text where there are none. The list's own arithmetic takes a quarter of a
    millisecond a request, too long beside the request itself.
    """
    found = []
    for kind in _KINDS:
        counts = {"uncached_input": 0, "output": 0, kind: 10**6}
        if kind == "cache_write_1h":
            counts["cache_write"] = 10**6
        one = _calculated(model, Usage.model_validate(counts), at, catalogue)
        if isinstance(one, str):
            # No price for this kind alone may still be a price for the others: the list decides case by case.
            return one if kind == "uncached_input" else None
        if any(hasattr(value, "tiers") for value in vars(one.model_price).values()):
            return None
        found.append(float(one.total_price))
    return tuple(found)


def _asked(model: str, usage: Usage, at: datetime, catalogue: str) -> Price:
    found = _calculated(model, usage, at, catalogue)
    return Price(None, found) if isinstance(found, str) else Price(float(found.total_price), price_source())


def _calculated(model: str, usage: Usage, at: datetime, catalogue: str) -> Any:
    """The list's own calculation, or why there is none."""
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    tokens = Tokens(
        input_tokens=usage.uncached_input + usage.cache_read + usage.cache_write,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
        cache_write_1h_tokens=usage.cache_write_1h,
        output_tokens=usage.output,
    )
    # A model that is not listed raises LookupError; one without a price for this kind of token, ValueError.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return calc_price(tokens, model_ref=model, provider_id=catalogue, genai_request_timestamp=at)
    except LookupError:
        return f"{price_source()} does not list {catalogue}/{model}"
    except ValueError:
        return f"{price_source()} cannot price {catalogue}/{model}"
