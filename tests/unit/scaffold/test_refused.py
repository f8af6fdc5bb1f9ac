"""What cannot become a benchmark is refused in one sentence, and nothing is written."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.errors import BenchError
from runner.scaffold.scaffold import scaffold
from tests.unit.scaffold.conftest import PYTHON, MakeRepo, run_git

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"


def refused(index: Path, benchmark: str, repo: Path, baseline: str = "HEAD") -> str:
    before = sorted(index.parent.rglob("*")), index.read_bytes()
    with pytest.raises(BenchError) as error:
        scaffold(index, benchmark, repo, baseline)
    assert error.value.exit_code == 2
    assert "\n" not in str(error.value)
    assert (sorted(index.parent.rglob("*")), index.read_bytes()) == before
    return str(error.value)


def gitlink(make: MakeRepo) -> Path:
    repo = make(PYTHON)
    head = run_git(repo, "rev-parse", "HEAD").strip()
    run_git(repo, "update-index", "--add", "--cacheinfo", f"160000,{head},vendor/other")
    run_git(repo, "commit", "-q", "-m", "A submodule")
    return repo


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (gitlink, "submodules (vendor/other)"),
        (lambda m: m({**PYTHON, ".gitmodules": '[submodule "x"]\n'}), "submodules (.gitmodules)"),
        (
            lambda m: m({**PYTHON, "art/.gitattributes": "# no\n*.png filter=lfs -text\n"}),
            "Git LFS (art/.gitattributes)",
        ),
        (lambda m: m({**PYTHON, "big.bin": POINTER}), "Git LFS (big.bin)"),
    ],
)
def test_submodules_and_lfs(make_repo: MakeRepo, index: Path, make: Callable[[MakeRepo], Path], said: str) -> None:
    assert said in refused(index, "new-1", make(make_repo))


@pytest.mark.parametrize(
    "files",
    [{".gitattributes": "# *.png filter=lfs\n*.txt text\n"}, {"notes.md": "Pointers begin with\n" + POINTER}],
)
def test_a_mention_of_lfs_is_no_use_of_it(make_repo: MakeRepo, index: Path, files: dict[str, str]) -> None:
    assert scaffold(index, "new-1", make_repo({**PYTHON, **files}), "HEAD", patches=1).patches == 1


def test_what_was_removed_before_the_baseline_does_not_count(make_repo: MakeRepo, index: Path) -> None:
    repo = make_repo({**PYTHON, "big.bin": POINTER})
    run_git(repo, "rm", "-q", "big.bin")
    run_git(repo, "commit", "-q", "-m", "No more LFS")
    assert scaffold(index, "new-1", repo, "HEAD", patches=1).patches == 1


@pytest.mark.parametrize("name", ["Upper", "", "-x", "../x", "a/b", "a b", ".hidden", "a\n"])
def test_an_id_that_is_none(make_repo: MakeRepo, index: Path, name: str) -> None:
    assert "is no id" in refused(index, name, make_repo(PYTHON))


def test_an_id_that_exists(make_repo: MakeRepo, index: Path) -> None:
    assert "has a benchmark 'old' already" in refused(index, "old", make_repo(PYTHON))


def test_a_folder_that_is_there(make_repo: MakeRepo, index: Path) -> None:
    (index.parent / "new-1").mkdir()
    assert "already a folder" in refused(index, "new-1", make_repo(PYTHON))
    assert "already a folder" in refused(index, "index.md", make_repo(PYTHON, "again"))


def test_no_repository(index: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    assert "is no git repository" in refused(index, "new-1", tmp_path / "plain")
    assert "there is no folder" in refused(index, "new-1", tmp_path / "nowhere")


@pytest.mark.parametrize(
    "commit", ["0123456789abcdef0123456789abcdef01234567", "no-such-branch", "--help", "HEAD:README.md"]
)
def test_a_commit_that_does_not_resolve(make_repo: MakeRepo, index: Path, commit: str) -> None:
    assert "is no commit of" in refused(index, "new-1", make_repo(PYTHON), commit)


def test_a_linked_work_tree_a_shallow_and_a_partial_clone(make_repo: MakeRepo, index: Path, tmp_path: Path) -> None:
    repo = make_repo(PYTHON)
    (repo / "README.md").write_text("# Sums\n\nMore.\n")
    run_git(repo, "commit", "-q", "-a", "-m", "More")
    run_git(repo, "worktree", "add", "-q", str(tmp_path / "linked"), "HEAD~1")
    assert "linked work tree" in refused(index, "new-1", tmp_path / "linked")
    run_git(tmp_path, "clone", "-q", "--depth", "1", repo.as_uri(), "shallow")
    assert "shallow clone" in refused(index, "new-1", tmp_path / "shallow")
    run_git(repo, "config", "uploadpack.allowFilter", "true")
    run_git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", repo.as_uri(), "partial")
    assert "partial clone" in refused(index, "new-1", tmp_path / "partial")


def test_a_bare_clone_is_fine(make_repo: MakeRepo, index: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "-q", "--bare", str(make_repo(PYTHON)), "bare.git")
    assert scaffold(index, "new-1", tmp_path / "bare.git", "main", patches=1).patches == 1


def test_no_place_for_a_registry(make_repo: MakeRepo, tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="there is no folder"):
        scaffold(tmp_path / "nowhere" / "index.md", "new-1", make_repo(PYTHON), "main")


def test_a_tree_that_no_contestant_may_have_is_no_baseline_either(make_repo: MakeRepo, index: Path) -> None:
    repo = make_repo(PYTHON)
    empty = run_git(repo, "hash-object", "-w", "--stdin").strip()
    names = "".join(f"100644 {empty}\tmany/{n}\n" for n in range(50_001))
    subprocess.run(["git", "-C", str(repo), "update-index", "--index-info"], input=names, text=True, check=True)
    run_git(repo, "commit", "-qm", "Many")
    assert "is too large for a benchmark: the tree holds more than 50000 paths" in refused(index, "new-1", repo)
