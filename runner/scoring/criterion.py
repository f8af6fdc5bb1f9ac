"""The hidden success criterion: it drives the candidate's real interface on a fresh server and a fresh database.

Repeats on one commit measure the noise of the product; they are no samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from runner.errors import RigError
from runner.lab.check import Check
from runner.schema.entry import Criterion
from runner.scoring.branch import Branch
from runner.scoring.junit import read_junit


@dataclass(frozen=True)
class Verdict:
    """One repeat. ``passed`` null: the criterion itself could not be carried out, for ``detail``."""

    number: int
    passed: bool | None
    failed: tuple[str, ...]
    executed: tuple[str, ...]
    detail: str


def judge_criterion(branch: Branch, repeats: int | None = None) -> list[Verdict]:
    """Run the criterion ``repeats`` times (default: the branch's, or the registry's), each on a fresh database."""
    wanted = repeats or branch.repeats or branch.kit.benchmark.entry.criterion_repeats
    return [_judge(branch, number) for number in range(1, wanted + 1)]


def counted_share(criterion: Criterion, verdicts: Sequence[Verdict]) -> float:
    """The part of the counted cases that pass in every repeat; without such a list, of the repeats that pass."""
    if not criterion.counted:
        return sum(v.passed is True for v in verdicts) / len(verdicts)
    failed = {name for v in verdicts for name in v.failed}
    standing = [c for c in criterion.counted if c not in failed and all(c in v.executed for v in verdicts)]
    return len(standing) / len(criterion.counted)


def _judge(branch: Branch, number: int) -> Verdict:
    benchmark = branch.kit.benchmark
    criterion = benchmark.entry.criterion
    if criterion is None:
        raise RigError(f"{benchmark.id} has no criterion")
    check = Check(
        branch.head,
        criterion.command,
        output=branch.output / f"criterion-{number}",
        report=criterion.report,
        evidence=criterion.evidence,
        oracle_dir=benchmark.path(criterion.dir),
        image="criterion" if criterion.image else "benchmark",
        repeat=number,
    )
    result = branch.judge(check)
    report = read_junit(result.report)
    verdict = Verdict(number, result.passed, tuple(sorted(report.failed)), tuple(sorted(report.executed)), result.why())
    if criterion.report is None:
        return verdict
    if not report.executed and not result.timed_out and not result.oom:
        return replace(verdict, passed=None, detail=f"it executed nothing ({result.why()})")
    return replace(verdict, passed=result.passed and not report.failed)
