"""Layer ``gates``: pass/fail checks on the finished branch, each in its own clean checkout, scope first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.lab.check import Check, CheckResult, protected_check
from runner.lab.kit import Kit
from runner.repo import Mirror
from runner.schema.entry import Command
from runner.schema.run import AttemptRecord
from runner.schema.score import Gate, Score
from runner.scoring import SCORER_VERSION
from runner.scoring.scope import scope_gate


@dataclass(frozen=True)
class Branch:
    """The immutable artifact that gates judge: one commit of a host-owned mirror."""

    kit: Kit
    mirror: Mirror
    baseline: str
    head: str
    run_id: str
    output: Path

    def check(self, command: Command, name: str, *, watch_tree: bool = False) -> CheckResult:
        check = Check(self.head, command, output=self.output / name, watch_tree=watch_tree)
        return protected_check(self.kit, self.mirror, self.baseline, check, run_id=self.run_id)


def measure_gates(branch: Branch, attempts: Sequence[AttemptRecord] | None, announce: Callable[[Gate], None]) -> Score:
    """All gates the registry has commands for; a gate without its command is null with the reason.

    ``attempts`` null: the branch was not developed under this runner, so the milestones gate is null.
    """
    gates = []
    for gate in _gates(branch, attempts):
        announce(gate)
        gates.append(gate)
    return Score(layer="gates", scorer_version=SCORER_VERSION, gates=gates)


def _gates(branch: Branch, attempts: Sequence[AttemptRecord] | None) -> Iterator[Gate]:
    entry = branch.kit.benchmark.entry
    yield scope_gate(branch.mirror, branch.baseline, branch.head, entry.scope_allowlist)
    yield (
        _milestones(branch, attempts)
        if attempts is not None
        else Gate(
            id="milestones", passed=None, evidence={}, evidence_class="files", reason="no run stands behind this branch"
        )
    )
    yield _command(branch, "ci")
    yield _command(branch, "e2e")
    yield _determinism(branch)
    yield _unit_deleted(branch)


def _milestones(branch: Branch, attempts: Sequence[AttemptRecord]) -> Gate:
    """From the runner's own verifies, never from a file that the contestant can write."""
    passed = {a.milestone for a in attempts if a.passed}
    statuses = {}
    for milestone in branch.kit.benchmark.entry.milestones:
        tried = any(a.milestone == milestone.id for a in attempts)
        statuses[milestone.id] = (
            "done" if milestone.id in passed else f"fail@{milestone.id}" if tried else "not reached"
        )
    return Gate(
        id="milestones",
        passed=all(s == "done" for s in statuses.values()),
        evidence={"statuses": statuses},
        evidence_class="in-process",
    )


def _missing(gate: str, key: str) -> Gate:
    return Gate(
        id=gate, passed=None, evidence={}, evidence_class="in-process", reason=f"the registry names no {key}"
    )  # fmt: skip


def _command(branch: Branch, name: str) -> Gate:
    command = branch.kit.benchmark.entry.commands.get(name)
    if command is None:
        return _missing(name, f"commands.{name}")
    result = branch.check(command, f"gate-{name}")
    return Gate(id=name, passed=result.passed, evidence={"ended": result.why()}, evidence_class="in-process")


def _determinism(branch: Branch) -> Gate:
    """The update command, declared deterministic, ends with 0 and leaves every file as it was."""
    command = branch.kit.benchmark.entry.commands.get("e2e_update")
    if command is None:
        return _missing("determinism", "commands.e2e_update")
    result = branch.check(command, "gate-determinism", watch_tree=True)
    ignored = _ignored_by_baseline(branch)
    changed = [path for path in result.changed or [] if not ignored(path)]
    return Gate(
        id="determinism",
        passed=result.passed and not changed,
        evidence={"ended": result.why(), "rewritten": changed},
        evidence_class="in-process",
    )


def _ignored_by_baseline(branch: Branch) -> Callable[[str], bool]:
    """Caches are no rewrite: paths that the *baseline's* own top .gitignore leaves out, and only those."""
    from pathspec import GitIgnoreSpec

    rules = branch.mirror.read(branch.baseline, ".gitignore") or b""
    spec = GitIgnoreSpec.from_lines(rules.decode("utf-8", "replace").splitlines())
    return spec.match_file


def _unit_deleted(branch: Branch) -> Gate:
    """The superseded tests are gone, and so is every reference to them."""
    entry = branch.kit.benchmark.entry
    if entry.unit_file is None:
        return _missing("unit_deleted", "unit_file")
    present = branch.mirror.read(branch.head, entry.unit_file) is not None
    hits = branch.mirror.grep(branch.head, entry.unit_grep, entry.unit_grep_exclude) if entry.unit_grep else []
    return Gate(
        id="unit_deleted",
        passed=not present and not hits,
        evidence={"present": present, "references": hits},
        evidence_class="files",
    )
