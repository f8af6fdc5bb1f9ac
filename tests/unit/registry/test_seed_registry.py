"""The seed's registry loads unchanged: flat thresholds, milestones from the plan, verify and target by default."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.errors import ConfigError
from runner.registry.benchmark import load_benchmark
from runner.schema.weights import GATES, Weights
from runner.scoring import gates
from tests.support.seedlike.clone import Clone, make_clone


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    return make_clone(tmp_path_factory.mktemp("seed"))


def test_new_keys_have_defaults(clone: Clone) -> None:
    benchmark = load_benchmark(clone.registry, "calc", clone.repo)
    entry = benchmark.entry
    assert (entry.formula, entry.attempts, entry.image) == ("seed-1", 2, None)
    assert entry.mutations is not None
    assert (entry.mutations.target, entry.mutations.report) == ("branch", None)
    assert [(m.id, m.verify) for m in entry.milestones] == [("M01", "ci"), ("M02", "ci")]
    assert entry.milestones[0].file == "vault/plans/calc/milestones/core/M01-cases.md"
    assert entry.weights.thresholds["churn"].zero == 4.0
    assert entry.weights.penalties["death"] == 10
    # its patches lie below the top of the repository that holds the index, and the hash knows them
    assert sorted(benchmark.files) == [f"vault/benchmarks/mutations/calc/{n}.patch" for n in ("01_add", "02_sub",
                                                                                               "03_nothing")]  # fmt: skip


def test_without_the_clone_its_source_is_missed_in_a_sentence(clone: Clone) -> None:
    with pytest.raises(ConfigError, match="source_repo: there is no folder /nowhere/calc"):
        load_benchmark(clone.registry, "calc")


def test_a_plan_without_milestones_has_nothing_to_measure(clone: Clone) -> None:
    other = clone.registry.with_name("none.md")
    other.write_text(clone.registry.read_text().replace("milestones/*/M*.md", "nowhere/M*.md"))
    with pytest.raises(ConfigError, match=r"nowhere/M\*\.md finds none"):
        load_benchmark(other, "calc", clone.repo)


def test_a_commit_that_yaml_reads_as_a_number_is_said(clone: Clone) -> None:
    other = clone.registry.with_name("number.md")
    text = clone.registry.read_text()
    at = text.index("baseline: ")
    other.write_text(text[:at] + "baseline: 1234567" + text[text.index("\n", at) :])
    with pytest.raises(ConfigError, match="put it in quotes"):
        load_benchmark(other, "calc", clone.repo)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"thresholds": {"churn_full_max": 1.5}}, "belong together"),
        ({"thresholds": {"mood": {"full": 1, "zero": 2}}}, "unknown name 'mood'"),
        ({"thresholds": {"churn": {"full": 4, "zero": 1.5}}}, "must lie below"),
        ({"penalties": {"retries": 10}}, "unknown name 'retries'"),
        ({"agentic": {"speed": 10}}, "unknown name 'speed'"),
        ({"code": {"corpse": {"recall": 15}}}, "code: unknown name 'corpse'"),
        ({"code": {"gates": {"lint": 4}}}, "code.gates: unknown name 'lint'"),
    ],
)
def test_a_weight_that_nothing_reads_is_refused(keys: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Weights.model_validate(keys)


def test_every_gate_may_be_weighed() -> None:
    assert tuple(gates.GATES) == GATES


def test_two_pages_of_one_milestone(clone: Clone, tmp_path: Path) -> None:
    plan = tmp_path / "calc/vault/plans/calc/milestones"
    (plan / "core").mkdir(parents=True)
    (plan / "more").mkdir()
    for folder in ("core", "more"):
        (plan / folder / "M01-x.md").write_text("x")
    with pytest.raises(ConfigError, match="two pages of the plan are called M01"):
        load_benchmark(clone.registry, "calc", tmp_path / "calc")
