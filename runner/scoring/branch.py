"""The immutable artifact that the scorers judge."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.lab.check import Check, CheckResult
from runner.lab.kit import Kit
from runner.lab.protected import Place, protected_check
from runner.repo import Mirror
from runner.schema.entry import Command


@dataclass(frozen=True)
class Branch:
    """The immutable artifact that gates judge: one commit of a host-owned mirror. ``place``: where checks are run
    (default: each in a pod of its own).
    """

    kit: Kit
    mirror: Mirror
    baseline: str
    head: str
    run_id: str
    output: Path
    place: Place | None = None

    def check(self, command: Command, name: str, *, watch_tree: bool = False) -> CheckResult:
        check = Check(self.head, command, output=self.output / name, watch_tree=watch_tree)
        return self.judge(check)

    def judge(self, check: Check) -> CheckResult:
        """On the branch, all that it may not change restored. A timeout is believed only when it comes twice."""
        result = self._once(check)
        return self._once(check) if result.timed_out else result

    def _once(self, check: Check) -> CheckResult:
        return protected_check(self.kit, self.mirror, self.baseline, check, run_id=self.run_id, place=self.place)
