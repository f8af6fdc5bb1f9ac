"""Rows counted by arm: what was sent decides, not what was asked for."""

from __future__ import annotations

from typing import Any

from runner.report.lookup import arms_of
from runner.schema.arm import Arm
from runner.schema.history import HistoryRecord


def row(effort: str, sent: str | None, outcome: str = "pass", model: str = "m", **more: Any) -> HistoryRecord:
    arm = Arm(provider="openrouter", model=model, harness="pi", harness_version="1.0.0", effort=effort)
    wire = arm.model_copy(update={"effort": sent}).arm_id if sent else None
    facts: dict[str, Any] = {
        "seq": 1, "prev": "", "run_id": "r", "benchmark": "b", "benchmark_hash": "h", "series": "s", "arm": arm,
        "arm_id": arm.arm_id, "wire_arm_id": wire, "sample": 1, "outcome": outcome, "cause": None, "manifest": "m",
        "cells": {},
    }  # fmt: skip
    return HistoryRecord(**(facts | more))


def test_two_levels_that_send_the_same_are_counted_together() -> None:
    rows = [row("high", "high"), row("xhigh", "high", "fail@M01"), row("low", "low"), row("high", "high", model="n")]
    high, low, other = arms_of(rows)
    assert (high["effort"], high["passed"], high["arm"]) == ("high = xhigh", "1/2", rows[0].arm_id)
    assert (low["effort"], low["passed"]) == ("low", "1/1")
    assert (other["model"], other["passed"]) == ("openrouter/n", "1/1")


def test_a_run_that_sent_nothing_counts_with_what_it_asked_for() -> None:
    """An invalid run, or a row from before anybody looked at the wire."""
    (arm,) = arms_of([row("max", None, "invalid"), row("max", "budget_tokens=31999"), row("max", None)])
    assert (arm["passed"], arm["invalid"], arm["effort"]) == ("2/2", 1, "max")
    assert arm["sent"] == row("max", "budget_tokens=31999").wire_arm_id


def test_what_was_sent_on_one_benchmark_says_nothing_of_another() -> None:
    known = [row("high", "high"), row("xhigh", "high")]
    other = [row("high", None, benchmark="c"), row("xhigh", None, benchmark="c"), row("high", "high", benchmark="c")]
    assert [(arm["benchmark"], arm["effort"], arm["passed"]) for arm in arms_of([*known, *other])] == [
        ("b", "high = xhigh", "2/2"), ("c", "high", "2/2"), ("c", "xhigh", "1/1")
    ]  # fmt: skip


def test_what_was_sent_is_told_though_the_first_row_does_not_know_it_and_published_rows_are_arms_of_their_own() -> None:
    first, second = row("max", None, "invalid"), row("max", "high", cells={"effort": "max -> high"})
    own, foreign = arms_of([first, second, row("max", None, provenance="published_document")])
    assert own["sent"] == second.wire_arm_id
    assert own["effort"] == "max = max -> high"
    assert (own["source"], foreign["source"], foreign["passed"]) == ("here", "published", "1/1")


def test_one_level_that_was_sent_in_two_ways_is_two_arms() -> None:
    arms = arms_of([row("max", "high"), row("max", "max")])
    assert [arm["effort"] for arm in arms] == ["max", "max"]
    assert arms[0]["arm"] == arms[1]["arm"]
    assert arms[0]["sent"] != arms[1]["sent"]


def test_another_benchmark_and_what_was_published_elsewhere_are_apart() -> None:
    elsewhere = row("high", None, provenance="published_document", citation="rows.md, line 1")
    arms = arms_of([row("high", "high"), elsewhere, row("high", "high", benchmark="c"), row("high", "high")])
    assert [(arm["benchmark"], arm["passed"], arm["sent"] == "-") for arm in arms] == [
        ("b", "2/2", False), ("c", "1/1", False), ("b", "1/1", True),
    ]  # fmt: skip
    assert arms[0]["source"] != arms[2]["source"]


def test_an_arm_is_listed_by_what_came_of_its_effort() -> None:
    cells = {"effort": "max (log high, wire high)"}
    assert arms_of([row("max", "high", cells=cells)])[0]["effort"] == "max (log high, wire high)"
