"""Tables are text: compare the text."""

from stockroom.tables import render


def test_numbers_to_the_right() -> None:
    assert render(("A", "COUNT"), [("x", 5), ("yy", 10)]) == "A   COUNT\nx       5\nyy     10\n"


def test_nothing_is_a_dash() -> None:
    assert render(("A", "B"), [("", None)]) == "A  B\n-  -\n"
