"""Which rows are of one arm: what was sent decides, not what was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar


class Ran(Protocol):
    """A row of the history, or a result."""

    @property
    def benchmark(self) -> str: ...
    @property
    def arm_id(self) -> str: ...
    @property
    def wire_arm_id(self) -> str | None: ...


R = TypeVar("R", bound=Ran)


def by_arm(rows: Sequence[R]) -> list[list[R]]:
    """The rows of each arm on each benchmark, in the order of their first.

    Levels that send the same are one arm; a run in which nothing was sent counts with the other runs of what it asked
    for.
    """
    sent = {(row.benchmark, row.arm_id): row.wire_arm_id for row in rows if row.wire_arm_id}
    groups: dict[tuple[str, str], list[R]] = {}
    for row in rows:
        arm = row.wire_arm_id or sent.get((row.benchmark, row.arm_id)) or row.arm_id
        groups.setdefault((row.benchmark, arm), []).append(row)
    return list(groups.values())
