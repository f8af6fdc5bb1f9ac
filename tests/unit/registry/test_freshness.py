"""A model newer than the benchmark may have seen it."""

from __future__ import annotations

from datetime import date

import pytest

from runner.registry.freshness import contamination, released


@pytest.mark.parametrize(
    ("model", "day"),
    [
        ("claude-sonnet-4-5-20250929", "2025-09-29"),
        ("gpt-4o-2024-11-20", "2024-11-20"),
        ("vendor/model-2026-12", "2026-12-31"),
        ("model-2025-02", "2025-02-28"),
        ("model-123420250929", None),
        ("model-20259999", None),
        ("smollm2-135m", None),
        ("qwen3-235b-a22b-2507", None),
    ],
)
def test_the_date_in_a_name(model: str, day: str | None) -> None:
    found = released(model, None)
    assert (found[0].isoformat() if found else None) == day


def test_a_named_date_wins_and_an_unknown_one_is_never_cleared() -> None:
    assert released("m-2020-01-01", date(2026, 12, 1)) == (date(2026, 12, 1), "providers.yaml")
    assert contamination("m", "2026-11-29", date(2026, 11, 30)).value == "newer"
    assert contamination("m", "2026-11-29", date(2026, 11, 29)).value == "older"
    assert contamination("m", "2026-11-29", None).value is None
    assert "no date of publication" in (contamination("m", None, None).reason or "")
