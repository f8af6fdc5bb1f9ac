"""Frozen patch sets: probes, faults, held-out faults and placebos, each a single edit of a frozen program."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from runner.errors import DiskFull, RigError
from runner.hostgit import GitTimeout, git
from runner.registry.benchmark import Benchmark
from runner.repo import Mirror
from runner.store.files import disk_error


class PatchFails(RigError):
    """A patch does not apply to its program, or changes nothing."""

    retry = False


@dataclass(frozen=True)
class Patch:
    """One file of a patch set; ``name`` is its file name without ending."""

    name: str
    path: Path

    def content(self) -> bytes:
        return self.path.read_bytes()


def patch_set(benchmark: Benchmark, folder: str | None) -> list[Patch]:
    """All ``*.patch`` of a folder the registry names, by name; no folder is an empty set."""
    if folder is None:
        return []
    return [Patch(p.stem, p) for p in sorted(benchmark.path(folder).glob("*.patch"))]


def apply_patch(mirror: Mirror, commit: str, patch: bytes, message: str) -> str:
    """A commit of the host's mirror with ``patch`` on top of ``commit``; no work tree is involved.

    Raises PatchFails where it does not apply or changes nothing.
    """
    return mirror.commit_tree(_patched(mirror, commit, patch, message), commit, message)


def reverted_tree(mirror: Mirror, commit: str, patch: bytes) -> str:
    """The tree that is left when ``patch`` is taken off ``commit``. Raises PatchFails where it does not come off."""
    return _patched(mirror, commit, patch, "the patch", "--reverse")


def mutant(mirror: Mirror, program: str, patch: Patch) -> str:
    """The program as if it had always been so: the same commit but for its tree. No name, date or length of the history
    tells a test that it looks at a mutant. Raises PatchFails.
    """
    content = patch.content()
    key = f"mutant {program} {hashlib.sha256(content).hexdigest()}"
    return mirror.once(key, lambda: mirror.retree(program, _patched(mirror, program, content, patch.name)))


def fits(mirror: Mirror, program: str, patch: Patch) -> bool:
    """Whether it applies to that program, and changes something."""
    try:
        mutant(mirror, program, patch)
    except PatchFails:
        return False
    return True


def _patched(mirror: Mirror, commit: str, patch: bytes, message: str, *way: str) -> str:
    with mirror.scratch_index() as index:
        more = {"GIT_INDEX_FILE": str(index)}
        try:
            index.write_bytes(mirror.index(commit))
        except OSError as error:
            raise disk_error(error, index) from None
        try:
            git(["apply", "--cached", "--whitespace=nowarn", *way, "-"], git_dir=mirror.path, extra=more, stdin=patch,
                cwd=mirror.path)  # fmt: skip
        except (DiskFull, GitTimeout):
            raise  # says nothing of the patch
        except RigError as error:
            raise PatchFails(f"{message} does not apply: {error.what}") from None
        tree = git(["write-tree"], git_dir=mirror.path, extra=more).decode().strip()
    if tree == mirror.tree_id(commit):
        raise PatchFails(f"{message} changes nothing")
    return tree


def reference_stages(benchmark: Benchmark, mirror: Mirror, baseline: str) -> list[str]:
    """The baseline, and what is left after each reference patch, in order. Raises PatchFails."""
    commits = [baseline]
    for patch in benchmark.entry.reference:
        commits.append(apply_patch(mirror, commits[-1], benchmark.path(patch).read_bytes(), patch))
    return commits


def reference_commit(benchmark: Benchmark, mirror: Mirror, baseline: str) -> str:
    """The frozen reference: the baseline with every reference patch applied in order. Raises PatchFails."""
    return reference_stages(benchmark, mirror, baseline)[-1]
