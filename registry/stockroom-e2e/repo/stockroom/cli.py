"""Finds the command, parses its words, runs it. Each command's module is imported on demand."""

from __future__ import annotations

import sys

from pgwire import PgError, Unreachable
from stockroom import VERSION
from stockroom.args import parse
from stockroom.errors import DATABASE, USAGE, StockError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stockroom.args import Args, Spec

# command words -> module under stockroom.commands, function in it, one line of help
COMMANDS: dict[tuple[str, ...], tuple[str, str, str]] = {
    ("init",): ("init", "init", "create the tables in an empty database"),
    ("item", "add"): ("item", "add", "add an item"),
    ("item", "list"): ("item", "list_items", "list items"),
    ("item", "show"): ("item", "show", "one item, where it lies and what is promised"),
    ("item", "rename"): ("item", "rename", "change an item's name"),
    ("item", "price"): ("item", "price", "change an item's price"),
    ("item", "retire"): ("item", "retire", "take an item out of use"),
    ("location", "add"): ("location", "add", "add a location"),
    ("location", "list"): ("location", "list_locations", "list locations and their load"),
    ("location", "close"): ("location", "close", "take an empty location out of use"),
    ("receive",): ("receive", "receive", "goods come in"),
    ("pick",): ("pick", "pick", "goods go out"),
    ("transfer",): ("transfer", "transfer", "move goods between locations"),
    ("adjust",): ("adjust", "adjust", "correct a quantity, with a reason"),
    ("count", "open"): ("count", "open_count", "start counting a location"),
    ("count", "enter"): ("count", "enter", "note what was counted"),
    ("count", "show"): ("count", "show", "expected against counted"),
    ("count", "close"): ("count", "close", "book the differences"),
    ("count", "cancel"): ("count", "cancel", "drop a count"),
    ("reserve", "add"): ("reserve", "add", "promise goods to an order"),
    ("reserve", "release"): ("reserve", "release", "withdraw a promise"),
    ("reserve", "list"): ("reserve", "list_reservations", "list promises"),
    ("report", "stock"): ("report", "stock", "quantities by item and location"),
    ("report", "low"): ("report", "low", "items to reorder"),
    ("report", "movements"): ("report", "movements", "the journal, newest first"),
    ("report", "valuation"): ("report", "valuation", "worth of the stock by zone"),
    ("export",): ("export", "export", "write items, stock or movements as CSV"),
    ("import", "check"): ("importer", "check", "digest and rows of a file, changes nothing"),
    ("import", "items"): ("importer", "items", "read items from CSV"),
    ("import", "receipts"): ("importer", "receipts", "read receipts from CSV"),
}


def help_text() -> str:
    lines = ["usage: stockroom COMMAND ...", ""]
    for words, (_, _, summary) in COMMANDS.items():
        lines.append(f"  {' '.join(words):<17} {summary}")
    return "\n".join(lines) + "\n"


def _resolve(argv: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    for size in (2, 1):
        words = tuple(argv[:size])
        if words in COMMANDS:
            return words, list(argv[size:])
    groups = {words[0] for words in COMMANDS if len(words) == 2}
    if argv[0] in groups:
        known = ", ".join(words[1] for words in COMMANDS if words[0] == argv[0])
        raise StockError(USAGE, f"{argv[0]}: use one of {known}")
    raise StockError(USAGE, f"unknown command {argv[0]!r}; try stockroom --help")


def _run(argv: Sequence[str]) -> None:
    words, rest = _resolve(argv)
    module_name, function_name, _ = COMMANDS[words]
    module = getattr(__import__(f"stockroom.commands.{module_name}").commands, module_name)
    spec: Spec = module.SPECS[function_name]
    function: Callable[[Args], None] = getattr(module, function_name)
    if "--help" in rest:
        print(f"usage: stockroom {' '.join((*words, spec.usage())).rstrip()}")
        return
    function(parse(spec, rest))


def main(argv: Sequence[str]) -> int:
    """Run one command line; returns the exit code."""
    if not argv or argv[0] in ("--help", "help"):
        sys.stdout.write(help_text())
        return 0 if argv else USAGE
    if argv[0] == "--version":
        print(f"stockroom {VERSION}")
        return 0
    try:
        _run(argv)
    except StockError as error:
        print(f"error: {error.message}", file=sys.stderr)
        return error.exit_code
    except PgError as error:
        print(f"error: database: {error.message}", file=sys.stderr)
        return DATABASE
    except Unreachable as error:
        print(f"error: database: {error}", file=sys.stderr)
        return DATABASE
    return 0
