"""The code that runs in the trusted container, on real repositories, without a container."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from runner.sandbox.inside.files import Refused
from runner.sandbox.inside.snapshot import bundle, snapshot

LIMITS = {"paths": 1000, "file_bytes": 1 << 20, "total_bytes": 8 << 20, "name_bytes": 255, "commits": 100}
ENV = {
    **{k: v for k, v in os.environ.items() if not k.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "c",
    "GIT_AUTHOR_EMAIL": "c@x",
    "GIT_COMMITTER_NAME": "c",
    "GIT_COMMITTER_EMAIL": "c@x",
}


class Repo:
    """A contestant's repository with one commit on the branch ``work``, and what the copy-out makes of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.path = root / "repo"
        self.path.mkdir()
        self.git("init", "-q", "-b", "work")
        (self.path / "a.txt").write_text("one\n")
        (self.path / "dir").mkdir()
        (self.path / "dir" / "b.txt").write_text("two\n")
        (self.path / ".gitignore").write_text("*.log\nout/\n")
        self.commit("base")
        self.base = self.git("rev-parse", "HEAD")

    def git(self, *arguments: str, stdin: bytes | None = None) -> str:
        command = ["git", "-C", str(self.path), *arguments]
        return subprocess.run(command, check=True, capture_output=True, env=ENV, input=stdin).stdout.decode().strip()

    def commit(self, message: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-qm", message)
        return self.git("rev-parse", "HEAD")

    def request(self, **more: Any) -> dict[str, Any]:
        scratch = self.root / "scratch"
        scratch.mkdir(exist_ok=True)
        return {
            "work": str(self.path),
            "scratch": str(scratch),
            "base": self.base,
            "branch": "work",
            "message": "left uncommitted",
            "artifacts": [],
            "exclude": [],
            "when": 1_800_000_000,
            "artifact_bytes": 1000,
            "limits": LIMITS,
            "bundle_bytes": 1 << 20,
        } | more

    def snapshot(self, **more: Any) -> dict[str, Any]:
        return snapshot(self.request(**more))

    def refused(self, **more: Any) -> str:
        with pytest.raises(Refused) as caught:
            self.snapshot(**more)
        return caught.value.code

    def files(self, head: str) -> dict[str, str]:
        """Path to content of a snapshot, read from our own repository."""
        own = ["git", f"--git-dir={self.root}/scratch/own.git"]
        env = ENV | {"GIT_ALTERNATE_OBJECT_DIRECTORIES": f"{self.path}/.git/objects"}
        listed = subprocess.run([*own, "ls-tree", "-rz", head], check=True, capture_output=True, env=env).stdout
        files = {}
        for line in listed.decode("utf-8", "surrogateescape").split("\0")[:-1]:
            meta, _, path = line.partition("\t")
            shown = subprocess.run([*own, "cat-file", "-p", meta.split()[2]], capture_output=True, env=env).stdout
            files[path] = shown.decode()
        return files


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path)


def test_nothing_done_is_the_base(repo: Repo) -> None:
    info = repo.snapshot()
    assert info["head"] == info["branch_head"] == repo.base
    assert info["changed"] == info["uncommitted"] == info["stranded"] == []
    made = bundle(repo.request())
    heads = repo.git("bundle", "list-heads", made["path"])
    assert heads == f"{repo.base} refs/heads/work"


def test_uncommitted_work_becomes_a_commit_on_top(repo: Repo) -> None:
    (repo.path / "c.txt").write_text("three\n")
    mine = repo.commit("mine")
    (repo.path / "a.txt").write_text("changed\n")
    (repo.path / "new.txt").write_text("untracked\n")
    (repo.path / "noise.log").write_text("ignored\n")
    (repo.path / "dir" / "b.txt").unlink()
    before = repo.git("for-each-ref"), repo.git("status", "--porcelain")
    info = repo.snapshot()
    assert info["branch_head"] == mine
    assert info["uncommitted"] == ["a.txt", "dir/b.txt", "new.txt"]
    assert set(info["changed"]) == {"a.txt", "c.txt", "dir/b.txt", "new.txt"}
    assert repo.files(info["head"])["a.txt"] == "changed\n"
    assert info["head"] == repo.snapshot()["head"], "the same work at the same time is the same commit"
    assert before == (repo.git("for-each-ref"), repo.git("status", "--porcelain")), "nothing of theirs was moved"


def test_flags_and_private_excludes_hide_nothing(repo: Repo) -> None:
    repo.git("update-index", "--skip-worktree", "a.txt")
    repo.git("update-index", "--assume-unchanged", "dir/b.txt")
    (repo.path / ".git" / "info" / "exclude").write_text("hidden.txt\n")
    for name in ("a.txt", "dir/b.txt", "hidden.txt"):
        (repo.path / name).write_text("hidden\n")
    assert repo.git("status", "--porcelain") == ""
    assert repo.snapshot()["uncommitted"] == ["a.txt", "dir/b.txt", "hidden.txt"]


def test_a_killed_git_leaves_a_lock_and_the_work_is_still_taken(repo: Repo) -> None:
    (repo.path / ".git" / "index.lock").touch()
    (repo.path / ".git" / "index").write_bytes(b"broken")
    (repo.path / "a.txt").write_text("changed\n")
    assert repo.snapshot()["uncommitted"] == ["a.txt"]


def test_detached_commits_other_branches_and_stashes_are_stranded(repo: Repo) -> None:
    repo.git("checkout", "-q", "--detach")
    (repo.path / "a.txt").write_text("detached\n")
    detached = repo.commit("detached")
    repo.git("branch", "aside", detached)
    (repo.path / "a.txt").write_text("stashed\n")
    repo.git("stash")
    info = repo.snapshot()
    assert f"HEAD {detached}" in info["stranded"]
    assert f"refs/heads/aside {detached}" in info["stranded"]
    assert any(line.startswith("refs/stash ") for line in info["stranded"])
    assert info["branch_head"] == repo.base
    assert repo.files(info["head"])["a.txt"] == "detached\n", "what lies in the tree is the work"


@pytest.mark.parametrize("how", ["-D", "-m"])
def test_a_branch_that_is_gone_is_the_contestants_doing(repo: Repo, how: str) -> None:
    repo.git("checkout", "-q", "--detach")
    repo.git("branch", how, "work", *(["other"] if how == "-m" else []))
    assert repo.refused() == "branch_missing"


def test_a_rewritten_base_is_told(repo: Repo) -> None:
    repo.git("commit", "-q", "--amend", "-m", "another base")
    (repo.path / "a.txt").write_text("x\n")
    info = repo.snapshot()
    assert info["base_is_ancestor"] is False
    assert info["changed"] == ["a.txt"]


def test_packed_references_and_a_gitdir_elsewhere(repo: Repo, tmp_path: Path) -> None:
    repo.git("pack-refs", "--all")
    assert repo.snapshot()["head"] == repo.base
    (repo.path / ".git").rename(tmp_path / "moved")
    assert repo.refused() == "git_missing"
    (repo.path / ".git").write_text(f"gitdir: {tmp_path}/moved\n")
    assert repo.refused() == "git_moved"
    (repo.path / ".git").unlink()
    (repo.path / ".git").symlink_to(tmp_path / "moved")
    assert repo.refused() == "git_moved"


def test_borrowed_objects_from_elsewhere_are_refused(repo: Repo, tmp_path: Path) -> None:
    (tmp_path.parent / "elsewhere").mkdir(exist_ok=True)
    (repo.path / ".git" / "objects" / "info").mkdir(exist_ok=True)
    (repo.path / ".git" / "objects" / "info" / "alternates").write_text(f"{tmp_path.parent}/elsewhere\n")
    assert repo.refused() == "alternates"


@pytest.mark.parametrize("broken", [False, True])
def test_a_repository_in_the_repository_is_taken_as_files(repo: Repo, broken: bool) -> None:
    inner = repo.path / "vendor"
    inner.mkdir()
    (inner / "x.txt").write_text("inner\n")
    if broken:
        (inner / ".git").write_text("gitdir: /nowhere\n")
    else:
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "inner"]):
            subprocess.run(["git", "-C", str(inner), *command], check=True, env=ENV)
    info = repo.snapshot()
    assert info["uncommitted"] == ["vendor/x.txt"]
    assert info["embedded"] == ["vendor"]


def test_a_committed_gitlink_stays(repo: Repo) -> None:
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.base},sub")
    repo.git("commit", "-qm", "link")
    (repo.path / "sub").mkdir()
    (repo.path / "sub" / ".git").write_text("gitdir: ../nowhere\n")
    (repo.path / "sub" / "f").write_text("inside\n")
    assert repo.snapshot()["uncommitted"] == []


def test_links_pipes_and_odd_names(repo: Repo) -> None:
    os.mkfifo(repo.path / "pipe")
    (repo.path / "link").symlink_to("/etc/passwd")
    (repo.path / "dirlink").symlink_to("/etc")
    raw = os.fsencode(repo.path)
    for name in (b"caf\xe9.py", b"new\nline", b"tab\tx", b'quo"te', b":(exclude)a", b"-n"):
        Path(os.fsdecode(raw + b"/" + name)).write_text("x\n")
    info = repo.snapshot()
    names = {os.fsencode(path) for path in info["uncommitted"]}
    assert names == {b"link", b"dirlink", b"caf\xe9.py", b"new\nline", b"tab\tx", b'quo"te', b":(exclude)a", b"-n"}
    assert info["refused"] == ["pipe: special file"]
    assert repo.files(info["head"])["link"] == "/etc/passwd", "a link is stored as a link"


def test_a_directory_became_a_link_and_a_file_a_directory(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.txt").write_text("foreign\n")
    (repo.path / "dir" / "b.txt").unlink()
    (repo.path / "dir").rmdir()
    (repo.path / "dir").symlink_to(tmp_path / "outside")
    (repo.path / "a.txt").unlink()
    (repo.path / "a.txt").mkdir()
    (repo.path / "a.txt" / "deep").write_text("x\n")
    info = repo.snapshot()
    assert set(info["uncommitted"]) == {"dir/b.txt", "dir", "a.txt", "a.txt/deep"}
    assert "foreign\n" not in repo.files(info["head"]).values()


@pytest.mark.parametrize("name", [".gitignore", "dir/.gitattributes"])
def test_a_pipe_where_git_reads_rules_does_not_hold_us(repo: Repo, name: str) -> None:
    (repo.path / name).unlink(missing_ok=True)
    os.mkfifo(repo.path / name)
    assert repo.refused() == "special_file"


def test_ignored_directories_are_not_walked(repo: Repo) -> None:
    (repo.path / "out").mkdir()
    for number in range(1500):
        (repo.path / "out" / str(number)).touch()
    assert repo.snapshot()["uncommitted"] == []
    (repo.path / "in").mkdir()
    for number in range(1500):
        (repo.path / "in" / str(number)).touch()
    assert repo.refused() == "too_many_paths"


def test_a_huge_file_is_left_behind_and_named(repo: Repo) -> None:
    with (repo.path / "huge").open("wb") as file:
        file.truncate(1 << 31)
    info = repo.snapshot()
    assert info["uncommitted"] == []
    assert info["refused"] == [f"huge: larger than {1 << 20} bytes"]


def test_exclude_patterns_of_the_runner(repo: Repo) -> None:
    (repo.path / "agent.tmp").write_text("dropping\n")
    (repo.path / "mine.txt").write_text("x\n")
    assert repo.snapshot(exclude=["agent.tmp"])["uncommitted"] == ["mine.txt"]


def test_attributes_that_fail_do_not_lose_the_work(repo: Repo) -> None:
    (repo.path / ".gitattributes").write_text("a.txt working-tree-encoding=UTF-16\n")
    (repo.path / "a.txt").write_bytes(b"odd")
    assert "a.txt" in repo.snapshot()["uncommitted"]


def test_nothing_that_the_contestant_configured_runs(repo: Repo, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\necho $0 $@ >> {marker}\ncat\n")
    evil.chmod(0o755)
    for key in ("core.fsmonitor", "diff.external", "filter.x.clean", "filter.x.smudge", "diff.x.textconv"):
        repo.git("config", key, str(evil))
    for key, value in {
        "gpg.program": str(evil),
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": str(tmp_path / "nowhere"),
        "remote.origin.uploadpack": str(evil),
        "commit.gpgSign": "true",
        "core.hooksPath": str(tmp_path / "hooks"),
    }.items():
        repo.git("config", key, value)
    (tmp_path / "hooks").mkdir()
    for hook in ("pre-commit", "post-commit", "post-index-change", "reference-transaction", "post-checkout"):
        (tmp_path / "hooks" / hook).symlink_to(evil)
    (repo.path / ".gitattributes").write_text("* filter=x diff=x\n")
    (repo.path / "a.txt").write_text("changed\n")
    repo.snapshot()
    bundle(repo.request())
    assert not marker.exists()


def _bomb(repo: Repo, depth: int) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", stdin=b"x")
    tree = repo.git("mktree", stdin="".join(f"100644 blob {blob}\tf{n}\n" for n in range(10)).encode())
    for _ in range(depth):
        tree = repo.git("mktree", stdin="".join(f"040000 tree {tree}\td{n}\n" for n in range(10)).encode())
    repo.git("update-ref", "refs/heads/work", repo.git("commit-tree", tree, "-p", repo.base, "-m", "bomb"))


def test_a_thousand_million_paths_are_counted_not_listed(repo: Repo) -> None:
    _bomb(repo, 8)
    assert repo.refused() == "too_many_paths"


def test_a_bomb_in_the_middle_of_the_history_is_found(repo: Repo) -> None:
    _bomb(repo, 5)
    tree = repo.git("rev-parse", f"{repo.base}^{{tree}}")
    repo.git("update-ref", "refs/heads/work", repo.git("commit-tree", tree, "-p", "work", "-m", "hidden"))
    assert repo.refused() == "too_many_paths"


@pytest.mark.parametrize("name", [b".git", b"..", b"a/b"])
def test_trees_that_git_would_not_make(repo: Repo, name: bytes) -> None:
    blob = bytes.fromhex(repo.git("hash-object", "-w", "--stdin", stdin=b"x"))
    raw = b"100644 " + name + b"\0" + blob
    tree = repo.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)
    repo.git("update-ref", "refs/heads/work", repo.git("commit-tree", tree, "-p", repo.base, "-m", "bad"))
    assert repo.refused() == "bad_tree"


def test_missing_objects(repo: Repo) -> None:
    (repo.path / "a.txt").write_text("lost\n")
    repo.commit("mine")
    lost = repo.git("rev-parse", "HEAD:a.txt")
    (repo.path / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    assert repo.refused() == "objects_missing"


def test_the_bundle_stands_alone_and_is_bounded(repo: Repo, tmp_path: Path) -> None:
    (repo.path / "blob").write_bytes(os.urandom(300_000))
    info = repo.snapshot()
    made = bundle(repo.request())
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "-b", "work", made["path"], str(clone)], check=True, env=ENV)
    assert (clone / "blob").stat().st_size == 300_000
    head = subprocess.run(["git", "-C", str(clone), "rev-parse", "HEAD"], capture_output=True, env=ENV).stdout
    assert head.decode().strip() == info["head"]
    with pytest.raises(Refused) as caught:
        bundle(repo.request(bundle_bytes=1000))
    assert caught.value.code == "too_large"


def test_artifacts_are_regular_files_within_the_limit(repo: Repo, tmp_path: Path) -> None:
    (repo.path / "RESULT.log").write_text("done\n")
    (repo.path / "big.log").write_bytes(b"x" * 2000)
    (repo.path / "link.log").symlink_to("/etc/passwd")
    os.mkfifo(repo.path / "pipe.log")
    (repo.path / "etc").symlink_to("/etc")
    names = ["RESULT.log", "big.log", "link.log", "pipe.log", "etc/passwd", "absent.log", "../escape"]
    assert repo.snapshot(artifacts=names)["artifacts"] == ["RESULT.log"]
    assert [p.name for p in (tmp_path / "scratch" / "artifacts").rglob("*")] == ["RESULT.log"]
