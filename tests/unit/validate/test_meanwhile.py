"""A file that is edited while minutes pass: the certificate must not name one state and prove another."""

from __future__ import annotations

from pathlib import Path

from runner.registry.benchmark import load_benchmark
from runner.validate.certify import _still


def test_an_edit_while_the_proof_runs_is_named(home: Path) -> None:
    benchmark = load_benchmark(home / "index.md", "mini")
    assert _still(benchmark) == []
    case = home / "etalon" / "add.txtar"
    case.write_text(case.read_text() + "\n")
    (claim,) = _still(benchmark)
    assert (claim.ok, claim.id) == (False, "meanwhile")
    assert claim.sentence.endswith("nobody knows which state was proven: etalon/add.txtar")


def test_so_is_an_edit_of_the_entry_or_its_end(home: Path) -> None:
    index = home / "index.md"
    benchmark = load_benchmark(index, "mini")
    text = index.read_text()
    index.write_text(text.replace("pids: 64", "pids: 65"))
    assert "the entry in index.md" in _still(benchmark)[0].sentence
    index.write_text(text.replace("- id: mini", "- id: other"))
    assert "has no benchmark 'mini'" in _still(benchmark)[0].sentence


def test_the_tests_that_a_step_expects_are_held_in_place(home: Path) -> None:
    index = home / "index.md"
    verify = "verify: {argv: [tools/verify.sh], timeout_s: 60}"
    step = "steps: [{id: M01.1, verify: {argv: [tools/verify.sh], tests: {expected: expected.yaml}}}]"
    index.write_text(index.read_text().replace(verify, f"{verify}, {step}"))
    (home / "expected.yaml").write_text("expected_tests: {report.xml: [one]}\n")
    assert "expected.yaml" in load_benchmark(index, "mini").files
