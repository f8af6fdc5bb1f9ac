"""Command-line words."""

import pytest

from stockroom.args import Spec, parse
from stockroom.errors import StockError

SPEC = Spec(("SKU", "NAME?"), ("--unit",), ("--all",))


def test_everything() -> None:
    args = parse(SPEC, ["a", "--unit", "m", "b", "--all"])
    assert (args["SKU"], args["NAME"], args["--unit"], args.has("--all")) == ("a", "b", "m", True)


@pytest.mark.parametrize("argv", [[], ["a", "b", "c"], ["a", "--what"], ["a", "--unit"]])
def test_refused(argv: list[str]) -> None:
    with pytest.raises(StockError):
        parse(SPEC, argv)
