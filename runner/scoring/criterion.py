"""The hidden success criterion: it drives the candidate's real interface on a fresh server and a fresh database.

Repeats on one commit measure the noise of the product; they are no samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from runner.errors import RigError
from runner.lab.check import Check
from runner.lab.junit import read_junit
from runner.schema.entry import Criterion
from runner.scoring.branch import Branch


@dataclass(frozen=True)
class Verdict:
    """One repeat. ``passed`` null: the criterion itself could not be carried out, for ``detail``."""

    number: int
    passed: bool | None
    failed: tuple[str, ...]
    executed: tuple[str, ...]
    detail: str


def judge_criterion(branch: Branch, repeats: int | None = None) -> list[Verdict]:
    """Run the criterion ``repeats`` times (default: the branch's, or the registry's), each on a fresh database.

    One that executes nothing is run again. Where it still does not, and does on the baseline, the branch made it
    impossible, and it counts as failed; where it does not on the baseline either, the rig failed.
    """
    wanted = repeats or branch.repeats or branch.kit.benchmark.entry.criterion_repeats
    verdicts = [_judge(branch, number) for number in range(1, wanted + 1)]
    verdicts = [_judge(branch, v.number, again=True) if v.passed is None else v for v in verdicts]
    if all(v.passed is not None for v in verdicts) or branch.head == branch.baseline:
        return verdicts
    if _judge(replace(branch, head=branch.baseline), wanted + 1).passed is None:
        return verdicts
    return [replace(v, passed=False) if v.passed is None else v for v in verdicts]


def counted_share(criterion: Criterion, verdicts: Sequence[Verdict]) -> float:
    """The part of the counted cases that pass in every repeat; without such a list, of the repeats that pass."""
    if not criterion.counted:
        return sum(v.passed is True for v in verdicts) / len(verdicts)
    failed = {name for v in verdicts for name in v.failed}
    standing = [c for c in criterion.counted if c not in failed and all(c in v.executed for v in verdicts)]
    return len(standing) / len(criterion.counted)


def _judge(branch: Branch, number: int, *, again: bool = False) -> Verdict:
    benchmark = branch.kit.benchmark
    criterion = benchmark.entry.criterion
    if criterion is None:
        raise RigError(f"{benchmark.id} has no criterion")
    check = Check(
        branch.head,
        criterion.command,
        output=branch.output / f"criterion-{number}{'-again' if again else ''}",
        report=criterion.report,
        evidence=criterion.evidence,
        oracle_dir=benchmark.path(criterion.dir),
        image="criterion" if criterion.image else "benchmark",
        repeat=-number if again else number,
    )
    result = branch.judge(check)
    report = read_junit(result.report)
    verdict = Verdict(number, result.passed, tuple(sorted(report.failed)), tuple(sorted(report.executed)), result.why())
    if criterion.report is None:
        return verdict
    if not report.executed and not result.timed_out and not result.oom:
        return replace(verdict, passed=None, detail=f"it executed nothing ({result.why()})")
    return replace(verdict, passed=result.passed and not report.failed)
