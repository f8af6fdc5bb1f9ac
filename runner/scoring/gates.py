"""Layer ``gates``: pass/fail checks on the finished branch, each in its own clean checkout, scope first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from runner.lab.tree import protected_overlay
from runner.schema.run import AttemptRecord
from runner.schema.score import Gate, Score
from runner.scoring import SCORER_VERSION
from runner.scoring.branch import Branch
from runner.scoring.criterion import counted_share, judge_criterion
from runner.scoring.scope import scope_gate
from runner.scoring.suite import Suite, folder_cases


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
    yield _behaviour(branch)
    yield _criterion(branch)


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
    evidence: dict[str, object] = {"ended": result.why()}
    if result.doubts:
        evidence["doubts"] = list(result.doubts)
    return Gate(
        id=name,
        passed=result.passed,
        evidence=evidence,
        evidence_class="black-box" if command.oracle else "in-process",
    )


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


def _behaviour(branch: Branch) -> Gate:
    """The hidden etalon against the branch's own program: every etalon case passes (black-box where the command is)."""
    entry = branch.kit.benchmark.entry
    if entry.etalon_dir is None or entry.mutations is None or entry.cases_dir is None:
        return _missing("behaviour", "etalon_dir")
    cases = folder_cases(branch.kit.benchmark.path(entry.etalon_dir))
    overlay = protected_overlay(branch.mirror, branch.baseline, branch.head, entry.protected, entry.scope_allowlist)
    suite = Suite(branch.kit, branch.mirror, cases, branch.run_id, dict(overlay), place=branch.place)
    result = suite.run(branch.head)
    passed = result.ended == "green" and set(result.executed or entry.etalon_cases) == set(entry.etalon_cases)
    black_box = entry.command(entry.mutations.command).oracle
    return Gate(
        id="behaviour",
        passed=passed,
        evidence={"ended": result.ended, "failed": list(result.failed)},
        evidence_class="black-box" if black_box else "in-process",
    )


def _criterion(branch: Branch) -> Gate:
    """The hidden success criterion passes in every repeat, each on a fresh server and database."""
    criterion = branch.kit.benchmark.entry.criterion
    if criterion is None:
        return _missing("criterion", "criterion")
    verdicts = judge_criterion(branch)
    unmeasured = [v.detail for v in verdicts if v.passed is None]
    return Gate(
        id="criterion",
        passed=None if unmeasured else all(v.passed for v in verdicts),
        share=None if unmeasured else counted_share(criterion, verdicts),
        evidence={"passed": f"{sum(v.passed is True for v in verdicts)}/{len(verdicts)}",
                  "failed": sorted({name for v in verdicts for name in v.failed})},
        evidence_class="black-box" if criterion.command.oracle else "in-process",
        reason=unmeasured[0] if unmeasured else None,
    )  # fmt: skip
