from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from runner.prices import Price, price
from runner.schema.ledger import LedgerLine, Usage
from runner.scoring.cost import measure_cost
from tests.unit.events.test_wire import line


def by_list(model: str, usage: Usage, at: datetime) -> Price:
    return price(model, usage, at, catalogue="anthropic")


def asked(**more: Any) -> LedgerLine:
    usage = Usage(uncached_input=1_000, cache_read=8_000, cache_write=1_000, output=500)
    return line(1, "answered", model_served="claude-sonnet-4-5", usage=usage, **more)


def values(*lines: LedgerLine) -> dict[str, Any]:
    return {name: cell.value for name, cell in measure_cost(lines, by_list).figures.items()}


def test_the_price_without_a_cache_is_that_of_the_same_tokens() -> None:
    found = values(asked(price_usd=0.02, price_source="provider"))
    # 3 and 15 USD a million in and out; a cache read 0.30, a cache write 3.75.
    assert found["list_usd"] == pytest.approx(0.003 + 0.0024 + 0.00375 + 0.0075)
    assert found["without_cache_usd"] == pytest.approx(0.03 + 0.0075)
    assert found["cost_usd"] == 0.02
    assert found["difference_usd"] == pytest.approx(0.02 - 0.01665)
    assert (found["cache_read"], found["cache_write"], found["output"]) == (8_000, 1_000, 500)


def test_one_unknown_price_makes_the_sum_null_and_says_why() -> None:
    unknown = asked(price_usd=None, price_source="no list")
    score = measure_cost([asked(price_usd=0.02, price_source="provider"), unknown], by_list)
    assert score.figures["cost_usd"].value is None
    assert score.figures["cost_usd"].reason == "1 of 2 requests have no price: no list"
    assert score.figures["difference_usd"].value is None


def test_a_request_that_nothing_answered_costs_nothing() -> None:
    found = values(asked(price_usd=0.02, price_source="provider"), line(2, "error", price_usd=0.0))
    assert found["cost_usd"] == 0.02


def test_free_is_zero_and_unknown_is_not() -> None:
    free = measure_cost([asked(price_usd=0.0, price_source="free")], lambda *_: Price(None, "no list"))
    assert free.figures["cost_usd"].value == free.figures["without_cache_usd"].value == 0.0
    none = measure_cost([], by_list)
    assert {cell.value for cell in none.figures.values()} == {None}
    assert none.reason == "no model was asked"
    unlisted = measure_cost([asked(price_usd=0.02, price_source="provider")], lambda *_: Price(None, "not listed"))
    assert (unlisted.figures["cost_usd"].value, unlisted.figures["without_cache_usd"].reason) == (0.02, "not listed")
