"""Readers of case formats: one function each, from case files to what they assert. A new format is a new file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from runner.errors import ConfigError


@dataclass(frozen=True)
class Case:
    """What one case asserts. ``channels``: of exit, stdout, stderr, expected, or null where the format has none."""

    name: str
    channels: frozenset[str] | None
    asserted_lines: int
    wildcards: int
    wildcard_lines: int

    @property
    def four_channel(self) -> bool:
        return self.channels is not None and len(self.channels) == 4


Reader = Callable[[Mapping[str, bytes], Sequence[str]], list[Case]]
"""From the files directly in ``cases_dir`` (name to content) and the names of the tests that the corpus command
executed on the unmutated program, as its JUnit report lists them.
"""


def reader(name: str) -> Reader:
    """The reader the registry's ``case_reader`` names. Raises ConfigError listing the known ones."""
    from runner.scoring.readers.junit import read_junit_list
    from runner.scoring.readers.txtar import read_txtar

    known: dict[str, Reader] = {"txtar": read_txtar, "junit": read_junit_list}
    if name not in known:
        raise ConfigError(f"case_reader: there is no reader {name!r}", f"known: {', '.join(known)}")
    return known[name]
