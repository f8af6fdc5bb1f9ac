"""The immutable artifact that the scorers judge."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from runner.lab.check import Check, CheckResult, Place, protected_check
from runner.lab.kit import Kit
from runner.lab.tree import Overlay, protected_overlay
from runner.repo import Mirror
from runner.schema.entry import Command, Entry


@dataclass(frozen=True)
class Branch:
    """The immutable artifact that gates judge: one commit of a host-owned mirror.

    ``place``: where its checks are carried out (default: each in a pod of its own). ``repeats`` of the success
    criterion, if other than the registry's. ``judged``: what commands came to, by what decides them.
    """

    kit: Kit
    mirror: Mirror
    baseline: str
    head: str
    run_id: str
    output: Path
    place: Place | None = None
    repeats: int | None = None
    judged: dict[str, CheckResult] = field(default_factory=dict)

    @property
    def entry(self) -> Entry:
        return self.kit.benchmark.entry

    @cached_property
    def overlay(self) -> Overlay:
        """All that the branch may not change, as the baseline has it."""
        return protected_overlay(
            self.mirror, self.baseline, self.head, self.entry.protected, self.entry.scope_allowlist
        )

    def check(self, command: Command, name: str, *, watch_tree: bool = False) -> CheckResult:
        check = Check(self.head, command, output=self.output / name, watch_tree=watch_tree)
        return self.judge(check)

    def verdict(self, command: Command, name: str) -> CheckResult:
        """As ``check``, but a command that was judged on this branch already is not run a second time."""
        key = command.model_dump_json()
        if key not in self.judged:
            self.judged[key] = self.check(command, name)
        return self.judged[key]

    def judge(self, check: Check) -> CheckResult:
        """On the branch, all that it may not change restored. A timeout is believed only when it comes twice."""
        result = self._once(check)
        return self._once(check) if result.timed_out else result

    def _once(self, check: Check) -> CheckResult:
        return protected_check(self.kit, self.mirror, self.baseline, check, run_id=self.run_id, place=self.place)
