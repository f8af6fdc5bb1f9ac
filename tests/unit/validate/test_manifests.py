"""What a manifest leaves open, or names wrongly, is a broken claim: nothing lands where it must by saying nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.validate.solutions import prove_solutions
from tests.unit.validate.conftest import Opened


def said(home: Path, opened: Opened, manifest: str) -> str:
    (home / "flawed" / "manifest.yaml").write_text(manifest)
    claims = prove_solutions(opened(), "flawed", "flawed")
    return "; ".join(claim.sentence for claim in claims if not claim.ok)


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [
        ("solutions: []\n", "solutions: List should have at least 1 item"),
        ("gap: 0\nsolutions: [{id: nop}]\n", "gap: Input should be greater than 0"),
        ("gap: .nan\nsolutions: [{id: nop}]\n", "gap: Input should be a finite number"),
        ("gap: 5\ngap: 1\nsolutions: [{id: nop}]\n", "the key 'gap' stands twice"),
        ("solutions: [{id: a, expect: {outcome: pass}}, {id: a}]\n", "the id 'a' is used twice"),
        ("solutions: [{id: a, corpus: allways-red, expect: {unusable: red}}]\n", "there is no allways-red among"),
        ("solutions: [{id: a, patches: [nope.patch], expect: {outcome: pass}}]\n", "there is no nope.patch among"),
        ("solutions: [{id: a}]\n", "flawed a: its manifest expects nothing of it"),
        ("solutions: [{id: a, expect: {criterion_repeats: 1}}]\n", "flawed a: its manifest expects nothing of it"),
    ],
)
def test_a_manifest_that_proves_nothing(home: Path, opened: Opened, manifest: str, sentence: str) -> None:
    assert sentence in said(home, opened, manifest)


def test_a_patch_that_freezing_does_not_hold_in_place(home: Path, opened: Opened) -> None:
    (home / "aside.patch").write_bytes((home / "reference" / "M01.patch").read_bytes())
    manifest = "solutions: [{id: a, patches: [../aside.patch], expect: {outcome: pass}}]\n"
    assert "there is no ../aside.patch among the benchmark's files" in said(home, opened, manifest)
