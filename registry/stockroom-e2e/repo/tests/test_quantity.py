"""Words into numbers: pure functions, so plain tests."""

import pytest

from stockroom.errors import StockError
from stockroom.quantity import parse_code, parse_price, parse_quantity, show_price


@pytest.mark.parametrize(("word", "cents"), [("12", 1200), ("12.5", 1250), (".05", 5)])
def test_price(word: str, cents: int) -> None:
    assert parse_price(word) == cents


@pytest.mark.parametrize("word", ["", "1.234", "x", "-1", "1."])
def test_bad_price(word: str) -> None:
    with pytest.raises(StockError):
        parse_price(word)


def test_show_price() -> None:
    assert show_price(1205) == "12.05"


def test_code_is_upper_case() -> None:
    assert parse_code(" bolt-8 ", "SKU") == "BOLT-8"


def test_quantity_limits() -> None:
    assert parse_quantity("1000000") == 1_000_000
    with pytest.raises(StockError):
        parse_quantity("1000001")
