"""What holds for every score, whatever was measured of whom."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from runner.schema.cell import Cell
from runner.schema.score import Component
from runner.schema.weights import Weights
from runner.scoring.agentic import agentic_components
from runner.scoring.code import Corpus, code_components
from runner.scoring.corpus import Form, Tally
from runner.scoring.fold import compose
from tests.unit.scoring.test_code import GATES, OURS, SEED_WEIGHTS, entry, gates

FORMULAS = st.sampled_from(["seed-1", "runner-1"])
WEIGHTS = st.floats(0.001, 1000)


@st.composite
def components(draw: st.DrawFn) -> Component:
    weight, share = draw(WEIGHTS), draw(st.none() | st.floats(0, 1))
    kind: Literal["points", "prerequisite"] = draw(st.sampled_from(["points", "points", "points", "prerequisite"]))
    earned = None if share is None else weight * share
    return Component(id="x", kind=kind, weight=weight, earned=earned, arithmetic="", reason="rig")


@st.composite
def tallies(draw: st.DrawFn) -> Tally:
    total, gaps = draw(st.integers(0, 40)), draw(st.integers(0, 10))
    return Tally(draw(st.integers(0, total)), total, draw(st.integers(0, gaps)), gaps, "behaviour")


@st.composite
def corpora(draw: st.DrawFn) -> Corpus:
    cases, lines, mutants = draw(st.integers(0, 40)), draw(st.integers(0, 500)), draw(st.integers(0, 20))
    form = Form(cases, draw(st.integers(0, cases)), lines, lines, draw(st.integers(0, lines)))
    return Corpus(form, draw(tallies()), (draw(st.integers(0, mutants)), mutants), draw(st.sampled_from([None, "red"])))


@given(st.lists(components(), max_size=6), FORMULAS)
def test_no_score_exceeds_its_weights(parts: list[Component], formula: str) -> None:
    folded = compose(parts, formula)
    assert 0 <= folded.earned <= folded.available + 1e-9
    assert folded.available <= folded.total
    assert 0 <= folded.factor <= 1
    assert folded.value is None or 0 <= folded.value <= 100
    assert (folded.value is None) == (folded.reason is not None)


@given(st.lists(WEIGHTS, min_size=1, max_size=6), FORMULAS)
def test_all_of_every_weight_is_a_hundred(weights: list[float], formula: str) -> None:
    parts = [Component(id="x", weight=w, earned=w, arithmetic="") for w in weights]
    assert compose(parts, formula).value == 100


@given(st.lists(components(), max_size=5), WEIGHTS)
def test_what_the_rig_caused_leaves_and_what_the_contestant_caused_stays(parts: list[Component], weight: float) -> None:
    """In the seed's formula; ours gives no number where too little is left."""
    before = compose(parts, "seed-1")
    rigs = compose([*parts, Component(id="y", weight=weight, earned=None, arithmetic="-", reason="rig")], "seed-1")
    zero = compose([*parts, Component(id="y", weight=weight, earned=0.0, arithmetic="red")], "seed-1")
    assert (rigs.value, rigs.available) == (before.value, before.available)
    assert zero.available == pytest.approx(before.available + weight)
    assert rigs.total == zero.total == pytest.approx(before.total + weight)
    assert before.value is None or zero.value is None or zero.value <= before.value


@given(corpora(), st.sampled_from([("seed-1", SEED_WEIGHTS), ("runner-1", OURS)]))
def test_nothing_that_was_asked_for_is_full_marks_by_default(
    corpus: Corpus, how: tuple[str, dict[str, dict[str, float]]]
) -> None:
    """An unusable corpus keeps all its weight and earns nothing; an empty denominator is never all of something."""
    ours = entry(*how)
    parts = {c.id: c for c in code_components(ours, gates(**dict.fromkeys(GATES, True)), corpus, "")}
    assert sum(c.weight for c in parts.values()) == sum(sum(part.values()) for part in how[1].values())
    assert all(c.earned is None or 0 <= c.earned <= c.weight for c in parts.values())
    of_corpus = {name: c for name, c in parts.items() if name.startswith("corpus.")}
    if corpus.unusable:
        assert {c.earned for c in of_corpus.values()} <= {0.0, None}
    assert corpus.recall is not None
    assert corpus.mutation is not None
    denominators = {"mutation": corpus.mutation[1], "recall": corpus.recall.total, "gaps": corpus.recall.gaps_total,
                    "four_channel": corpus.form.case_count, "wildcard": corpus.form.asserted_lines}  # fmt: skip
    for name, whole in denominators.items():
        if not whole:
            assert of_corpus[f"corpus.{name}"].earned in (0.0, None)


@given(tallies(), st.integers(1, 30))
def test_an_empty_corpus_with_green_gates_is_forty_whatever_the_benchmark(tally: Tally, mutants: int) -> None:
    nothing = replace(tally, matched=0, total=max(1, tally.total), gaps_matched=0, gaps_total=max(1, tally.gaps_total))
    empty = Corpus(Form(0, 0, 0, 0, 0), nothing, (0, mutants), "the corpus is empty")
    folded = compose(
        code_components(entry("seed-1", SEED_WEIGHTS), gates(**dict.fromkeys(GATES, True)), empty, ""), "seed-1"
    )
    assert (folded.value, folded.available) == (40.0, 100)


COUNTED = (
    "retries",
    "blind_rebaselines_1",
    "blind_rebaselines_2",
    "malformed",
    "loops",
    "context_deaths",
    "tool_calls",
)
COUNTS = st.fixed_dictionaries(dict.fromkeys(COUNTED, st.none() | st.integers(0, 50)))


@given(COUNTS, st.none() | st.floats(0, 10), FORMULAS, st.sampled_from(["pass", "fail@M01"]))
def test_how_it_was_done_is_never_above_its_weight_and_nothing_done_is_not_measured(
    counts: dict[str, int | None], churn: float | None, formula: str, outcome: str
) -> None:
    known = counts | {"churn_payload": churn, "churn_snapshots": churn}
    figures = {name: Cell.none("not seen") if v is None else Cell.of(v, "log") for name, v in known.items()}
    parts = {c.id: c for c in agentic_components(entry(formula, {}), figures, outcome, "")}
    assert sum(c.weight for c in parts.values()) == 100
    assert all(c.earned is None or 0 <= c.earned <= c.weight for c in parts.values())
    assert all(c.earned is not None or c.reason for c in parts.values())
    if not counts["tool_calls"]:
        assert parts["agentic.rebaseline"].earned is None
        assert parts["agentic.tool_discipline"].earned is None


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf")])
def test_a_weight_is_a_number_of_points(weight: float) -> None:
    for given_ in (
        {"code": {"gates": {"ci": weight}}},
        {"agentic": {"churn": weight}},
        {"penalties": {"loop": weight}},
    ):
        with pytest.raises(ValidationError):
            Weights.model_validate(given_)


def test_points_are_rounded_to_no_more_than_their_weight() -> None:
    almost = Component(id="x", weight=1.236, earned=1.2355, arithmetic="")
    assert compose([almost], "seed-1").earned == 1.236
    assert compose([almost.model_copy(update={"earned": 1.236})], "seed-1").value == 100
