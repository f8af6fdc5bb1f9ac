"""What all groups of claims share: kit, mirror with baseline and reference, one place for all checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from runner.lab.check import Place
from runner.lab.kit import Kit
from runner.repo import Mirror
from runner.scoring.branch import Branch
from runner.scoring.patches import reference_stages


@dataclass(frozen=True)
class Bench:
    """``reference`` is null for a benchmark without a reference solution. ``place`` carries out every check, as many
    side by side as the machine has room for, and each that differs in nothing from an earlier one only once.
    """

    kit: Kit
    mirror: Mirror
    baseline: str
    reference: str | None
    run_id: str
    folder: Path
    announce: Callable[[str], None]
    place: Place

    def stages(self) -> list[str] | None:
        """The commit that each milestone begins from, and the last one's end; None where the reference does not say: it
        has no patch for each. Raises PatchFails.
        """
        entry = self.kit.benchmark.entry
        if self.reference is None or len(entry.reference) != len(entry.milestones):
            return None
        return reference_stages(self.kit.benchmark, self.mirror, self.baseline)

    def branch(self, commit: str, repeats: int | None = None) -> Branch:
        """A commit as the scorers see it; output goes into a folder of its own."""
        output = self.folder / commit[:12]
        output.mkdir(exist_ok=True)
        return Branch(self.kit, self.mirror, self.baseline, commit, self.run_id, output, self.place, repeats)
