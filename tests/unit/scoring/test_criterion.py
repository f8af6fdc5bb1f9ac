"""A criterion that executes nothing: whose doing it is, the baseline tells."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from runner.lab.check import Check, CheckResult
from runner.lab.kit import Kit
from runner.registry.benchmark import load_benchmark
from runner.repo import Mirror
from runner.sandbox.engine import Engine
from runner.schema.entry import Command, Criterion
from runner.scoring.branch import Branch
from runner.scoring.criterion import counted_share, judge_criterion

MINI = Path(__file__).parents[2] / "support" / "mini"
GREEN = b"<testsuite><testcase name='a'/></testsuite>"
CRITERION = Criterion(command=Command(argv=["x"]), dir="etalon", report="/out/x.xml", counted=["a"])


def result(report: bytes | None, code: int = 0) -> CheckResult:
    return CheckResult(code, False, False, 1.0, b"", b"", report=report)


@pytest.mark.parametrize(
    ("on_branch", "on_baseline", "passed", "runs"),
    [
        ([GREEN, GREEN], [], [True, True], 2),
        ([None, GREEN, GREEN], [], [True, True], 3),  # once more, and it works
        ([None, GREEN, None], [GREEN], [False, True], 4),  # the branch makes it impossible
        ([None, GREEN, None], [None], [None, True], 4),  # the rig cannot do it at all
    ],
)
def test_whose_doing_it_is(
    tmp_path: Path,
    on_branch: list[bytes | None],
    on_baseline: list[bytes | None],
    passed: list[bool | None],
    runs: int,
) -> None:
    benchmark = load_benchmark(MINI / "index.md", "mini")
    benchmark = replace(benchmark, entry=benchmark.entry.model_copy(update={"criterion": CRITERION}))
    mirror, baseline = Mirror.create(tmp_path / "mirror.git", benchmark.source, benchmark.entry.baseline)
    head = mirror.commit_tree(mirror.git("rev-parse", f"{baseline}^{{tree}}").decode().strip(), baseline, "work")
    seen: list[Check] = []

    def place(check: Check) -> CheckResult:
        seen.append(check)
        report = (on_baseline if check.commit == baseline else on_branch).pop(0)
        return result(report, 0 if report else 1)

    kit = Kit(cast(Engine, None), benchmark, {}, threading.Event())
    branch = Branch(kit, mirror, baseline, head, "unit", tmp_path, place)
    verdicts = judge_criterion(branch, 2)
    assert [v.passed for v in verdicts] == passed
    assert len(seen) == runs
    assert len({(check.commit, check.repeat) for check in seen}) == runs  # nothing is answered from memory
    if False in passed:
        assert counted_share(CRITERION, verdicts) == 0.0
