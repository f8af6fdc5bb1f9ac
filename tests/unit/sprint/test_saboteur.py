"""The saboteur deletes the tests of any repository, wherever they lie: what is proven with it rests on that."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.registry.load import read_entries
from runner.repo import TreeFile
from runner.sprint.controls import tests_of as doomed

MINI = Path(__file__).parents[2] / "support" / "mini"


@pytest.mark.parametrize(
    "path",
    ["test_words.py", "cjs/test.js", "esm/test.mjs", "src/a.test.ts", "pkg/sum_test.go", "src/__tests__/a.js",
     "spec/a_spec.rb", "app/tests.py", "cases/sample.txtar", "cases/deep/one.txtar"],
)  # fmt: skip
def test_a_file_of_tests_is_deleted_wherever_it_lies(path: str) -> None:
    entry = read_entries(MINI / "index.md")["mini"]
    assert doomed(entry, [TreeFile(path.encode(), "100644", "0" * 40)]) == [path]


@pytest.mark.parametrize("path", ["src/calc.py", "src/latest.py", "contest.py", "testimony.md", "cases.md"])
def test_the_program_is_left_alone(path: str) -> None:
    entry = read_entries(MINI / "index.md")["mini"]
    assert doomed(entry, [TreeFile(path.encode(), "100644", "0" * 40)]) == []
