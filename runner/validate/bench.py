"""What all groups of claims share: kit, mirror with baseline and reference, and a way to say what is going on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from runner.lab.kit import Kit
from runner.repo import Mirror
from runner.schema.certificate import Claim
from runner.scoring.branch import Branch

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Bench:
    """``reference`` is null for a benchmark without a reference solution."""

    kit: Kit
    mirror: Mirror
    baseline: str
    reference: str | None
    run_id: str
    folder: Path
    announce: Callable[[str], None]

    def branch(self, commit: str) -> Branch:
        """A commit as the scorers see it; output goes into a folder of its own."""
        output = self.folder / commit[:12]
        output.mkdir(exist_ok=True)
        return Branch(self.kit, self.mirror, self.baseline, commit, self.run_id, output)

    def side_by_side(self, work: Callable[[T], R], items: Iterable[T], workers: int | None = None) -> list[R]:
        """``work`` on every item, as many at once as the machine has room for."""
        with ThreadPoolExecutor(workers or self.kit.side_by_side) as pool:
            return list(pool.map(work, items))


def broken(claims: Sequence[Claim]) -> list[Claim]:
    return [claim for claim in claims if not claim.ok]
