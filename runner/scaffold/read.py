"""Reads somebody's clone at one commit, and says at once what cannot become a benchmark.

Only objects are read, through a bare mirror of the host's own: nothing is fetched, no work tree is looked at and
nothing is written to the clone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from runner.errors import ConfigError, ContestantError, RigError, UsageError
from runner.hostgit import printable
from runner.repo import Mirror, TreeFile
from runner.treelimits import TreeLimits

_POINTER = b"version https://git-lfs.github.com/spec/"
_POINTER_BYTES = 1024
_LFS = re.compile(rb"^[ \t]*[^#\s].*[ \t]filter=lfs(?:\s|$)", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """The baseline of a clone. ``files`` holds regular files only, by name (names that are no UTF-8 are left out)."""

    repo: Path
    mirror: Mirror
    commit: str
    files: dict[str, TreeFile]
    tree_bytes: int

    def text(self, path: str) -> str | None:
        """A file as text; None where it is not there or is no UTF-8."""
        if path not in self.files:
            return None
        (_, content) = next(self.mirror.blobs([self.files[path]]))
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            return None

    def texts(self, paths: Iterable[str]) -> dict[str, str]:
        """Several files as text, in the order asked for; what cannot be read is left out."""
        wanted = {self.files[p].path: p for p in paths if p in self.files}
        found: dict[str, str] = {}
        for file, content in self.mirror.blobs([self.files[p] for p in wanted.values()]):
            try:
                found[wanted[file.path]] = content.decode("utf-8")
            except UnicodeDecodeError:
                continue
        return found


def open_source(repo: Path, baseline: str, mirror_dir: Path) -> Source:
    """The clone's baseline, copied object by object into a mirror at ``mirror_dir`` (not there yet).

    Raises UsageError for a folder that is no whole clone, ConfigError for a commit that does not resolve, for
    submodules, for Git LFS and for a tree that no contestant may hand back.
    """
    repo = repo.resolve()
    _check_clone(repo)
    try:
        mirror, commit = Mirror.create(mirror_dir, repo, baseline)
    except RigError as error:
        raise ConfigError(
            f"the history of {baseline} in {repo} cannot be read ({error.what})",
            "every object must be there: a partial clone (--filter) has to be made anew as a full one",
        ) from None
    try:
        TreeLimits().check(mirror.path, commit)
    except ContestantError as error:
        raise ConfigError(f"{repo} at {commit[:12]} is too large for a benchmark: {error.what}") from None
    tree = mirror.tree(commit)
    _refuse_submodules(repo, commit, tree)
    files: dict[str, TreeFile] = {}
    total = 0
    for file, content in mirror.blobs([f for f in tree if f.mode in ("100644", "100755")]):
        _refuse_lfs(repo, commit, file, content)
        total += len(content)
        try:
            files[file.path.decode("utf-8")] = file
        except UnicodeDecodeError:
            continue
    return Source(repo, mirror, commit, files, total)


def _check_clone(repo: Path) -> None:
    if not repo.is_dir():
        raise UsageError(f"--repo: there is no folder {repo}")
    marker = repo / ".git"
    if marker.is_file():
        raise UsageError(
            f"--repo: {repo} is a linked work tree or a submodule, not a clone of its own",
            "name the clone that it belongs to",
        )
    git_dir = marker if marker.is_dir() else repo
    if not ((git_dir / "HEAD").is_file() and (git_dir / "objects").is_dir()):
        raise UsageError(f"--repo: {repo} is no git repository", "name the top folder of a local clone")
    if (git_dir / "shallow").exists():
        raise UsageError(f"--repo: {repo} is a shallow clone: history is missing", "git fetch --unshallow")


def _refuse_submodules(repo: Path, commit: str, tree: list[TreeFile]) -> None:
    for file in tree:
        if file.mode == "160000" or file.path == b".gitmodules":
            raise ConfigError(
                f"{repo} at {commit[:12]} uses submodules ({printable(file.path)}); a benchmark is one repository",
                "commit the files of the submodule itself, and take that commit as the baseline",
            )


def _refuse_lfs(repo: Path, commit: str, file: TreeFile, content: bytes) -> None:
    attributes = file.path.rsplit(b"/", 1)[-1] == b".gitattributes" and _LFS.search(content)
    if attributes or (len(content) <= _POINTER_BYTES and content.startswith(_POINTER)):
        raise ConfigError(
            f"{repo} at {commit[:12]} uses Git LFS ({printable(file.path)}); its files are not in the repository",
            "commit the files themselves (git lfs migrate export), and take that commit as the baseline",
        )
