"""What the contestant made unmeasurable earns 0 and keeps its weight; what the rig could not measure leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.schema.entry import Entry
from runner.schema.score import Gate, Score
from runner.scoring.code import Corpus, code_components
from runner.scoring.corpus import Form, Recall
from runner.scoring.fold import compose

PUBLISHED = json.loads((Path(__file__).parent / "published-rows.json").read_text())
GATES = ("ci", "determinism", "scope", "e2e", "unit_deleted")
SEED_WEIGHTS = {
    "gates": {"ci": 10, "determinism": 10, "scope": 10, "e2e": 5, "unit_deleted": 5},
    "corpus": {"mutation": 25, "recall": 15, "four_channel": 10, "gaps": 5, "wildcard": 5},
}
OURS = {
    "prerequisites": {"ci": 10, "scope": 10, "behaviour": 20},
    "gates": {"unit_deleted": 10},
    "corpus": {"mutation": 40, "recall": 25, "gaps": 10, "four_channel": 10, "wildcard": 5},
}


def entry(formula: str, code: dict[str, dict[str, float]]) -> Entry:
    return Entry.model_validate(
        {"id": "x", "source_repo": ".", "baseline": "0", "plan": "p", "scope_allowlist": [], "formula": formula,
         "commands": {"ci": {"argv": ["true"]}}, "weights": {"code": code}}
    )  # fmt: skip


def gates(**passed: bool | None) -> Score:
    found = [Gate(id=k, passed=v, evidence={}, evidence_class="files", reason="rig" if v is None else None)
             for k, v in passed.items()]  # fmt: skip
    return Score(layer="gates", scorer_version="1", gates=found)


def corpus(
    cases: int = 34, killed: tuple[int, int] = (15, 15), matched: int = 30, unusable: str | None = None
) -> Corpus:
    names = tuple(f"c{i}" for i in range(34))
    recall = Recall(names[:matched], names[matched:], names[:2], 3, "behaviour")
    return Corpus(Form(cases, cases, 100 * bool(cases), 0, 0), recall.tally, killed, unusable)


@pytest.mark.parametrize("run", PUBLISHED["runs"], ids=lambda r: r["run_id"])
def test_published_code_is_met_to_the_last_digit(run: dict[str, Any]) -> None:
    c = run["corpus"]
    matched, total = c["recall"]
    gap_hits, gap_total = c["gaps"]
    four, count = c["four_channel"]
    names = tuple(f"c{i}" for i in range(total))
    found = Corpus(
        Form(count, four, 10_000, 0, round(c["wildcard_line_ratio"] * 10_000)),
        Recall(names[:matched], names[matched:], names[:gap_hits], gap_total, "judge").tally,
        tuple(c["mutation"]),  # type: ignore[arg-type]
    )
    parts = code_components(entry("seed-1", SEED_WEIGHTS), gates(**run["gates"]), found, "")
    assert compose(parts, "seed-1").value == run["expect"]["code"]


def test_an_empty_corpus_with_green_gates_is_forty_not_two_thirds() -> None:
    none = Recall((), tuple(f"c{i}" for i in range(34)), (), 3, "behaviour").tally
    empty = Corpus(Form(0, 0, 0, 0, 0), none, (0, 15),
                   "the corpus is not green on the frozen program: no-tests")  # fmt: skip
    parts = code_components(entry("seed-1", SEED_WEIGHTS), gates(**dict.fromkeys(GATES, True)), empty, "")
    folded = compose(parts, "seed-1")
    assert (folded.value, folded.available) == (40.0, 100)


def test_what_the_rig_did_not_measure_leaves_and_says_why() -> None:
    parts = code_components(entry("seed-1", SEED_WEIGHTS), gates(**dict.fromkeys(GATES, True)), None, "no engine")
    folded = compose(parts, "seed-1")
    assert (folded.value, folded.available) == (100.0, 40)
    assert "corpus.mutation: no engine" in folded.excluded


def test_standing_still_earns_nothing_in_ours() -> None:
    still = gates(ci=True, scope=True, behaviour=True, unit_deleted=False)
    empty = Corpus(Form(1, 1, 3, 0, 0), Recall((), ("c",), (), 1, "behaviour").tally, (0, 20))
    assert compose(code_components(entry("runner-1", OURS), still, empty, ""), "runner-1").value == 0


def test_a_broken_prerequisite_takes_its_share_of_everything() -> None:
    whole = gates(ci=True, scope=True, behaviour=True, unit_deleted=True)
    no_scope = gates(ci=True, scope=False, behaviour=True, unit_deleted=True)
    full = corpus(killed=(20, 20), matched=34)
    ours = entry("runner-1", OURS)
    best, worse = (compose(code_components(ours, g, full, ""), "runner-1").value for g in (whole, no_scope))
    assert best is not None
    assert worse is not None
    assert best == pytest.approx(96.67, abs=0.01)  # gaps 2 of 3
    assert worse == pytest.approx(best * 0.75, abs=0.01)


def test_form_counts_in_proportion_to_recall_in_ours() -> None:
    green = gates(ci=True, scope=True, behaviour=True, unit_deleted=True)
    parts = {c.id: c for c in code_components(entry("runner-1", OURS), green, corpus(matched=17), "")}
    assert parts["corpus.four_channel"].earned == pytest.approx(5.0)
    seed = {c.id: c for c in code_components(entry("seed-1", OURS), green, corpus(matched=17), "")}
    assert seed["corpus.four_channel"].earned == pytest.approx(10.0)


def test_a_guessing_corpus_keeps_its_weight_and_earns_nothing() -> None:
    green = gates(**dict.fromkeys(GATES, True))
    parts = code_components(entry("seed-1", SEED_WEIGHTS), green, corpus(unusable="placebos bitten"), "")
    assert compose(parts, "seed-1").value == 40.0
