"""Layer ``gates``: pass/fail checks on the finished branch, each in its own clean checkout, scope first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from runner.lab.text import one_line, shown
from runner.schema.run import AttemptRecord
from runner.schema.score import Gate, Score
from runner.scoring import SCORER_VERSION
from runner.scoring.branch import Branch
from runner.scoring.criterion import counted_share, judge_criterion
from runner.scoring.plan import plan_gate
from runner.scoring.scope import scope_gate
from runner.scoring.suite import Suite, folder_cases


@dataclass(frozen=True)
class Given:
    """What gates know besides the branch. ``attempts`` null: it was not developed under this runner. ``plan``: then
    the milestones are judged by the pages of the plan and by their verifies on the branch's head.
    """

    attempts: Sequence[AttemptRecord] | None = None
    plan: bool = False


def measure_gates(
    branch: Branch,
    attempts: Sequence[AttemptRecord] | None,
    announce: Callable[[Gate], None],
    only: Collection[str] | None = None,
    *,
    plan: bool = False,
    order: Sequence[str] = (),
    workers: int = 1,
) -> Score:
    """All gates the registry has commands for (or those named by ``only``); one without its command is null with the
    reason. Scope is judged first, from commits alone, before anything of the branch is run. ``order`` (default: the
    table's) and ``workers`` (gates side by side) change how long it takes, never what is found.
    """
    given = Given(attempts, plan)
    found: dict[str, Gate] = {}

    def judge(name: str) -> None:
        found[name] = GATES[name](branch, given)
        announce(found[name])

    wanted = [name for name in (*order, *(g for g in GATES if g not in order)) if only is None or name in only]
    rest = [name for name in wanted if name != "scope"]
    if "scope" in wanted:
        judge("scope")
    with ThreadPoolExecutor(workers, thread_name_prefix="gate") as pool:
        for done in [pool.submit(judge, name) for name in rest]:
            done.result()
    return Score(layer="gates", scorer_version=SCORER_VERSION, gates=[found[g] for g in GATES if g in found])


def _scope(branch: Branch, given: Given) -> Gate:
    return scope_gate(branch.mirror, branch.baseline, branch.head, branch.entry.scope_allowlist)


def _milestones_gate(branch: Branch, given: Given) -> Gate:
    if given.attempts is not None:
        return _milestones(branch, given.attempts)
    if given.plan:
        return plan_gate(branch)
    return Gate(
        id="milestones", passed=None, evidence={}, evidence_class="files", reason="no run stands behind this branch"
    )


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


def _command(name: str, branch: Branch, given: Given) -> Gate:
    command = branch.kit.benchmark.entry.commands.get(name)
    if command is None:
        return _missing(name, f"commands.{name}")
    result = branch.verdict(command, f"gate-{name}")
    evidence: dict[str, object] = {"command": shown(command), "ended": result.why()}
    if result.doubts:
        evidence["doubts"] = list(result.doubts)
    return Gate(
        id=name,
        passed=result.passed,
        evidence=evidence,
        evidence_class="black-box" if command.oracle else "in-process",
    )


def _determinism(branch: Branch, given: Given) -> Gate:
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
        evidence={"command": shown(command), "ended": result.why(), "rewritten": list(map(one_line, changed))},
        evidence_class="in-process",
    )


def _ignored_by_baseline(branch: Branch) -> Callable[[str], bool]:
    """Caches are no rewrite: paths that the *baseline's* own top .gitignore leaves out, and only those."""
    from pathspec import GitIgnoreSpec

    rules = branch.mirror.read(branch.baseline, ".gitignore") or b""
    spec = GitIgnoreSpec.from_lines(rules.decode("utf-8", "replace").splitlines())
    return spec.match_file


def _unit_deleted(branch: Branch, given: Given) -> Gate:
    """The superseded tests are gone, and so is every reference to them."""
    entry = branch.kit.benchmark.entry
    if entry.unit_file is None:
        return _missing("unit_deleted", "unit_file")
    path = entry.unit_file.encode()
    present = any(f.path == path or f.path.startswith(path + b"/") for f in branch.mirror.tree(branch.head))
    hits = branch.mirror.grep(branch.head, entry.unit_grep, entry.unit_grep_exclude) if entry.unit_grep else []
    return Gate(
        id="unit_deleted",
        passed=not present and not hits,
        evidence={"file": entry.unit_file, "present": present, "token": entry.unit_grep, "references": hits},
        evidence_class="files",
    )


def _behaviour(branch: Branch, given: Given) -> Gate:
    """The hidden etalon against the branch's own program: every etalon case passes (black-box where the command is)."""
    entry = branch.kit.benchmark.entry
    if entry.etalon_dir is None or entry.mutations is None or entry.cases_dir is None:
        return _missing("behaviour", "etalon_dir")
    cases = folder_cases(branch.kit.benchmark.path(entry.etalon_dir))
    suite = Suite(branch.kit, branch.mirror, cases, branch.run_id, dict(branch.overlay), place=branch.place,
                  baseline=branch.baseline)  # fmt: skip
    result = suite.run(branch.head)
    passed = result.ended == "green" and set(result.executed or entry.etalon_cases) == set(entry.etalon_cases)
    black_box = entry.command(entry.mutations.command).oracle
    return Gate(
        id="behaviour",
        passed=passed,
        evidence={"ended": result.ended, "failed": list(result.failed)},
        evidence_class="black-box" if black_box else "in-process",
    )


def _criterion(branch: Branch, given: Given) -> Gate:
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


GATES: dict[str, Callable[[Branch, Given], Gate]] = {
    "scope": _scope,
    "milestones": _milestones_gate,
    "ci": partial(_command, "ci"),
    "e2e": partial(_command, "e2e"),
    "determinism": _determinism,
    "unit_deleted": _unit_deleted,
    "behaviour": _behaviour,
    "criterion": _criterion,
}
"""In the order in which they are stored and, unless somebody asks for another one, judged."""
