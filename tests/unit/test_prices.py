"""Prices by the day of the request; unknown is null."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.prices import _asked, price
from runner.schema.ledger import Usage

NOW = datetime(2026, 6, 1, tzinfo=UTC)
USAGE = Usage(uncached_input=1_000_000, cache_read=0, output=1_000_000)


def test_the_day_decides() -> None:
    before = price("o3", USAGE, datetime(2025, 5, 1, tzinfo=UTC), catalogue="openai")
    after = price("o3", USAGE, datetime(2025, 7, 1, tzinfo=UTC), catalogue="openai")
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


MODELS = [("openai", "gpt-4o"), ("openai", "gpt-5"), ("anthropic", "claude-sonnet-4-5"), ("google", "gemini-2.5-pro"),
          ("deepseek", "deepseek-chat"), ("openrouter", "anthropic/claude-sonnet-4")]  # fmt: skip
counts = st.integers(0, 2_000_000)
days = st.datetimes(datetime(2025, 6, 1), datetime(2026, 10, 1))


@given(st.sampled_from(MODELS), st.lists(counts, min_size=4, max_size=4), st.integers(0, 100), days)
@settings(max_examples=60, deadline=None)
def test_the_short_way_costs_what_the_list_says(
    model: tuple[str, str], tokens: list[int], hourly: int, at: datetime
) -> None:
    fresh, read, written, out = tokens
    hour = written * hourly // 100
    usage = Usage(uncached_input=fresh, cache_read=read, cache_write=written, cache_write_1h=hour, output=out)
    day = at.replace(tzinfo=UTC)
    short = price(model[1], usage, day, catalogue=model[0])
    long = _asked(model[1], usage, day, model[0])
    assert short.source == long.source
    assert short.usd == (long.usd if long.usd is None else pytest.approx(long.usd, abs=1e-9))


def test_rates_of_the_registry_win_over_the_list() -> None:
    rates = {"uncached_input": 2.0, "cache_read": None, "cache_write": 4.0, "output": 10.0}
    usage = Usage(uncached_input=1_000_000, cache_read=500_000, cache_write=250_000, output=100_000)
    found = price("o3", usage, NOW, catalogue="openai", rates=rates)
    assert (found.usd, found.source) == (2.0 + 1.0 + 1.0 + 1.0, "registry")
    assert price("never-heard-of", usage, NOW, catalogue=None, rates=rates).usd == found.usd
    assert price("o3", usage, NOW, catalogue="openai", rates=rates, own_cost=0.5).usd == 0.5


def test_what_a_cache_keeps_for_an_hour_costs_more_than_what_it_keeps_for_minutes() -> None:
    """Anthropic's words: a quarter above plain input for minutes, twice as much for an hour."""

    def cost(usage: Usage) -> float | None:
        return price("claude-haiku-4-5", usage, NOW, catalogue="anthropic").usd

    million = 1_000_000
    assert cost(Usage(uncached_input=million, output=0)) == pytest.approx(1.0)
    assert cost(Usage(uncached_input=0, cache_write=million, output=0)) == pytest.approx(1.25)
    assert cost(Usage(uncached_input=0, cache_write=million, cache_write_1h=million, output=0)) == pytest.approx(2.0)
    mixed = Usage(uncached_input=0, cache_write=million, cache_write_1h=400_000, output=0)
    assert cost(mixed) == pytest.approx(0.6 * 1.25 + 0.4 * 2.0)
    own = {"uncached_input": 2.0, "output": 10.0, "cache_write": 3.0}
    assert price("m", mixed, NOW, catalogue=None, rates=own).usd == pytest.approx(3.0)
    assert price("m", mixed, NOW, catalogue=None, rates=own | {"cache_write_1h": 5.0}).usd == pytest.approx(3.8)
