"""Which patches count for a branch whose own program is mutated: those that fit a frozen program."""

from __future__ import annotations

from pathlib import Path

from runner.scoring.layers import measure_corpus
from tests.unit.validate.conftest import Opened

EDIT = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-{1}\n+other\n"


def test_one_that_the_branch_broke_counts_and_one_that_never_fitted_does_not(home: Path, opened: Opened) -> None:
    index = home / "index.md"
    index.write_text(index.read_text().replace("target: reference,", "target: branch,").replace("cases/*.txtar", "**"))
    page = (home / "program" / "plan" / "M01.md").read_text().splitlines()
    gone = "".join(f"-{line}\n" for line in page)
    with (home / "reference" / "M01.patch").open("a") as reference:
        reference.write("--- /dev/null\n+++ b/NOTES\n@@ -0,0 +1 @@\n+noted\n")
        reference.write(f"--- a/plan/M01.md\n+++ /dev/null\n@@ -1,{len(page)} +0,0 @@\n{gone}")
    only_baseline = f"--- a/plan/M01.md\n+++ b/plan/M01.md\n@@ -1,{len(page)} +1 @@\n{gone}+other\n"
    for name, patch in (
        ("only-baseline", only_baseline),
        ("only-reference", EDIT.format("NOTES", "noted")),
        ("nowhere", EDIT.format("NOTES", "never")),
    ):
        (home / "faults" / f"{name}.patch").write_text(patch)
    bench = opened()
    branch = bench.mirror.overlaid(bench.reference or "", {b"NOTES": None}, "neither the page nor the notes")
    result = measure_corpus(bench.branch(branch), lambda line: None, 1)
    assert result is not None
    assert result.unfit == {"nowhere"}
    assert result.corpus.mutation == (3, 5)
