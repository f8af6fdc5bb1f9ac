"""What is said of a reference that is not there, and of one with points that nobody could measure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runner.validate.saboteur import saboteur_claim
from runner.validate.solutions import prove_reference, prove_solutions
from tests.unit.validate.conftest import Opened


def test_a_benchmark_without_a_reference_is_not_proven(home: Path, opened: Opened) -> None:
    index = home / "index.md"
    index.write_text(index.read_text().replace("reference: [reference/M01.patch]", "reference: []"))
    (claim,) = prove_reference(opened())
    assert not claim.ok
    assert claim.sentence == "solution reference: there is none: nothing shows that the work can be done"
    assert "'reference'" in claim.fix


def test_full_marks_of_what_could_be_measured_are_not_full_marks(home: Path, opened: Opened) -> None:
    index = home / "index.md"
    weights = "corpus: {mutation: 60"
    index.write_text(index.read_text().replace(weights, f"gates: {{criterion: 10}}\n      {weights}"))
    bench = opened()
    (claim,) = prove_reference(bench)
    assert claim.evidence["code"] == 100
    assert not claim.ok
    assert "not all that has a weight is measured: " in claim.sentence


def test_a_corpus_that_the_reader_does_not_know(home: Path, opened: Opened) -> None:
    """The file names say nothing: what reads the cases is a key of the entry."""
    patch = home / "reference" / "M01.patch"
    patch.write_text(re.sub(r"(add|sub|refuse)\.txtar", r"\1.case", patch.read_text()))
    (claim,) = prove_reference(opened())
    assert not claim.ok
    assert "(case_reader: txtar)" in claim.sentence


def test_tests_of_what_is_new_need_the_reference_as_their_program(home: Path, opened: Opened) -> None:
    """The author's first proof, with the target as it was proposed: the fix must not send them looking elsewhere."""
    patch, index = home / "reference" / "M01.patch", home / "index.md"
    case = "--- /dev/null\n+++ b/cases/zero.txtar\n"
    patch.write_text(f"{patch.read_text()}{case}@@ -0,0 +1,4 @@\n+-- cmd --\n+new 1 2\n+-- exit --\n+0\n")
    index.write_text(index.read_text().replace("target: reference", "target: baseline"))
    (claim,) = prove_reference(opened())
    assert not claim.ok
    assert "the corpus is not green on the frozen program: red (zero.txtar)" in claim.sentence
    assert "case_reader" not in claim.sentence
    assert claim.fix == "tests of what is new cannot be green on the baseline: say target: reference"


@pytest.mark.parametrize("kind", ["graded", "flawed"])
def test_solutions_that_no_manifest_names_claim_nothing(home: Path, opened: Opened, kind: str) -> None:
    bench = opened()
    assert prove_solutions(bench, kind, None) == []
    manifest = home / "nothing" / "manifest.yaml"
    manifest.parent.mkdir()
    manifest.write_text("solutions: []\n")
    claims = prove_solutions(bench, kind, "nothing")
    assert [c.ok for c in claims] == [False]


@pytest.mark.parametrize(
    ("gates", "wrong"),
    [
        ({"scope": True, "ci": False}, "scope"),
        ({"scope": False, "ci": None}, "ci"),
        ({"ci": False}, "scope"),
        ({"scope": True, "ci": True}, "scope and ci"),
    ],
)
def test_what_the_saboteur_passes_is_named(gates: dict[str, bool | None], wrong: str) -> None:
    claim = saboteur_claim(gates, 3)
    assert not claim.ok
    assert claim.sentence.startswith(f"the saboteur passes the gate {wrong}: 3 deleted files of tests")
    assert claim.fix == "CI must fail where there are no tests, and its configuration must be protected"
    assert saboteur_claim(gates, 0).fix.startswith("it found no tests to delete: call files or folder so")


def test_a_saboteur_that_fails_both_gates_is_as_it_should_be() -> None:
    claim = saboteur_claim({"scope": False, "ci": False}, 12)
    assert claim.ok
    assert claim.sentence == "the saboteur, which deletes 12 files of tests, fails the gates ci and scope"
