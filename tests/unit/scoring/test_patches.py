"""Frozen patches become commits of the host's mirror."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.repo import Mirror
from runner.scoring.patches import Patch, PatchFails, apply_patch, mutant

PATCH = "--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"


@pytest.fixture
def mirror(tmp_path: Path) -> Mirror:
    program = tmp_path / "program"
    program.mkdir()
    (program / "calc.py").write_text("a = 1\n")
    made, _ = Mirror.create(tmp_path / "mirror.git", program, "fa41c8c2730b49e9a1e6d7fe15eb2c8da9ab8006")
    return made


def test_a_mutant_leaves_no_trace_of_having_been_made(mirror: Mirror, tmp_path: Path) -> None:
    program = mirror.commit_tree(mirror.git("rev-parse", "HEAD^{tree}").decode().strip(), mirror.head("HEAD"), "work")
    (tmp_path / "fault.patch").write_text(PATCH)
    made = mutant(mirror, program, Patch("fault", tmp_path / "fault.patch"))
    assert mirror.read(made, "calc.py") == b"a = 2\n"
    before, after = (mirror.git("cat-file", "commit", commit).split(b"\n", 1) for commit in (program, made))
    assert before[0] != after[0]
    assert before[1] == after[1]  # parents, author, dates, message
    assert mirror.git("rev-list", "--count", made) == mirror.git("rev-list", "--count", program)


def test_a_patch_that_changes_nothing_is_refused(mirror: Mirror) -> None:
    with pytest.raises(PatchFails, match="fault does not apply"):
        apply_patch(mirror, mirror.head("HEAD"), PATCH.replace("a = 1", "b = 1").encode(), "fault")
