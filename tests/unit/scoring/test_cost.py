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


def test_each_request_is_priced_by_its_own_day() -> None:
    usage = Usage(uncached_input=1_000_000, output=0)
    days = ("2025-05-01", "2025-07-01")  # between them o3 became cheaper
    asked = [line(1, "answered", model_served="o3", usage=usage, price_usd=0.0, price_source="provider",
                  time=f"{day}T00:00:00.000Z") for day in days]  # fmt: skip
    found = measure_cost(asked, lambda model, usage, at: price(model, usage, at, catalogue="openai"))
    assert found.figures["list_usd"].value == 10.0 + 2.0


def test_only_what_the_contestants_agent_asked_a_model_costs() -> None:
    mine = asked(price_usd=0.02, price_source="provider")
    others = [asked(price_usd=1.0, price_source="provider", ours=True), line(3, "answered", protocol="egress"),
              line(4, "answered", usage=None, price_usd=0.0, price_source="nothing answered")]  # fmt: skip
    assert measure_cost([mine, *others], by_list).figures == measure_cost([mine], by_list).figures


def test_an_answer_without_its_tokens_is_said_to_be_silent() -> None:
    score = measure_cost([asked(price_usd=0.02), asked(price_usd=0.02).model_copy(update={"usage": None})], by_list)
    assert score.figures["output"].source == "ledger, 1 answers silent"
    assert score.figures["list_usd"].reason == "a request without usage: unknown"


def test_the_model_that_answered_is_priced_or_else_the_one_asked() -> None:
    served = asked(price_usd=0.02, model_asked="never-heard-of")
    nameless = served.model_copy(update={"model_served": None, "model_asked": "claude-sonnet-4-5"})
    assert values(served)["list_usd"] == values(nameless)["list_usd"] == pytest.approx(0.01665)
