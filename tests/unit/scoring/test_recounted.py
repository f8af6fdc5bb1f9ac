"""Matches that somebody wrote into a corpus document beyond those that it lists are a judge's."""

from __future__ import annotations

from typing import Any

import pytest

from runner.scoring.seed import recounted


def corpus(recall: dict[str, Any], gaps: dict[str, Any]) -> dict[str, Any]:
    return {"aggregate": {"case_count": 3, "recall": recall, "gaps": gaps}}


@pytest.mark.parametrize("source", ["exact names", "exact names + judge"])
def test_what_was_added_stands_beside_what_a_judge_had_found(source: str) -> None:
    recall = {"matched": 3, "total": 4, "pct": 50.0, "source": source, "judged": ["x"], "unmatched_etalon": ["a", "b"]}
    gaps = {"matched": 1, "total": 2, "judged": 1, "unmatched": ["a", "b"]}
    found = recounted(corpus(recall, gaps))["aggregate"]
    assert found["case_count"] == 3
    assert found["recall"] == {
        **recall, "pct": 75.0, "source": "exact names + judge", "judged": ["x", "by hand"]
    }  # fmt: skip
    assert found["gaps"] == {**gaps, "judged": 2}


def test_gaps_that_nobody_raised_have_no_more_votes() -> None:
    recall = {"matched": 3, "total": 4, "unmatched_etalon": ["a", "b"]}
    assert recounted(corpus(recall, {"matched": 0, "total": 2}))["aggregate"]["gaps"]["judged"] == 0


def test_a_document_with_nothing_added_stays_as_it_is() -> None:
    whole = corpus({"matched": 2, "total": 4, "unmatched_etalon": ["a", "b"]}, {"matched": 0, "total": 2})
    bare = {"aggregate": {"case_count": 3}}
    assert recounted(whole) is whole
    assert recounted(bare) is bare
