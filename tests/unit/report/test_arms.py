"""Rows counted by arm: what was sent decides, not what was asked for."""

from __future__ import annotations

from typing import Any

from runner.report.lookup import arms_of
from runner.schema.arm import Arm
from runner.schema.history import HistoryRecord


def row(
    effort: str, sent: str | None, outcome: str = "pass", model: str = "m", benchmark: str = "b", **more: Any
) -> HistoryRecord:
    arm = Arm(provider="openrouter", model=model, harness="pi", harness_version="1.0.0", effort=effort)
    wire = arm.model_copy(update={"effort": sent}).arm_id if sent else None
    return HistoryRecord(
        seq=1, prev="", run_id="r", benchmark=benchmark, benchmark_hash="h", series="s", arm=arm, arm_id=arm.arm_id,
        wire_arm_id=wire, sample=1, outcome=outcome, cause=None, manifest="m", **({"cells": {}} | more),
    )  # fmt: skip


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
