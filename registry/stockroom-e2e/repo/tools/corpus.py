"""Facts about the cases, read from their text."""

import shlex
from collections.abc import Iterable, Iterator

from e2e.compare import WILDCARD
from e2e.txtar import CHANNELS, BadCase, Case, read_case
from tools.process import ROOT

CASES = ROOT / "e2e" / "cases"

# Not imported from the program: a check must not run the code it judges in its own process.
CATALOGUE = (
    "init", "item add", "item show", "item rename", "item price", "item retire",
    "location add", "location close",
)  # fmt: skip
GOODS = ("receive", "pick", "transfer", "adjust")
PROMISES = (
    "count open", "count enter", "count show", "count close", "count cancel",
    "reserve add", "reserve release",
)  # fmt: skip
FILES = ("export", "import check", "import items", "import receipts")
LISTS = (
    "item list", "location list", "reserve list",
    "report stock", "report low", "report movements", "report valuation",
)  # fmt: skip
COMMANDS = frozenset(tuple(c.split()) for c in CATALOGUE + GOODS + PROMISES + FILES + LISTS)


def read_all() -> tuple[list[Case], list[str]]:
    """Every readable case, and a sentence for every other."""
    cases: list[Case] = []
    problems: list[str] = []
    for path in sorted(CASES.glob("*.txtar")):
        try:
            cases.append(read_case(path))
        except BadCase as error:
            problems.append(f"{path.name}: {error}")
    return cases, problems


def command_words(line: str) -> tuple[str, ...] | None:
    """`("item", "add")` for a line that runs it, None for anything else."""
    words = shlex.split(line.removeprefix("& "))
    while words and "=" in words[0]:
        words.pop(0)
    if words[:1] != ["stockroom"]:
        return None
    for size in (2, 1):
        if tuple(words[1 : 1 + size]) in COMMANDS:
            return tuple(words[1 : 1 + size])
    return None


def outcomes(case: Case) -> Iterator[tuple[tuple[str, ...] | None, str]]:
    """Each command with the exit code that the case asserts for it."""
    order: list[str] = []
    waiting: list[str] = []
    for line in (raw.strip() for raw in case.sections["cmd"].splitlines()):
        if line.startswith("& "):
            waiting.append(line)
        elif line == "@wait":
            order, waiting = order + waiting, []
        elif line and line[0] not in "#@":
            order.append(line)
    codes = case.sections.get("exit", "").splitlines()
    for line, code in zip(order + waiting, codes, strict=False):
        yield command_words(line), code.strip()


def not_covered(cases: Iterable[Case], wanted: Iterable[str]) -> list[str]:
    """A sentence for every command that no case runs with an asserted exit code 0."""
    covered = {words for case in cases for words, code in outcomes(case) if code == "0"}
    return [
        f"no case in e2e/cases runs `stockroom {command}` with exit code 0"
        for command in wanted
        if tuple(command.split()) not in covered
    ]


def missing_channels(case: Case) -> list[str]:
    missing = [name for name in CHANNELS if name not in case.sections]
    return missing + ([] if case.expected else ["expected/..."])


def wildcard_share(cases: Iterable[Case]) -> float:
    """The share of asserted lines that hold a wildcard; 0.0 without lines."""
    lines = [
        line
        for case in cases
        for name, body in case.sections.items()
        if name in CHANNELS or name.startswith("expected/")
        for line in body.splitlines()
    ]
    return sum(WILDCARD in line for line in lines) / len(lines) if lines else 0.0


def competes(case: Case) -> bool:
    """A held transaction or two background commands, made certain by `@blocked`."""
    lines = [line.strip() for line in case.sections["cmd"].splitlines()]
    return "@blocked" in lines and any(line.startswith("& ") for line in lines)


def rolls_back(case: Case, commands: Iterable[str]) -> bool:
    """One of the commands is refused, and the case looks at the tables afterwards."""
    wanted = {tuple(command.split()) for command in commands}
    refused = any(words in wanted and code not in ("", "0") for words, code in outcomes(case))
    return refused and any(name.startswith("expected/db/") for name in case.expected)
