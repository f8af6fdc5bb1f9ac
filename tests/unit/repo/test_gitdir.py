"""A repository as files: one branch at one commit, no trace of anything newer or of a sibling."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from runner.gitdir import repository_files
from runner.hostgit import git
from runner.repo import Mirror, blob_id


def history(tmp_path: Path) -> tuple[Mirror, list[str]]:
    """A mirror with three commits in a row; the last two each change a file."""
    program = tmp_path / "program"
    program.mkdir()
    (program / "a.txt").write_text("one\n")
    (program / "tool").write_text("#!/bin/sh\n")
    (program / "tool").chmod(0o755)
    git(["init", "-q", "--initial-branch=x", str(program)])
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@x", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@x"}
    commits = []
    for text in ("one\n", "two\n", "three\n"):
        (program / "a.txt").write_text(text)
        git(["add", "."], cwd=program, extra={"GIT_DIR": ".git"})
        git(["commit", "-q", "-m", text], cwd=program, extra={"GIT_DIR": ".git", **who})
        commits.append(git(["rev-parse", "HEAD"], git_dir=program / ".git").decode().strip())
    return Mirror.create(tmp_path / "mirror.git", program, commits[-1])[0], commits


def unpacked(files: Mapping[bytes, tuple[str, bytes]], tree: Path) -> Path:
    for path, (_, content) in files.items():
        target = tree / path.decode()
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return tree / ".git"


def objects(git_dir: Path) -> set[str]:
    listed = git(["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"], git_dir=git_dir)
    return set(listed.decode().split())


def test_it_holds_one_branch_with_its_history_and_nothing_newer(tmp_path: Path) -> None:
    mirror, commits = history(tmp_path)
    for number, commit in enumerate(commits):
        made = unpacked(repository_files(mirror, commit, "bench/x"), tmp_path / f"tree{number}")
        git(["fsck", "--strict", "--full"], git_dir=made)
        assert git(["rev-list", "HEAD"], git_dir=made).decode().split() == commits[number::-1]
        assert git(["for-each-ref", "--format=%(refname)"], git_dir=made) == b"refs/heads/bench/x\n"
        assert not objects(made) & set(commits[number + 1 :])
        assert blob_id(b"three\n") not in objects(made) or number == 2


def test_the_tree_beside_it_is_clean(tmp_path: Path) -> None:
    mirror, commits = history(tmp_path)
    tree = tmp_path / "tree"
    made = unpacked(repository_files(mirror, commits[1], "bench/x"), tree)
    (tree / "a.txt").write_text("two\n")
    (tree / "tool").write_text("#!/bin/sh\n")
    (tree / "tool").chmod(0o755)
    git(["read-tree", "HEAD"], git_dir=made)
    assert git(["status", "--porcelain"], git_dir=made, cwd=tree, extra={"GIT_WORK_TREE": str(tree)}) == b""


def test_a_sibling_leaves_no_trace(tmp_path: Path) -> None:
    """A mutant is the program with another tree. Could a test see the program's own blob, it would know the mutant."""
    mirror, commits = history(tmp_path)
    program = unpacked(repository_files(mirror, commits[2], "x"), tmp_path / "program-tree")
    lines = b"100644 blob %s\ta.txt\0" % mirror.git("hash-object", "-w", "--stdin", stdin=b"mutated\n").strip()
    mutant = mirror.retree(commits[2], mirror.git("mktree", "-z", stdin=lines).decode().strip())
    made = unpacked(repository_files(mirror, mutant, "x"), tmp_path / "mutant-tree")
    git(["fsck", "--strict", "--full"], git_dir=made)
    assert blob_id(b"three\n") in objects(program)
    assert not objects(made) & {commits[2], blob_id(b"three\n")}
    shape = [sorted(p.suffix for p in (folder / "objects" / "pack").iterdir()) for folder in (program, made)]
    assert shape[0] == shape[1]
