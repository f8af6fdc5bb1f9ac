"""A benchmark is provisional, proven or saturated by what has been measured on it."""

from __future__ import annotations

from runner.report.lookup import arms_of
from runner.report.standing import standing
from runner.schema.arm import Arm
from runner.schema.history import HistoryRecord


def row(
    model: str, code: str = "50.0", outcome: str = "pass", provider: str = "openrouter", *, wire: str | None = None
) -> HistoryRecord:
    arm = Arm(provider=provider, model=model, harness="pi", harness_version="1.0.0")
    return HistoryRecord(
        seq=1, prev="", run_id="r", benchmark="b", benchmark_hash="h", series="s", arm=arm, arm_id=arm.arm_id, sample=1,
        wire_arm_id=wire,
        outcome=outcome, cause=None, manifest="m", cells={"code": code},
    )  # fmt: skip


def test_three_real_models_make_it_proven_and_neither_controls_nor_the_rigs_failures_count() -> None:
    assert standing([])["status"] == "provisional"
    rig = [row("c", outcome="invalid"), row("reference", "100.0", provider="control")]
    assert standing([row("a"), row("b"), row("a"), *rig])["why"] == "2 of 3 models have been scored"
    found = standing([row("a"), row("b"), row("c", outcome="fail@M01"), *rig])
    assert (found["status"], found["models"], found["rows"]) == ("proven", 3, 5)


def test_three_arms_at_95_on_average_saturate_it() -> None:
    full = [row("a", "95.0"), row("b", "100.0"), row("c", "96.0"), row("c", "94.0")]
    assert standing(full)["status"] == "saturated"
    assert standing([*full, row("c", "-", outcome="fail@M03")])["status"] == "proven"


def test_it_counts_arms_as_the_list_does() -> None:
    """A row in which nothing was seen on the wire is of the arm whose other rows say what was sent."""
    rows = [row("a", wire="w"), row("a"), row("b", wire="v"), row("c")]
    assert standing(rows)["arms"] == len(arms_of(rows)) == 3
