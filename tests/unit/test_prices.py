"""Prices by the day of the request; unknown is null."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from runner.prices import is_known, price
from runner.schema.ledger import Usage

NOW = datetime(2026, 6, 1, tzinfo=UTC)
USAGE = Usage(uncached_input=1_000_000, cache_read=0, output=1_000_000)


def test_the_day_decides() -> None:
    before = price("o3", USAGE, datetime(2025, 5, 1, tzinfo=UTC), catalogue="openai")
    after = price("o3", USAGE, NOW, catalogue="openai")
    assert before.usd == pytest.approx(50.0)
    assert after.usd == pytest.approx(10.0)
    assert after.source.startswith("genai-prices ")


@pytest.mark.parametrize(
    ("model", "catalogue", "why"),
    [
        ("never-heard-of", "openai", "does not list openai/never-heard-of"),
        ("o3", "never-heard-of", "does not list never-heard-of/o3"),
        ("o3", None, "no price list for this provider"),
    ],
)
def test_unknown_is_null_with_a_reason(model: str, catalogue: str | None, why: str) -> None:
    found = price(model, USAGE, NOW, catalogue=catalogue)
    assert found.usd is None
    assert why in found.source
    assert not is_known(model, NOW, catalogue=catalogue)


def test_the_providers_own_word_wins() -> None:
    assert price("o3", USAGE, NOW, catalogue="openai", own_cost=0.25).usd == 0.25


def test_free_is_zero_only_where_it_is_declared() -> None:
    assert price("x", None, NOW, catalogue=None, free=True).usd == 0.0
    assert price("o3", None, NOW, catalogue="openai").usd is None


def test_the_cache_is_cheaper() -> None:
    cached = Usage(uncached_input=0, cache_read=1_000_000, output=0)
    whole = Usage(uncached_input=1_000_000, output=0)
    cheap, dear = (price("o3", usage, NOW, catalogue="openai").usd or 0 for usage in (cached, whole))
    assert 0 < cheap < dear
