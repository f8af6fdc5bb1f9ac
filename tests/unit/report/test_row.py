"""The row: three scores that are never mixed, nothing for a run that did not pass, and why a number is missing."""

from __future__ import annotations

import pytest

from runner.report.row import row
from runner.schema.cell import Cell
from runner.schema.run import RunResult
from runner.schema.score import Composite
from tests.unit.report.test_unrecorded import result


def composite(value: float | None, available: float = 85) -> Composite:
    return Composite(value=value, earned=0, available=available, total=100, reason=None if value is not None else "x")


def scored(outcome: str, review: Cell) -> RunResult:
    update = {"code": composite(96.28), "agentic": composite(80.0), "review": review}
    return result(outcome=outcome).model_copy(update=update)


def cells(found: RunResult) -> tuple[str, ...]:
    written = row(found, report="r", series="s" * 64)
    return tuple(written[name] for name in ("code", "agentic", "review", "available"))


def test_a_run_that_passed_shows_each_score_by_itself() -> None:
    assert cells(scored("pass", Cell.of(4.125, "2 reviewers"))) == ("96.3", "80.0", "4.13", "85/100")
    assert cells(scored("pass", Cell.of(4.0, "2 reviewers")))[2] == "4.0"


@pytest.mark.parametrize("outcome", ["fail@M01", "invalid", "cancelled"])
def test_a_run_that_did_not_pass_has_no_score_whatever_was_computed(outcome: str) -> None:
    assert cells(scored(outcome, Cell.of(5.0, "2 reviewers"))) == ("-", "-", "-", "-")
    assert row(scored(outcome, Cell.none("x")), report="r", series="s")["diff"] == "3"  # its footprint stays


def test_a_row_is_dated_to_the_minute() -> None:
    found = scored("pass", Cell.none("x")).model_copy(update={"started_at": "2026-08-14T18:39:59.999Z"})
    assert row(found, report="r", series="s")["date"] == "2026-08-14 18:39"


def test_pending_is_not_the_same_as_not_measured() -> None:
    assert cells(scored("pass", Cell.none("pending: no reviewer has graded it yet")))[2] == "pending"
    assert cells(scored("pass", Cell.none("1 of 2 reviews are valid")))[2] == "-"
    assert cells(scored("fail@M02", Cell.none("pending: x")))[2] == "-"
