"""Recall has three sources, in this order of trust: behaviour, exact names, votes."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from runner.errors import ConfigError
from runner.schema.entry import Entry
from runner.schema.mapping import CaseMapping
from runner.scoring.code import Corpus, code_components
from runner.scoring.corpus import Recall, form_of, recall_of
from runner.scoring.fold import compose
from runner.scoring.mutations import Mutant, Sweep
from runner.scoring.readers import reader
from runner.scoring.suite import SuiteResult

GREEN = SuiteResult("green")
ETALON = ["a", "b", "c", "d"]
PROBES = {"a": "probe-a", "b": "probe-b"}
SWEEP = Sweep(GREEN, GREEN, (Mutant("probe-a", "killed", ("x",)), Mutant("probe-b", "survived")))


def votes(*mappings: dict[str, str | None]) -> CaseMapping:
    return CaseMapping.model_validate({"votes": [{"by": f"j{n}", "mapping": m} for n, m in enumerate(mappings)]})


def recall(names: list[str], mapping: CaseMapping | None = None, sweep: Sweep | None = SWEEP) -> Recall:
    return recall_of(names, ETALON, ["b", "d"], sweep=sweep, probe_of=PROBES, mapping=mapping)


def test_behaviour_beats_a_name_and_a_name_beats_votes() -> None:
    found = recall(["b", "c", "mine"], votes(*[{"b": "mine", "d": None}] * 3))
    assert found.matched == ("a", "c")  # b has a probe that survived: neither its name nor a vote counts
    assert found.source == "behaviour + exact names"
    found = recall(["c", "mine"], votes(*[{"d": "mine"}] * 3))
    assert (found.matched, found.judged, found.gaps_matched) == (("a", "c", "d"), ("d",), ("d",))
    assert (found.source, found.agreement) == ("behaviour + exact names + judge", 1.0)
    assert (found.tally.judged, found.tally.judged_gaps) == (1, 1)


def test_where_no_kill_counts_nothing_is_recalled_by_behaviour() -> None:
    red = Sweep(SuiteResult("red", ("x",)), None, SWEEP.mutants)
    assert recall([], sweep=red).matched == ()


def test_votes_need_a_majority_and_give_each_case_once() -> None:
    split = recall(["x", "y"], votes({"c": "x"}, {"c": "y"}, {"c": None}))
    assert (split.judged, split.agreement) == ((), 0.667)
    twice = recall(["x"], votes({"c": "x"}, {"c": "x", "d": None}, {"d": "x"}))
    assert twice.judged == ("c",)
    both = votes({"c": "x"}, {"c": "x"}, {"d": "x"}, {"d": "x"}, {"c": "x"})
    assert recall(["x"], both).judged == ("c",)
    assert recall([], votes(*[{"c": "invented"}] * 3)).judged == ()


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"votes": [{"by": "a", "mapping": {}}, {"by": "b", "mapping": {}}]}, "2 independent votes"),
        ({"votes": [{"by": n, "mapping": {}} for n in ("a", "b", "c", "c")]}, "votes twice"),
        ({"votes": [{"by": n, "mapping": {}} for n in ("a", "b", "b")]}, "2 independent votes"),
        ({"votes": [{"by": "a", "mapping": {"x": "m", "y": "m"}}]}, "maps two etalon cases onto m"),
    ],
)
def test_votes_that_are_none(document: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        CaseMapping.model_validate(document)


def test_junit_listed_tests_are_cases_without_channels() -> None:
    cases = reader("junit")({"test_a.py": b"def test_one(): ..."}, ("t.two", "t.one", "t.one"))
    form = form_of(cases)
    assert [c.name for c in cases] == ["t.one", "t.two"]
    assert (form.case_count, form.channels) == (2, False)
    assert form_of([]).channels
    with pytest.raises(ConfigError, match="known: txtar, junit"):
        reader("csv")


ENTRY = Entry.model_validate(
    {"id": "x", "source_repo": ".", "baseline": "0", "plan": "p", "scope_allowlist": [],
     "commands": {"ci": {"argv": ["true"]}},
     "weights": {"code": {"corpus": {"recall": 40, "gaps": 10, "four_channel": 10, "wildcard": 5, "mutation": 35}}}}
)  # fmt: skip


def test_points_that_votes_decided_are_marked_and_a_format_without_channels_has_none() -> None:
    found = recall(["c", "mine"], votes(*[{"d": "mine"}] * 3))
    form = form_of(reader("junit")({}, ("c", "mine")))
    parts = {c.id: c for c in code_components(ENTRY, None, Corpus(form, found.tally, (1, 2)), "")}
    assert (parts["corpus.recall"].earned, parts["corpus.recall"].judged) == (30, 10)
    assert "1 of them by votes" in parts["corpus.recall"].arithmetic
    assert (parts["corpus.gaps"].earned, parts["corpus.gaps"].judged) == (5, 5)
    assert parts["corpus.four_channel"].earned is None
    assert parts["corpus.wildcard"].earned is None
    folded = compose(list(parts.values()), "seed-1")
    assert (folded.available, folded.total, folded.value) == (85, 100, 61.76)


def test_zero_denominators_are_never_full_marks() -> None:
    empty = recall_of([], [], [])
    corpus = Corpus(form_of([]), empty.tally, (0, 0))
    parts = {c.id: c.earned for c in code_components(ENTRY, None, corpus, "")}
    assert parts == {"corpus.recall": 0, "corpus.gaps": None, "corpus.four_channel": 0, "corpus.wildcard": 0,
                     "corpus.mutation": 0}  # fmt: skip
