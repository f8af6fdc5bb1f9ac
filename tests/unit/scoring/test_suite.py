"""A verdict needs named cases and the exit code to agree; "no tests" is neither a pass nor a kill."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from runner.errors import RigError
from runner.lab.check import CheckResult
from runner.lab.junit import read_junit
from runner.schema.entry import Mutations
from runner.scoring.mutations import Mutant, Sweep, Sweeper
from runner.scoring.patches import Patch
from runner.scoring.suite import SuiteResult, judge

WITH_REPORT = Mutations(command="x", failure_pattern=r"^FAILED (\S+)", report="/out/x.xml")
BY_OUTPUT = Mutations(command="x", failure_pattern=r"^FAILED\s+(\S+\.txtar)")


def result(
    code: int | None, *, report: str | None = None, out: str = "", timed_out: bool = False, oom: bool = False
) -> CheckResult:
    return CheckResult(code, timed_out, oom, 1.0, out.encode(), b"", report=report.encode() if report else None)


def junit(*cases: tuple[str, str]) -> str:
    inner = "".join(f'<testcase name="{name}">{f"<{kind}/>" if kind else ""}</testcase>' for name, kind in cases)
    return f'<testsuite name="s">{inner}</testsuite>'


@pytest.mark.parametrize(
    ("code", "report", "ended", "failed"),
    [
        (0, junit(("a", ""), ("b", "")), "green", ()),
        (1, junit(("a", "failure"), ("b", "")), "red", ("a",)),
        (1, junit(("a", "error")), "red", ("a",)),
        (0, junit(("a", "failure")), "invalid", ("a",)),
        (1, junit(("a", "")), "invalid", ()),
        (0, junit(), "no-tests", ()),
        (0, junit(("a", "skipped")), "no-tests", ()),
        (0, None, "no-tests", ()),
        (0, "<not xml", "no-tests", ()),
        (5, None, "no-tests", ()),
        (139, None, "no-tests", ()),
    ],
)
def test_with_a_report(code: int, report: str | None, ended: str, failed: tuple[str, ...]) -> None:
    judged = judge(result(code, report=report), WITH_REPORT)
    assert (judged.ended, judged.failed) == (ended, failed)


def test_several_suites_are_summed_and_nested_ones_too() -> None:
    report = read_junit(
        b"<testsuites><testsuite><testcase name='a'/><testsuite><testcase name='b'><failure/></testcase></testsuite>"
        b"</testsuite><testsuite><testcase name='c'/></testsuite></testsuites>"
    )
    assert (report.executed, report.failed) == ({"a", "b", "c"}, {"b"})


def test_by_output_a_failure_without_a_name_is_no_kill() -> None:
    assert judge(result(1, out="FAILED a.txtar: x\nFAILED b.txtar\n"), BY_OUTPUT).failed == ("a.txtar", "b.txtar")
    assert judge(result(4, out="error: bad path"), BY_OUTPUT).ended == "invalid"
    assert judge(result(0), BY_OUTPUT).ended == "green"


@pytest.mark.parametrize(
    ("pattern", "out", "failed"),
    [
        (r"^FAILED \S+", "FAILED a.txtar: x", ("FAILED a.txtar:",)),
        (r"^FAILED (\S+)(::\S+)?", "FAILED a::b c\nFAILED d", ("a::b", "d")),
        (r"^FAILED (.*)", "FAILED a\x9b|\u2028b", ("a\\x9b|\\x2028b",)),
        (r"^FAILED(?: (\S+))?", "FAILED\nFAILED a", ("", "a")),
    ],
    ids=["whole match", "first of several groups", "escaped", "one without a name"],
)
def test_what_the_pattern_names(pattern: str, out: str, failed: tuple[str, ...]) -> None:
    judged = judge(result(1, out=out), BY_OUTPUT.model_copy(update={"failure_pattern": pattern}))
    assert (judged.ended, judged.failed) == ("red", failed)


def test_a_failure_whose_name_is_empty_is_no_kill() -> None:
    by_output = BY_OUTPUT.model_copy(update={"failure_pattern": r"^FAILED(?: (\S+))?"})
    assert judge(result(1, out="FAILED\n"), by_output).ended == "invalid"
    assert judge(result(1, report=junit(("", "failure"), ("a", ""))), WITH_REPORT).ended == "invalid"
    assert judge(result(0, report=junit(("", "failure"), ("a", ""))), WITH_REPORT).ended == "invalid"


def test_time_and_memory() -> None:
    assert judge(result(None, timed_out=True), BY_OUTPUT).ended == "timeout"
    assert judge(result(137, oom=True, out="FAILED a\n"), BY_OUTPUT).ended == "invalid"


GREEN, RED = SuiteResult("green"), SuiteResult("red", ("a",))
KILLED = (Mutant("m1", "killed", ("a",)), Mutant("m2", "survived"))


def test_kills_count_only_under_green_controls_and_quiet_placebos() -> None:
    assert Sweep(GREEN, GREEN, KILLED).killed == 1
    assert Sweep(RED, None, KILLED).killed == 0
    assert Sweep(GREEN, RED, KILLED).killed == 0
    assert Sweep(GREEN, GREEN, KILLED, (Mutant("p", "killed", ("a",)),)).killed == 0
    assert Sweep(GREEN, GREEN, KILLED, (), {"the frozen baseline": RED}).killed == 0
    assert "flaky" in (Sweep(GREEN, RED, KILLED).unusable or "")
    assert "change no behaviour: p" in (Sweep(GREEN, GREEN, (), (Mutant("p", "killed"),)).unusable or "")
    assert Sweep(SuiteResult("no-tests"), None, ()).unusable


class Coin:
    """A suite that gives one result after the other for a program, as a flaky corpus does."""

    def __init__(self, **results: Sequence[SuiteResult]) -> None:
        self.results = {program: list(given) for program, given in results.items()}
        self.ran: list[str] = []
        self.mirror: Any = None

    def run(self, program: str, *, first_kill: bool = False, repeat: int = 0) -> SuiteResult:
        self.ran.append(program)
        return self.results[program].pop(0)


def sweeper(frozen: Sequence[SuiteResult], patched: Sequence[SuiteResult] = ()) -> Sweeper:
    suite: Any = Coin(frozen=frozen, patched=patched)
    return Sweeper(suite, "frozen", False, 1, lambda line: None)


def test_a_red_control_is_run_again_to_tell_red_from_flaky() -> None:
    assert "is flaky: on the frozen program first red, then green" in (
        sweeper([RED, GREEN]).sweep([], [], {}).unusable or ""
    )
    assert "not green on the frozen program: red (a)" in (sweeper([RED, RED]).sweep([], [], {}).unusable or "")
    assert "is flaky: green before" in (sweeper([GREEN, RED, RED]).sweep([], [], {}).unusable or "")


def test_a_bitten_placebo_is_run_again_to_tell_guessing_from_flaky(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.scoring.mutations.mutant", lambda *_: "patched")
    monkeypatch.setattr(Patch, "content", lambda self: b"")
    placebo = [Patch("renamed", Path("renamed.patch"))]
    flaky = sweeper([GREEN, GREEN], [RED, GREEN]).sweep([], placebo, {})
    assert "is flaky: on renamed, which changes no behaviour" in (flaky.unusable or "")
    assert flaky.killed == 0
    guessing = sweeper([GREEN, GREEN], [RED, RED]).sweep([], placebo, {})
    assert "change no behaviour: renamed" in (guessing.unusable or "")


def test_nothing_is_run_on_a_mutant_of_a_program_whose_control_is_red(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.scoring.mutations.mutant", lambda *_: "patched")
    monkeypatch.setattr(Patch, "content", lambda self: b"")
    swept = sweeper([RED, RED], [RED])
    assert swept.sweep([Patch("fault", Path("fault.patch"))], [], {}).mutants == ()
    assert "patched" not in cast(Coin, swept.suite).ran


def test_the_control_after_a_sweep_is_begun_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.scoring.mutations.mutant", lambda *_: "patched")
    monkeypatch.setattr(Patch, "content", lambda self: b"")
    swept = replace(sweeper([GREEN, GREEN], [GREEN] * 3), side_by_side=0)
    patches = [Patch(name, Path(f"{name}.patch")) for name in ("one", "two")]
    found = swept.sweep(patches, patches[:1], {})
    assert [m.verdict for m in found.mutants] == ["survived", "survived"]
    assert cast(Coin, swept.suite).ran == ["frozen", "patched", "patched", "patched", "frozen"]


def test_once_a_placebo_bites_no_mutant_is_begun_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which placebos bite is still found for all of them: what is stored hangs on no order."""
    monkeypatch.setattr("runner.scoring.mutations.mutant", lambda mirror, program, patch: patch.name)
    placebos, faults = ([Patch(f"{kind}{n}", Path()) for n in range(count)] for kind, count in (("p", 3), ("f", 200)))

    class Guesses:
        mirror, ran = None, 0

        def run(self, program: str, **more: object) -> SuiteResult:
            self.ran += 1
            return GREEN if program == "frozen" else RED

    ran = []
    for _ in range(20):
        suite: Any = Guesses()
        found = Sweeper(suite, "frozen", False, 1, lambda line: None).sweep(faults, placebos, {})
        assert (found.bitten, found.killed) == (["p0", "p1", "p2"], 0)
        ran.append(suite.ran)
    assert sum(ran) / len(ran) < 120  # the last of three placebos stands at 150 of 200 on average, the first at 50


class Answers:
    """A suite that runs nothing: ``answer`` says what comes of each program; ``ran``: which were asked about."""

    mirror = None

    def __init__(self, answer: Callable[[str], SuiteResult]) -> None:
        self._answer = answer
        self.ran: list[str] = []

    def run(self, program: str, **more: object) -> SuiteResult:
        self.ran.append(program)
        return self._answer(program)


@pytest.mark.parametrize("verdict", ["red", "timeout", "invalid"])
def test_after_a_bite_the_control_is_not_run_again(monkeypatch: pytest.MonkeyPatch, verdict: Any) -> None:
    monkeypatch.setattr("runner.scoring.mutations.mutant", lambda mirror, program, patch: patch.name)
    suite: Any = Answers(lambda program: SuiteResult(verdict, ("a",)) if program == "p" else GREEN)
    patches = [Patch(f"f{n}", Path()) for n in range(60)]
    swept = Sweeper(suite, "frozen", False, 0, lambda line: None)
    assert swept.sweep(patches, [Patch("p", Path())], {}).bitten == ["p"]
    assert (suite.ran.count("frozen"), suite.ran[-1]) == (1, "p")


def test_an_error_on_a_placebo_ends_the_sweep_and_is_the_only_thing_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("runner.scoring.mutations.mutant", lambda mirror, program, patch: patch.name)

    def breaks(program: str) -> SuiteResult:
        if program.startswith("p"):
            raise RigError("no engine")
        time.sleep(0.002)
        return GREEN

    suite: Any = Answers(breaks)
    placebos, faults = ([Patch(f"{kind}{n}", Path()) for n in range(count)] for kind, count in (("p", 2), ("f", 100)))
    for _ in range(4):
        with pytest.raises(RigError, match="no engine"):
            Sweeper(suite, "frozen", False, 0, lambda line: None).sweep(faults, placebos, {})
    assert caplog.records == []
    assert len(suite.ran) < 4 * 102  # all of them only if a placebo came last every time


def test_a_corpus_that_counts_its_runs_kills_nothing(tmp_path: Path) -> None:
    """It is green for as long as controls and placebos used to be run, red while mutants were, and green at the end."""
    placebos, faults = ([Patch(f"{kind}{n}", tmp_path) for n in range(count)] for kind, count in (("p", 3), ("f", 20)))

    class Counts:
        mirror, runs = None, 0

        def run(self, program: str, **more: object) -> SuiteResult:
            self.runs += 1
            return GREEN if self.runs <= 4 or self.runs > 24 else RED

    def kills() -> int:
        suite: Any = Counts()
        return Sweeper(suite, "frozen", False, 1, lambda line: None).sweep(faults, placebos, {}).killed

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("runner.scoring.mutations.mutant", lambda mirror, program, patch: patch.name)
        assert sum(kills() > 0 for _ in range(30)) <= 3
