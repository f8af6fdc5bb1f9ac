"""The brief tells what a pass takes, before the first attempt."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.registry.benchmark import load_benchmark
from runner.repo import Mirror
from runner.sprint.brief import write_brief

SUPPORT = Path(__file__).parents[2] / "support"


@pytest.mark.parametrize(("name", "told"), [("hostile", True), ("mini", False)])
def test_who_judges_own_tests_says_so(tmp_path: Path, name: str, told: bool) -> None:
    benchmark = load_benchmark(SUPPORT / name / "index.md", name)
    mirror, baseline = Mirror.create(tmp_path / "mirror.git", benchmark.source, benchmark.entry.baseline)
    brief = write_brief(benchmark, mirror, baseline, "work", benchmark.entry.milestones[0], 1, "")
    assert ("Its exit code alone does not count" in brief) is told
    assert "\n\n\n\n" not in brief
