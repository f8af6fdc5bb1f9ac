from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.report import format as fmt


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (950, "950"), (56_500, "56.5k"), (391_600, "391.6k"), (3_900_000, "3.9M"), (9_000_000, "9.0M"),
     (999_949, "999.9k"), (999_950, "1.0M"), (216_750, "216.8k")],
)  # fmt: skip
def test_counts(value: int, text: str) -> None:
    assert fmt.count(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (5, "0m05s"), (1131, "18m51s"), (977, "16m17s"), (3789, "1h03m09s"), (3597, "59m57s"), (0.4, "0s")],
)
def test_durations(seconds: float, text: str) -> None:
    assert fmt.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [(4.125, 2, "4.13"), (3.75, 2, "3.75"), (96.28, 1, "96.3"), (0.05, 1, "0.1"), (2.675, 2, "2.68")],
)
def test_rounding_is_half_up_on_the_digits_seen(value: float, places: int, text: str) -> None:
    assert fmt.rounded(value, places) == text


@given(st.integers(min_value=0, max_value=10**12))
def test_counts_never_show_a_thousand_k(value: int) -> None:
    assert fmt.count(value) != "1000.0k"


@pytest.mark.parametrize("moment", ["2026-09-17T04:03:29.100Z", "2026-09-17 04:03"])
def test_a_moment_is_shown_to_the_minute(moment: str) -> None:
    assert fmt.minute(moment) == "2026-09-17 04:03"


def test_stalls_of_which_nobody_knows_how_long_they_took() -> None:
    assert [fmt.stall(2, None), fmt.stall(2, 4000), fmt.stall(0, None), fmt.stall(None, None)] == [
        "- (2)", "0m04s (2)", "0s", "-",
    ]  # fmt: skip
