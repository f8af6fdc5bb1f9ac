"""What a request costs, by the day it was made. Unknown is null with a reason, never zero."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from importlib.metadata import version

from runner.schema.ledger import Usage


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
) -> Price:
    """The price of one request.

    ``catalogue`` is the provider's id in genai-prices, ``own_cost`` what the provider itself says it charged:
    that wins. A provider declared ``free`` costs 0.00 whatever it answers.
    """
    if free:
        return Price(0.0, "free")
    if own_cost is not None:
        return Price(own_cost, "provider")
    if catalogue is None:
        return Price(None, "no price list for this provider")
    if usage is None:
        return Price(None, "usage unknown")
    return _listed(model, usage, at, catalogue)


def is_known(model: str, at: datetime, *, catalogue: str | None, free: bool = False) -> bool:
    """Whether a request to ``model`` would have a price."""
    return price(model, Usage(uncached_input=1, output=1), at, catalogue=catalogue, free=free).usd is not None


def price_source() -> str:
    """Name and version of the price list."""
    return f"genai-prices {_list_version()}"


@lru_cache(maxsize=1)
def _list_version() -> str:
    return version("genai-prices")


def _listed(model: str, usage: Usage, at: datetime, catalogue: str) -> Price:
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    tokens = Tokens(
        input_tokens=usage.uncached_input + usage.cache_read + usage.cache_write,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
        output_tokens=usage.output,
    )
    # A model that is not listed raises LookupError; one without a price for this kind of token, ValueError.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = calc_price(tokens, model_ref=model, provider_id=catalogue, genai_request_timestamp=at)
    except LookupError:
        return Price(None, f"{price_source()} does not list {catalogue}/{model}")
    except ValueError:
        return Price(None, f"{price_source()} cannot price {catalogue}/{model}")
    return Price(float(found.total_price), price_source())
