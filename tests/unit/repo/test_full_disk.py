"""A host's disk that fills up while a branch is taken over is the host's failure, never the contestant's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from runner.errors import DiskFull
from runner.hostgit import git
from runner.repo import Mirror
from runner.treelimits import TreeLimits
from tests.support.small_disk import small_disk

REF = "refs/heads/bench/x"


def test_a_mirror_on_a_full_disk(tmp_path: Path) -> None:
    source = tmp_path / "source"
    git(["init", "-q", "--initial-branch=base", str(source)])
    (source / "a").write_text("a")
    who = {"GIT_AUTHOR_NAME": "c", "GIT_AUTHOR_EMAIL": "c", "GIT_COMMITTER_NAME": "c", "GIT_COMMITTER_EMAIL": "c"}
    for content in (b"a", os.urandom(3 << 20)):
        (source / "b").write_bytes(content)
        git(["add", "."], git_dir=source / ".git", cwd=source)
        git(["commit", "-qm", "x"], git_dir=source / ".git", cwd=source, extra=who)
    bundle = tmp_path / "x.bundle"
    git(["update-ref", REF, "HEAD"], git_dir=source / ".git")
    git(["bundle", "create", "-q", str(bundle), REF], git_dir=source / ".git")
    base = git(["rev-parse", "HEAD~1"], git_dir=source / ".git").decode().strip()
    with small_disk(tmp_path / "disk", 2) as disk:
        mirror, _ = Mirror.create(disk / "mirror.git", source, base)
        with pytest.raises(DiskFull, match="no space left to take a branch over") as caught:
            mirror.import_bundle(bundle, REF, TreeLimits())
    assert (caught.value.cause, caught.value.grade) == ("rig", False)
    there, _ = Mirror.create(tmp_path / "mirror.git", source, base)
    assert there.import_bundle(bundle, REF, TreeLimits()) == there.head(REF)


def test_git_that_finds_no_room_is_the_disks_failure(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1) as disk:
        git(["init", "-q", "--bare", str(disk / "a.git")])
        with pytest.raises(DiskFull, match=r"git hash-object found no space left — free some in .*a\.git"):
            git(["hash-object", "-w", "--stdin"], git_dir=disk / "a.git", stdin=os.urandom(2 << 20))
        assert subprocess.run(["dd", "if=/dev/zero", f"of={disk / 'rest'}"], capture_output=True).returncode
        with pytest.raises(DiskFull, match="git init found no space left — free some, then run again"):
            git(["init", "-q", "--bare", str(disk / "b.git")])
