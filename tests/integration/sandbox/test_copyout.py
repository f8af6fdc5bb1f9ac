"""The whole way: a contestant works, dies, and its work leaves through a trusted box."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from runner.sandbox.box import Box
from runner.sandbox.copyout import CopyLimits, CopyOutRefused, bundle, copy_artifacts, snapshot
from runner.sandbox.pod import Pod
from tests.support.small_disk import small_disk

from .conftest import Images, OpenPod

pytestmark = pytest.mark.engine

INIT = """
set -e
mkdir repo && cd repo && git init -q -b bench/x .
git config user.name c && git config user.email c@x
echo one > a.txt && echo '*.md' > .gitignore && git add -A && git commit -qm base && git rev-parse HEAD
"""


@pytest.fixture
def pod(open_pod: OpenPod) -> Pod:
    return open_pod(work_mb=128)


def begin(pod: Pod, images: Images) -> tuple[Box, str]:
    box = pod.contestant(images.base)
    done = box.exec(["sh", "-c", INIT], timeout_s=20, cwd="/work")
    assert done.ok, done.stderr.decode()
    return box, done.stdout.decode().strip()


def work(box: Box, script: str) -> None:
    done = box.exec(["sh", "-ec", script], timeout_s=60, cwd="/work/repo")
    assert done.ok, done.stderr.decode()


def test_work_comes_out_whole(pod: Pod, images: Images, tmp_path: Path) -> None:
    box, base = begin(pod, images)
    work(box, "echo two > b.txt; git add -A; git commit -qm mine; echo three > c.txt; echo done > RESULT.md")
    work(box, "touch secret; chmod 000 secret; mkdir shut; touch shut/x; chmod 000 shut")
    box.kill()
    assert pod.attic is not None
    info = snapshot(
        pod.attic, base=base, branch="bench/x", message="left", artifacts=["RESULT.md", "absent.md"], when=1_800_000_000
    )
    assert info.committed_by_contestant
    assert info.snapshot_commit
    assert info.base_is_ancestor
    assert info.changed_paths == ("b.txt", "c.txt")
    assert info.uncommitted_paths == ("c.txt",)
    assert set(info.refused) == {"secret: cannot be read", "shut: Permission denied"}
    made = bundle(pod.attic, info, tmp_path / "branch.bundle")
    assert hashlib.sha256(made.path.read_bytes()).hexdigest() == made.sha256
    clone = tmp_path / "clone"
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {"GIT_CONFIG_GLOBAL": "/dev/null"}
    subprocess.run(["git", "clone", "-q", "-b", "bench/x", str(made.path), str(clone)], check=True, env=env)
    assert (clone / "c.txt").read_text() == "three\n"
    heads = subprocess.run(["git", "bundle", "list-heads", str(made.path)], capture_output=True, env=env, check=True)
    assert heads.stdout.decode() == f"{info.head} refs/heads/bench/x\n"
    report = copy_artifacts(pod.attic, info, tmp_path / "artifacts")
    assert report.files == 1
    assert (tmp_path / "artifacts" / "RESULT.md").read_text() == "done\n"


def test_nothing_done_still_makes_a_bundle(pod: Pod, images: Images, tmp_path: Path) -> None:
    box, base = begin(pod, images)
    box.kill()
    trusted = pod.trusted()
    info = snapshot(trusted, base=base, branch="bench/x", message="left")
    assert info.head == base
    assert not info.committed_by_contestant
    assert not info.snapshot_commit
    assert bundle(trusted, info, tmp_path / "b").bytes > 0


def test_again_in_the_same_box_is_the_same(pod: Pod, images: Images) -> None:
    box, base = begin(pod, images)
    work(box, "echo x > b.txt")
    box.kill()
    trusted = pod.trusted()
    infos = [snapshot(trusted, base=base, branch="bench/x", message="left", when=1_800_000_000) for _ in range(2)]
    assert infos[0] == infos[1]


def test_a_hostile_repository_runs_nothing_and_is_not_touched(pod: Pod, images: Images) -> None:
    box, base = begin(pod, images)
    work(
        box,
        "printf '#!/bin/sh\\ntouch /tmp/marker /scratch/marker; cat\\n' > .git/evil; chmod +x .git/evil;"
        "for k in core.fsmonitor diff.external filter.x.clean gpg.program remote.origin.uploadpack;"
        " do git config $k /work/repo/.git/evil; done;"
        "git config extensions.partialClone origin; git config remote.origin.promisor true;"
        "git config core.hooksPath /work/repo/.git/h; mkdir .git/h; cp .git/evil .git/h/reference-transaction;"
        "echo '* filter=x' > .gitattributes; echo more > a.txt; rm -f .git/index",
    )
    box.kill()
    assert pod.attic is not None
    info = snapshot(pod.attic, base=base, branch="bench/x", message="left")
    assert info.uncommitted_paths == (".gitattributes", "a.txt")
    assert pod.attic.exec(["ls", "/tmp/marker", "/scratch/marker"], timeout_s=10).stdout == b""


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("rm -rf .git", "git_missing"),
        ("mv .git ../elsewhere; ln -s ../elsewhere .git", "git_moved"),
        ("cd ..; mv repo gone", "tree_missing"),
        ("git checkout -q --detach; git branch -D bench/x", "branch_missing"),
        ("echo 0123456789012345678901234567890123456789 > .git/refs/heads/bench/x", "branch_broken"),
        ("rm -rf .git/objects/??", "branch_broken"),
        ("rm .gitignore; mkfifo .gitignore", "special_file"),
        ("for i in $(seq 300); do echo > f$i; done", "too_many_paths"),
        ("echo /usr/lib > .git/objects/info/alternates", "alternates"),
    ],
)
def test_what_cannot_be_used_is_the_contestants_doing(pod: Pod, images: Images, script: str, code: str) -> None:
    box, base = begin(pod, images)
    work(box, script)
    box.kill()
    assert pod.attic is not None
    with pytest.raises(CopyOutRefused) as caught:
        snapshot(pod.attic, base=base, branch="bench/x", message="left", limits=CopyLimits(paths=200))
    assert caught.value.code == code
    assert caught.value.grade


def test_a_bundle_above_the_limit_is_refused(pod: Pod, images: Images, tmp_path: Path) -> None:
    box, base = begin(pod, images)
    work(box, "head -c 2000000 /dev/urandom > big")
    box.kill()
    trusted = pod.trusted()
    info = snapshot(trusted, base=base, branch="bench/x", message="left")
    with pytest.raises(CopyOutRefused) as caught:
        bundle(trusted, info, tmp_path / "b", limits=CopyLimits(bundle_bytes=1_000_000))
    assert caught.value.code == "too_large"
    assert list(tmp_path.iterdir()) == []


def test_a_host_without_room_for_the_bundle_is_not_the_contestants_doing(
    pod: Pod, images: Images, tmp_path: Path
) -> None:
    box, base = begin(pod, images)
    work(box, "head -c 3000000 /dev/urandom > big")
    box.kill()
    trusted = pod.trusted()
    info = snapshot(trusted, base=base, branch="bench/x", message="left")
    with small_disk(tmp_path / "disk", 1) as disk:
        with pytest.raises(OSError, match="No space left") as caught:
            bundle(trusted, info, disk / "branch.bundle")
        assert caught.value.errno == errno.ENOSPC
        assert list(disk.iterdir()) == []
    assert bundle(trusted, info, tmp_path / "branch.bundle").bytes > 3_000_000
