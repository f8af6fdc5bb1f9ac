"""Host-owned mirrors: real git, no container."""

from __future__ import annotations

import os
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from runner.errors import ConfigError, ContestantError, RigError
from runner.hostgit import clean_environment, git, printable
from runner.repo import Mirror
from runner.treelimits import TreeLimits

REF = "refs/heads/bench/x"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "program"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("a = 1\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / ".gitignore").write_text("cache/\n")
    (folder / "cache").mkdir()
    (folder / "cache" / "junk").write_text("never in the baseline")
    return folder


def folder_commit(program: Path, tmp_path: Path) -> str:
    """The commit that a folder stands for, read out of the error that a wrong baseline gives."""
    with pytest.raises(ConfigError, match="that folder's commit is") as error:
        Mirror.create(tmp_path / "probe.git", program, "0" * 40)
    return error.value.what.rsplit(" ", 1)[1]


@pytest.fixture
def mirror(program: Path, tmp_path: Path) -> tuple[Mirror, str]:
    return Mirror.create(tmp_path / "mirror.git", program, folder_commit(program, tmp_path))


def contestant(mirror: Mirror, base: str, tmp_path: Path) -> Path:
    """A clone in which a contestant could do anything."""
    clone = tmp_path / "clone"
    run("git", "clone", "-q", str(mirror.path), str(clone))
    run("git", "-C", str(clone), "checkout", "-q", "-b", "bench/x", base)
    return clone


def run(*argv: str) -> bytes:
    env = clean_environment() | {"GIT_AUTHOR_NAME": "c", "GIT_AUTHOR_EMAIL": "c@x", "GIT_COMMITTER_NAME": "c",
                                 "GIT_COMMITTER_EMAIL": "c@x"}  # fmt: skip
    return subprocess.run(argv, check=True, capture_output=True, env=env).stdout


def fed(git_dir: str, *argv: str, stdin: bytes) -> str:
    done = subprocess.run(
        ["git", "--git-dir", git_dir, *argv], check=True, capture_output=True, env=clean_environment(), input=stdin
    )
    return done.stdout.decode().strip()


def commit(clone: Path, message: str = "work") -> None:
    run("git", "-C", str(clone), "add", "-A")
    run("git", "-C", str(clone), "commit", "-q", "-m", message)


def bundle_of(clone: Path, tmp_path: Path, ref: str = "bench/x") -> Path:
    target = tmp_path / "branch.bundle"
    run("git", "-C", str(clone), "bundle", "create", "-q", str(target), ref)
    return target


def test_a_folder_is_one_commit_that_depends_on_content_alone(program: Path, tmp_path: Path) -> None:
    first = folder_commit(program, tmp_path)
    os.utime(program / "src" / "a.py", (1, 1))
    assert folder_commit(program, tmp_path) == first
    (program / "src" / "a.py").write_text("a = 2\n")
    assert folder_commit(program, tmp_path) != first


def test_a_baseline_that_is_refused_leaves_nothing(program: Path, tmp_path: Path) -> None:
    folder_commit(program, tmp_path)
    assert not (tmp_path / "probe.git").exists()


def test_ignored_files_are_not_in_the_baseline_and_modes_are(mirror: tuple[Mirror, str]) -> None:
    files = {f.path: f.mode for f in mirror[0].tree(mirror[1])}
    assert files == {b".gitignore": "100644", b"run.sh": "100755", b"src/a.py": "100644"}


def test_an_inherited_git_dir_does_not_redirect(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.git"
    git(["init", "-q", "--bare", str(other)])
    base = folder_commit(program, tmp_path)
    monkeypatch.setenv("GIT_DIR", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "stolen.index"))
    Mirror.create(tmp_path / "mirror.git", program, base)
    assert not (tmp_path / "stolen.index").exists()
    assert git(["for-each-ref"], git_dir=other) == b""


def test_a_repository_brings_nothing_newer_than_the_baseline(tmp_path: Path) -> None:
    source = tmp_path / "source"
    run("git", "init", "-q", str(source))
    (source / "f").write_text("1")
    commit(source, "base")
    base = run("git", "-C", str(source), "rev-parse", "HEAD").decode().strip()
    (source / "f").write_text("the fix")
    commit(source, "newer")
    run("git", "-C", str(source), "tag", "v2")
    mirror, full = Mirror.create(tmp_path / "mirror.git", source, base[:8])
    assert full == base
    objects = mirror.git("cat-file", "--batch-all-objects", "--batch-check").decode()
    assert objects.count("commit") == 1
    assert mirror.git("tag").strip() == b""
    for _, content in mirror.blobs(mirror.tree(full)):
        assert b"the fix" not in content


def repository(tmp_path: Path) -> tuple[Path, str]:
    """Three commits; the id of the second."""
    folder = tmp_path / "origin"
    run("git", "init", "-q", "--initial-branch=main", str(folder))
    ids = []
    for text in ("one", "two", "three"):
        (folder / "a").write_text(text)
        run("git", "-C", str(folder), "add", "a")
        run("git", "-C", str(folder), "commit", "-qm", text)
        ids.append(run("git", "-C", str(folder), "rev-parse", "HEAD").decode().strip())
    run("git", "-C", str(folder), "branch", "work")
    return folder, ids[1]


def test_a_clone_may_be_bare_linked_a_submodule_or_oddly_named(tmp_path: Path) -> None:
    origin, baseline = repository(tmp_path)
    odd, linked, bare = tmp_path / "ein Ordner ü" / "klön 1", tmp_path / "linked", tmp_path / "bare.git"
    run("git", "clone", "-q", "-b", "work", str(origin), str(odd))
    run("git", "-C", str(origin), "worktree", "add", "-q", str(linked), "-b", "more")
    run("git", "clone", "-q", "--bare", str(origin), str(bare))
    over = tmp_path / "over"
    run("git", "init", "-q", str(over))
    run("git", "-C", str(over), "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(origin), "sub")
    run("git", "-C", str(over / "sub"), "branch", "work", "origin/work")
    for number, source in enumerate((odd, linked, bare, over / "sub")):
        mirror, found = Mirror.create(tmp_path / f"{number}.git", source, baseline[:7])
        assert found == baseline, source
        assert mirror.read(mirror.adopt(source, "work"), "a") == b"three", source


def test_a_clone_that_lacks_history_or_files_says_so_in_one_sentence(tmp_path: Path) -> None:
    origin, baseline = repository(tmp_path)
    shallow, partial = tmp_path / "shallow", tmp_path / "partial"
    run("git", "clone", "-q", "--depth", "2", "-b", "work", f"file://{origin}", str(shallow))
    run("git", "-C", str(origin), "config", "uploadpack.allowFilter", "true")
    run("git", "clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{origin}", str(partial))
    for number, source in enumerate((shallow, partial)):
        with pytest.raises(ConfigError, match=f"{source} does not hold all of baseline .* git fetch --unshallow"):
            Mirror.create(tmp_path / f"{number}.git", source, baseline)
    lost = tmp_path / "lost"
    lost.mkdir()
    (lost / ".git").write_text("gitdir: ../nowhere\n")
    with pytest.raises(ConfigError, match="leads to no repository"):
        Mirror.create(tmp_path / "x.git", lost, baseline)


def test_an_unknown_baseline_is_one_sentence(tmp_path: Path) -> None:
    source = tmp_path / "source"
    run("git", "init", "-q", str(source))
    with pytest.raises(ConfigError, match="baseline deadbeef is no commit of"):
        Mirror.create(tmp_path / "mirror.git", source, "deadbeef")


def test_a_branch_comes_over_and_its_changes_are_counted(mirror: tuple[Mirror, str], tmp_path: Path) -> None:
    host, base = mirror
    clone = contestant(host, base, tmp_path)
    run("git", "-C", str(clone), "mv", "src/a.py", "b.py")
    (clone / "b.py").write_text("a = 1\nb = 2\n")
    commit(clone)
    head = host.import_bundle(bundle_of(clone, tmp_path), REF, TreeLimits())
    assert host.changed_paths(base, head) == [b"b.py", b"src/a.py"]
    assert host.diff_lines(base, head) == 3
    assert host.has_ancestor(base, head)


def test_a_cut_bundle_is_the_contestants_fault(mirror: tuple[Mirror, str], tmp_path: Path) -> None:
    host, base = mirror
    clone = contestant(host, base, tmp_path)
    (clone / "big").write_bytes(os.urandom(5000))
    commit(clone)
    bundle = bundle_of(clone, tmp_path)
    bundle.write_bytes(bundle.read_bytes()[:-200])
    with pytest.raises(ContestantError, match="cannot be taken over"):
        host.import_bundle(bundle, REF, TreeLimits())


@pytest.mark.parametrize(
    "name", ["refs/heads/--output=x", "refs/heads/a..b", "refs/heads/x.lock", "main", "refs/tags/v"]
)
def test_names_that_git_could_take_for_something_else_are_refused(mirror: tuple[Mirror, str], name: str) -> None:
    with pytest.raises(ConfigError, match="no usable branch name"):
        mirror[0].import_bundle(Path("nothing"), name, TreeLimits())


def test_only_the_expected_ref_is_fetched(mirror: tuple[Mirror, str], tmp_path: Path) -> None:
    host, base = mirror
    clone = contestant(host, base, tmp_path)
    (clone / "f").write_text("x")
    commit(clone)
    run("git", "-C", str(clone), "tag", "extra")
    run("git", "-C", str(clone), "branch", "other")
    target = tmp_path / "all.bundle"
    run("git", "-C", str(clone), "bundle", "create", "-q", str(target), "--all")
    host.import_bundle(target, REF, TreeLimits())
    refs = host.git("for-each-ref", "--format=%(refname)").decode().split()
    assert refs == ["refs/heads/baseline", REF]


def test_a_bomb_of_paths_is_refused_quickly(mirror: tuple[Mirror, str], tmp_path: Path) -> None:
    host, base = mirror
    clone = contestant(host, base, tmp_path)
    git_dir = str(clone / ".git")
    blob = run("git", "--git-dir", git_dir, "hash-object", "-w", "--stdin").decode().strip()
    tree = fed(git_dir, "mktree", stdin="".join(f"100644 blob {blob}\tf{i}\n" for i in range(10)).encode())
    for _ in range(8):
        tree = fed(git_dir, "mktree", stdin="".join(f"040000 tree {tree}\td{i}\n" for i in range(10)).encode())
    bomb = run("git", "--git-dir", git_dir, "commit-tree", "-p", base, "-m", "bomb", tree).decode().strip()
    run("git", "--git-dir", git_dir, "update-ref", REF, bomb)
    host.git("update-ref", REF, base)
    with pytest.raises(ContestantError, match="more than 50000 paths"):
        host.import_bundle(bundle_of(clone, tmp_path, REF), REF, TreeLimits())
    assert host.head(REF) == base, "the branch is at what was refused"
    assert host.git("for-each-ref", "--format=%(refname)").decode().split() == ["refs/heads/baseline", REF]


def test_a_forbidden_name_in_the_tree_is_refused(mirror: tuple[Mirror, str], tmp_path: Path) -> None:
    host, base = mirror
    clone = contestant(host, base, tmp_path)
    git_dir = str(clone / ".git")
    blob = run("git", "--git-dir", git_dir, "hash-object", "-w", "--stdin").decode().strip()
    raw = b"100644 .GIT\0" + bytes.fromhex(blob)
    tree = fed(git_dir, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)
    evil = run("git", "--git-dir", git_dir, "commit-tree", "-p", base, "-m", "x", tree).decode().strip()
    run("git", "--git-dir", git_dir, "update-ref", REF, evil)
    with pytest.raises(ContestantError):
        host.import_bundle(bundle_of(clone, tmp_path, REF), REF, TreeLimits())


def test_attributes_of_the_branch_change_nothing_in_the_tar(mirror: tuple[Mirror, str], tmp_path: Path) -> None:
    host, base = mirror
    clone = contestant(host, base, tmp_path)
    (clone / ".gitattributes").write_text("src/a.py export-ignore\n* text eol=crlf\nv export-subst\n")
    (clone / "v").write_text("$Format:%H$\n")
    commit(clone)
    head = host.import_bundle(bundle_of(clone, tmp_path), REF, TreeLimits())
    with tarfile.open(fileobj=BytesIO(host.tar(head))) as archive:
        content = {m.name: archive.extractfile(m).read() for m in archive if m.isreg()}  # type: ignore[union-attr]
    assert content["src/a.py"] == b"a = 1\n"
    assert content["v"] == b"$Format:%H$\n"


def test_an_overlay_replaces_files_and_links_in_their_way(mirror: tuple[Mirror, str], tmp_path: Path) -> None:
    host, base = mirror
    clone = contestant(host, base, tmp_path)
    (clone / "src" / "a.py").unlink()
    (clone / "src").rmdir()
    (clone / "src").symlink_to("/etc")
    commit(clone)
    head = host.import_bundle(bundle_of(clone, tmp_path), REF, TreeLimits())
    overlay = {b"src/a.py": ("100644", b"frozen\n"), b"run.sh": None}
    with tarfile.open(fileobj=BytesIO(host.tar(head, overlay=overlay))) as archive:
        members = {m.name: m for m in archive}
        assert set(members) == {".gitignore", "src/a.py"}
        assert archive.extractfile(members["src/a.py"]).read() == b"frozen\n"  # type: ignore[union-attr]
    assert {f.path for f in host.tree(host.overlaid(head, overlay, "as it is checked"))} == {b".gitignore", b"src/a.py"}


def test_another_repositorys_commit_is_no_file(mirror: tuple[Mirror, str]) -> None:
    host, base = mirror
    with host.scratch_index() as index:
        more = {"GIT_INDEX_FILE": str(index)}
        host.git("update-index", "--add", "--cacheinfo", f"160000,{base},linked", **more)
        head = host.commit_tree(host.git("write-tree", **more).decode().strip(), base, "linked")
    assert [f.path for f in host.tree(head)] == [b"linked"]
    assert host.read(head, "linked") is None


def test_names_that_are_no_utf8_survive(mirror: tuple[Mirror, str], tmp_path: Path) -> None:
    host, base = mirror
    clone = contestant(host, base, tmp_path)
    for name in (b"caf\xe9.py", b"a\nb", b"tab\there", b'quo"te'):
        (clone / os.fsdecode(name)).write_text("x")
    commit(clone)
    head = host.import_bundle(bundle_of(clone, tmp_path), REF, TreeLimits())
    assert set(host.changed_paths(base, head)) == {b"caf\xe9.py", b"a\nb", b"tab\there", b'quo"te'}
    assert printable(b"caf\xe9\n") == "caf\\xe9\\x0a"


def test_git_that_fails_says_which_and_why() -> None:
    with pytest.raises(RigError, match=r"git rev-parse failed: "):
        git(["rev-parse", "--verify", "no-such"], git_dir=Path("/nonexistent"))
