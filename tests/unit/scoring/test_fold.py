"""What is missing, and why, decides what it costs."""

from __future__ import annotations

from runner.schema.score import Component
from runner.scoring.fold import compose


def part(name: str, weight: float, earned: float | None) -> Component:
    return Component(id=name, weight=weight, earned=earned, arithmetic="", reason=None if earned is not None else "rig")


def test_points_are_rounded_before_they_are_summed() -> None:
    # published run 20260917-040329: gates 40, mutation 25, recall 13.235, four channel 9.706, gaps 3.333, wildcard 5
    parts = [part("gates", 40, 40), part("mutation", 25, 25), part("recall", 15, 15 * 30 / 34),
             part("four_channel", 10, 10 * 33 / 34), part("gaps", 5, 5 * 2 / 3), part("wildcard", 5, 5)]  # fmt: skip
    assert compose(parts, "seed-1").value == 96.28


def test_what_the_rig_could_not_measure_leaves_the_denominator_and_is_named() -> None:
    folded = compose([part("a", 60, 30), part("b", 40, None)], "seed-1")
    assert (folded.value, folded.available, folded.total) == (50.0, 60, 100)
    assert folded.excluded == ["b: rig"]


def test_nothing_measured_is_no_number() -> None:
    folded = compose([part("a", 40, None)], "seed-1")
    assert folded.value is None
    assert folded.reason


def test_a_good_score_on_the_easy_part_alone_is_no_number_in_ours() -> None:
    parts = [part("gates", 40, 40), part("corpus", 60, None)]
    assert compose(parts, "seed-1").value == 100
    assert compose(parts, "runner-1").value is None
    assert "only 40 of 100" in (compose(parts, "runner-1").reason or "")
