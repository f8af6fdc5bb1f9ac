"""Cases as text archives: ``-- name --`` starts a section; ``[..]`` in an asserted line stands for anything."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from runner.scoring.readers import Case

_MARK = re.compile(r"-- (\S(?:.*\S)?) --")
_WILDCARD = "[..]"


def read_txtar(files: Mapping[str, bytes], executed: Sequence[str] = ()) -> list[Case]:
    """Every ``*.txtar``, by name. A file that is no text asserts nothing. An empty line of an asserted section counts:
    it has to be there, too.
    """
    return [_case(name, content) for name, content in sorted(files.items()) if name.endswith(".txtar")]


def _case(name: str, content: bytes) -> Case:
    channels: set[str] = set()
    asserted = wildcards = wildcard_lines = 0
    channel: str | None = None
    lines = content.decode("utf-8", "replace").split("\n")
    for line in lines[:-1] if lines[-1] == "" else lines:
        mark = _MARK.fullmatch(line.rstrip("\r"))
        if mark:
            section = mark.group(1)
            channel = _channel(section)
            if channel:
                channels.add(channel)
        elif channel:
            asserted += 1
            found = line.count(_WILDCARD)
            wildcards += found
            wildcard_lines += bool(found)
    return Case(name, frozenset(channels), asserted, wildcards, wildcard_lines)


def _channel(section: str) -> str | None:
    if section in ("exit", "stdout", "stderr", "expected"):
        return section
    return "expected" if section.startswith("expected/") else None
