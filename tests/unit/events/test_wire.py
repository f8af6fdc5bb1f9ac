"""Freezes and churn, from ledger lines and looks alone."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from runner.events.churn import changed_lines, returned
from runner.events.freezes import freezes
from runner.schema.ledger import LedgerLine, Usage
from runner.schema.look import Change, Look


def line(second: int, outcome: str, attempt: str = "M01-1", **more: Any) -> LedgerLine:
    facts: dict[str, Any] = {
        "time": f"2026-01-01T00:00:{second:02d}.000Z", "run_id": "r", "attempt": attempt, "seq": second,
        "protocol": "chat", "path": "/", "outcome": outcome, "price_source": "-", "latency_ms": 500.0,
        "request_bytes": 1, "response_bytes": 1,
        "usage": Usage(uncached_input=1, output=1) if outcome == "answered" else None,
    }  # fmt: skip
    return LedgerLine(**(facts | more))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([line(0, "answered"), line(2, "answered")], []),
        ([line(0, "error"), line(4, "error"), line(9, "answered")], [(2, 9_000, True)]),
        ([line(0, "answered"), line(1, "cut"), line(3, "answered")], [(1, 2_000, True)]),
        ([line(0, "error"), line(4, "error")], [(2, 4_500, False)]),
        ([line(0, "error", context=True), line(5, "answered")], []),
        ([line(0, "refused"), line(5, "answered")], []),
        ([line(0, "error"), line(5, "answered", attempt="M01-2")], [(1, 500, False)]),
        ([line(0, "error", protocol="models"), line(5, "answered")], []),
        ([line(0, "error"), line(2, "answered", ours=True), line(5, "answered")], [(1, 5_000, True)]),
        ([line(5, "answered"), line(0, "error")], [(1, 5_000, True)]),  # written as they end, told as they began
    ],
)
def test_a_freeze_is_from_the_first_failure_to_the_answer(
    lines: list[LedgerLine], expected: list[tuple[int, float, bool]]
) -> None:
    assert [(f.requests, f.lost_ms, f.recovered) for f in freezes(lines)] == expected


def test_a_freeze_is_named_by_its_first_failure() -> None:
    (named,) = freezes([line(0, "error", fault="HTTP 529"), line(1, "cut"), line(5, "answered")])
    (bare,) = freezes([line(0, "cut"), line(5, "answered")])
    assert (named.reason, named.line, bare.reason) == ("HTTP 529", 1, "cut")


def looks(*contents: str | None) -> list[Look]:
    found = []
    for before, content in pairwise(contents):
        change = Change(path="a", before=before, content=content, added=1, taken=1)
        found.append(Look(at="2026-01-01T00:00:00.000Z", attempt="M01-1", requests=1, tree="t", paths=1, lines=2,
                          changes=[change], took_ms=1.0))  # fmt: skip
    return found


@pytest.mark.parametrize(
    ("contents", "times"),
    [("abc", 0), ("aba", 1), ("abab", 2), ("abcb", 1), (["x", None, "x"], 1), ([None, "x", None], 1)],
)
def test_a_content_that_was_left_and_comes_back_is_counted(contents: list[str | None], times: int) -> None:
    assert returned(looks(*contents)) == times
    assert changed_lines(looks(*contents)) == 2 * (len(contents) - 1)


def test_what_one_path_left_is_nothing_that_another_returns_to() -> None:
    (first,) = looks("x", "y")
    moved = Change(path="b", before=None, content="x", added=1, taken=0)
    assert returned([first, first.model_copy(update={"changes": [moved]})]) == 0
