"""Cases as text archives: `-- name --` starts a section, what precedes the first is a comment."""

import re
from pathlib import Path

_MARK = re.compile(r"-- (\S(?:.*\S)?) --")
CHANNELS = ("exit", "stdout", "stderr")
PLAIN = ("fixture", "given.sql", "cmd", *CHANNELS)


class BadCase(Exception):
    """The case file itself cannot be used."""


class Case:
    """One case file; `sections` keeps the order of the file."""

    def __init__(self, path: Path, comment: str, sections: dict[str, str]) -> None:
        self.path = path
        self.name = path.name
        self.comment = comment
        self.sections = sections

    @property
    def expected(self) -> list[str]:
        return [name for name in self.sections if name.startswith("expected/")]

    def inputs(self) -> dict[str, str]:
        return {name[3:]: body for name, body in self.sections.items() if name.startswith("in/")}

    def text(self) -> str:
        parts = [self.comment]
        parts += [f"-- {name} --\n{body}" for name, body in self.sections.items()]
        return "".join(parts)


def read_case(path: Path) -> Case:
    """Parse one file; raises BadCase with the reason."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadCase(f"cannot be read: {error}") from error
    comment: list[str] = []
    sections: dict[str, list[str]] = {}
    body = comment
    for line in lines:
        mark = _MARK.fullmatch(line)
        if mark is None:
            body.append(line)
            continue
        name = mark.group(1)
        if name in sections:
            raise BadCase(f"section {name} appears twice")
        body = sections[name] = []
    joined = {name: "".join(f"{line}\n" for line in body) for name, body in sections.items()}
    case = Case(path, "".join(f"{line}\n" for line in comment), joined)
    _check(case)
    return case


def _check(case: Case) -> None:
    for name in case.sections:
        if name in PLAIN:
            continue
        folder, _, rest = name.partition("/")
        safe = rest and not rest.startswith("/") and ".." not in rest.split("/")
        if folder == "in" and safe:
            continue
        if folder == "expected" and safe and rest.startswith(("db/", "files/")):
            continue
        raise BadCase(f"unknown section {name}")
    if not case.sections.get("cmd", "").strip():
        raise BadCase("no cmd section")
