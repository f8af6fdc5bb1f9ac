"""The layer ``process`` of a run, and the composite ``agentic`` made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.events.segments import Segment, of_log
from runner.harness.trace import Answer, Trace
from runner.schema.entry import Entry
from runner.schema.score import Score
from runner.scoring.agentic import agentic_components
from runner.scoring.fold import compose
from runner.scoring.process import Churn, look_at, measure_process
from tests.support.seedlog import Pi, log, stored

WEIGHTS = {"agentic": {"attempts": 30, "rebaseline": 20, "tool_discipline": 30, "churn": 20}}


def entry(formula: str = "seed-1", **process: object) -> Entry:
    patterns = {"rebaseline_pattern": "--update", "e2e_pattern": "make e2e"}
    return Entry.model_validate(
        {"id": "b", "source_repo": ".", "baseline": "x", "plan": "p", "scope_allowlist": [], "formula": formula,
         "commands": {"ci": {"argv": ["true"]}}, "weights": WEIGHTS, "process": {**patterns, **process}}
    )  # fmt: skip


def measured(
    tmp_path: Path, benchmark: Entry, *events: str, diff: int | None = 10, churn: Churn | None = None
) -> Score:
    segments = of_log(log(tmp_path / "x.ndjson", *(("M01", text) for text in events)))
    return measure_process(look_at(segments, benchmark.process), len(events), 1, diff, churn)


def earned(benchmark: Entry, score: Score | None, outcome: str = "pass") -> dict[str, float | None]:
    return {
        c.id.removeprefix("agentic."): c.earned
        for c in agentic_components(benchmark, score.figures if score else None, outcome, "why")
    }


def pushing(lines: int) -> Pi:
    return Pi().call("write", {"path": "a", "content": "x\n" * lines})


def test_a_clean_run_earns_everything(tmp_path: Path) -> None:
    pi = pushing(10).call("bash", {"command": "make e2e"}, "3 passed")
    assert earned(entry(), measured(tmp_path, entry(), pi.end().text)) == {
        "attempts": 30, "rebaseline": 20, "tool_discipline": 30, "churn": 20,
    }  # fmt: skip


def test_each_fine_is_the_published_one(tmp_path: Path) -> None:
    pi = pushing(25).call("bash", {"command": "make e2e --update"})
    for _ in range(3):
        pi.call("bash", {"command": "ls"})
    pi.call("nope", {}, "Tool nope not found", error=True)
    score = measured(tmp_path, entry(), pi.end("length").text, Pi().call("bash", {"command": "ls"}).end().text)
    found = earned(entry(), score)
    assert found["attempts"] == 30 - 10  # one retry
    assert found["rebaseline"] == 20 - 10
    assert found["tool_discipline"] == 30 - 2 - 5 - 10
    assert found["churn"] == pytest.approx(20 * (4.0 - 2.5) / (4.0 - 1.5))
    assert earned(entry(), score, "fail@M01")["attempts"] == 0


def test_nothing_measured_is_never_full_marks(tmp_path: Path) -> None:
    silent = measured(tmp_path, entry(), Pi().end().text, diff=33)
    found = earned(entry(), silent)
    assert (found["tool_discipline"], found["churn"]) == (None, None)
    composite = compose(agentic_components(entry(), silent.figures, "pass", "why"), "seed-1")
    assert (composite.available, composite.total) == (30, 100)
    assert "agentic.churn: no line went through an edit tool" in composite.excluded
    assert earned(entry(), None) == dict.fromkeys(WEIGHTS["agentic"])


def test_a_log_that_cannot_be_read_is_no_clean_profile(tmp_path: Path) -> None:
    segments = [
        *of_log(log(tmp_path / "x.ndjson", ("M01", stored("pi", "happy")))),
        Segment("M02", 1, "x", None, "torn"),
    ]
    score = measure_process(look_at(segments, entry().process), 2, 2, 10, None)
    assert score.reason == "the log of M02-1 could not be read: torn"
    assert {score.figures[name].value for name in ("tool_calls", "malformed", "loops", "context_deaths")} == {None}
    assert earned(entry(), score)["tool_discipline"] is None
    assert earned(entry(), score)["attempts"] == 30  # that is the runner's own knowledge


def test_ours_takes_snapshots_and_the_second_rebaseline(tmp_path: Path) -> None:
    pi = pushing(100).call("bash", {"command": "make e2e"}, "1 failed").call("bash", {"command": "make e2e --update"})
    churn = Churn(changed_lines=15, diff_lines=10, snapshots=4, returned=2)
    ours = entry("runner-1")
    score = measured(tmp_path, ours, pi.end().text, churn=churn)
    assert (earned(ours, score)["churn"], earned(ours, score)["rebaseline"]) == (20, 20)
    assert (earned(entry(), score)["churn"], earned(entry(), score)["rebaseline"]) == (0, 10)
    assert score.figures["returned_contents"].value == 2
    assert "within one harness only" in (score.figures["longest_run"].source or "")


def test_without_patterns_a_blind_rebaseline_is_not_measured(tmp_path: Path) -> None:
    plain = entry(rebaseline_pattern=None)
    assert earned(plain, measured(tmp_path, plain, pushing(5).end().text))["rebaseline"] is None


@pytest.mark.parametrize(
    ("logged", "on_wire", "unlogged"),
    [
        (["a", "b"], ["a", "b"], 0),
        (["a", "b"], ["a", "b", "title"], 1),
        (["a", "b", "c"], ["a"], 0),
        (["the-same"] * 2, ["the-same"] * 5, 3),  # of a server that has one id for all
        ([None], ["a"], None),
        (["a"], [], None),
    ],
)
def test_answers_that_no_log_tells_of_are_counted(
    logged: list[str | None], on_wire: list[str], unlogged: int | None
) -> None:
    trace = Trace("pi/3", [Answer(file="x", line=n, whole=True, response_id=i) for n, i in enumerate(logged, 1)])
    work = look_at([Segment("M01", 1, "x", trace)], entry().process)
    assert measure_process(work, 1, 1, 10, None, on_wire).figures["unlogged_answers"].value == unlogged
