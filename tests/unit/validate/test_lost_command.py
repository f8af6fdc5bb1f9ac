"""A branch that takes away a command which the baseline has loses what the command decides; the rig has not failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.lab.check import NotThere
from runner.schema.score import Gate
from runner.scoring.gates import measure_gates
from runner.scoring.layers import measure_corpus
from runner.validate.bench import Bench
from tests.unit.validate.conftest import Opened

TOOLS = {"tools/verify.sh": "the command", "tools": "its folder"}


def own_command(home: Path, **more: str) -> None:
    """The command of the corpus is a script that the branch may change."""
    index = home / "index.md"
    text = index.read_text().replace('["cases/*.txtar"]', '["**"]').replace('protected: ["tools/**"]', "protected: []")
    text = text.replace("cases: {argv: [python3, tools/run_cases.py],", "cases: {argv: [tools/verify.sh],")
    for old, new in more.items():
        text = text.replace(f"{old}: reference,", f"{old}: {new},")
    index.write_text(text)


def without(bench: Bench, path: str) -> str:
    mirror = bench.mirror
    gone = {f.path: None for f in mirror.tree(bench.baseline) if (f.path + b"/").startswith(path.encode() + b"/")}
    return mirror.overlaid(bench.baseline, gone, "took it away")


def behaviour(bench: Bench, commit: str) -> Gate:
    (gate,) = measure_gates(bench.branch(commit), None, lambda gate: None, ["behaviour"]).gates
    return gate


@pytest.mark.parametrize("path", TOOLS, ids=TOOLS.get)
def test_the_etalon_cannot_be_run_on_what_is_left(home: Path, opened: Opened, path: str) -> None:
    own_command(home)
    bench = opened()
    gate = behaviour(bench, without(bench, path))
    assert gate.passed is False
    assert gate.evidence == {"ended": "no-tests", "failed": []}
    assert behaviour(bench, bench.baseline).passed


def test_a_command_that_the_baseline_does_not_have_either_is_the_rigs_failure(home: Path, opened: Opened) -> None:
    own_command(home)
    index = home / "index.md"
    index.write_text(index.read_text().replace("cases: {argv: [tools/verify.sh]", "cases: {argv: [tools/other.sh]"))
    bench = opened()
    with pytest.raises(NotThere, match=r"tools/other\.sh cannot be started"):
        behaviour(bench, without(bench, "tools/verify.sh"))


def test_a_corpus_that_nothing_runs_any_more_kills_nothing(home: Path, opened: Opened) -> None:
    own_command(home, target="branch")
    bench = opened()
    result = measure_corpus(bench.branch(without(bench, "tools/verify.sh")), lambda line: None, 1)
    assert result is not None
    assert result.corpus.mutation == (0, 3)
    assert result.corpus.unusable == "the corpus is not green on the frozen program: no-tests"


def test_a_frozen_program_without_the_command_is_no_branchs_doing(home: Path, opened: Opened) -> None:
    own_command(home)
    lines = (home / "program/tools/verify.sh").read_text().splitlines(keepends=True)
    with (home / "reference" / "M01.patch").open("a") as reference:
        reference.write(f"--- a/tools/verify.sh\n+++ /dev/null\n@@ -1,{len(lines)} +0,0 @@\n-{'-'.join(lines)}")
    bench = opened()
    with pytest.raises(NotThere):
        measure_corpus(bench.branch(bench.baseline), lambda line: None, 1)
