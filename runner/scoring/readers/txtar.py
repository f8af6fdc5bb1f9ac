"""Cases as text archives: ``-- name --`` starts a section; ``[..]`` in an asserted line stands for anything."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from runner.scoring.readers import Case

_MARK = re.compile(r"-- (\S(?:.*\S)?) --")
_WILDCARD = "[..]"


def read_txtar(files: Mapping[str, bytes], executed: Sequence[str] = ()) -> list[Case]:
    """Every ``*.txtar``, by name. A file that is no text asserts nothing. An empty line of an asserted section counts:
    it has to be there, too. Which of two sections of one name a case runner obeys is its own affair, so of those the
    one counts that pins down least.
    """
    return [_case(name, content) for name, content in sorted(files.items()) if name.endswith(".txtar")]


def _case(name: str, content: bytes) -> Case:
    found: dict[str, list[list[str]]] = {}
    body: list[str] = []
    lines = content.decode("utf-8", "replace").split("\n")
    for line in lines[:-1] if lines[-1] == "" else lines:
        mark = _MARK.fullmatch(line.rstrip("\r"))
        if mark:
            body = []
            if _channel(mark.group(1)):
                found.setdefault(mark.group(1), []).append(body)
        else:
            body.append(line)
    asserted = [line for bodies in found.values() for line in max(bodies, key=_vagueness)]
    channels = frozenset(channel for channel in map(_channel, found) if channel)
    wildcards = [line.count(_WILDCARD) for line in asserted]
    return Case(name, channels, len(asserted), sum(wildcards), sum(map(bool, wildcards)))


def _vagueness(body: list[str]) -> tuple[float, int]:
    """How little a section pins down: by its share of wildcard lines, then by how few lines it has."""
    return sum(_WILDCARD in line for line in body) / max(1, len(body)), -len(body)


def _channel(section: str) -> str | None:
    if section in ("exit", "stdout", "stderr", "expected"):
        return section
    return "expected" if section.startswith("expected/") else None
