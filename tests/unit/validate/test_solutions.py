"""What is said of a reference that is not there, and of one with points that nobody could measure."""

from __future__ import annotations

import re
from pathlib import Path

from runner.validate.solutions import prove_reference
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
