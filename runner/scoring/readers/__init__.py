"""Readers of case formats: one function each, from case files to what they assert. A new format is a new file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from runner.errors import ConfigError


@dataclass(frozen=True)
class Case:
    """What one case asserts. ``channels``: of exit, stdout, stderr, expected; lines are asserted lines."""

    name: str
    channels: frozenset[str]
    asserted_lines: int
    wildcards: int
    wildcard_lines: int

    @property
    def four_channel(self) -> bool:
        return len(self.channels) == 4


Reader = Callable[[Mapping[str, bytes]], list[Case]]
"""From file name to content, for the files directly in ``cases_dir``."""


def reader(name: str) -> Reader:
    """The reader the registry's ``case_reader`` names. Raises ConfigError listing the known ones."""
    from runner.scoring.readers.txtar import read_txtar

    known: dict[str, Reader] = {"txtar": read_txtar}
    if name not in known:
        raise ConfigError(f"case_reader: there is no reader {name!r}", f"known: {', '.join(known)}")
    return known[name]
