"""Frozen patches become commits of the host's mirror."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from runner.gitdir import repository_files
from runner.hostgit import GitTimeout
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


def test_a_further_mutant_costs_four_git_processes_and_leaves_nothing_lying(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Apply, write the tree, write the commit, and pack what it adds; all else is known from the first one."""
    program = mirror.commit_tree(mirror.git("rev-parse", "HEAD^{tree}").decode().strip(), mirror.head("HEAD"), "work")
    asked: list[str] = []
    run = subprocess.run

    def counted(argv: list[str], *args: Any, **more: Any) -> Any:
        asked.append(next(word for word in argv if word in ("apply", "write-tree", "hash-object", "pack-objects")))
        return run(argv, *args, **more)

    for number in (2, 3):
        path = tmp_path / f"{number}.patch"
        path.write_text(PATCH.replace("a = 2", f"a = {number}"))
        repository_files(mirror, mutant(mirror, program, Patch(path.stem, path)), "checked")
        monkeypatch.setattr("runner.hostgit.subprocess.run", counted)
    assert asked == ["apply", "write-tree", "hash-object", "pack-objects"]
    assert [path.name for path in mirror.path.iterdir() if "index" in path.name] == []


def test_a_git_that_does_not_end_says_nothing_of_a_patch(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*arguments: object, **more: object) -> bytes:
        raise GitTimeout("git apply did not end within 120 s")

    monkeypatch.setattr("runner.scoring.patches.git", slow)
    with pytest.raises(GitTimeout):
        apply_patch(mirror, mirror.head("HEAD"), PATCH.encode(), "fault")
