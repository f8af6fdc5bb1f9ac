"""What a contestant left, as one commit and one bundle, made in a trusted container after the contestant is dead."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any

from runner.errors import ContestantError, RigError
from runner.sandbox.box import Box
from runner.sandbox.tarin import CopyReport

__all__ = [
    "BundleInfo",
    "CopyLimits",
    "CopyOutFailed",
    "CopyOutRefused",
    "SnapshotInfo",
    "bundle",
    "copy_artifacts",
    "snapshot",
]

_MIB = 1 << 20
_TIMEOUT_S = 600
_ANSWER_BYTES = 64 * _MIB
_CODE, _SCRATCH, _TREE = "/scratch/code", "/scratch/copy", "/work/repo"
_READER = "1000:1000"
_RUN = "import sys; sys.path.insert(0, sys.argv[1]); from inside.snapshot import main; main()"


class CopyOutRefused(ContestantError):
    """What the contestant left cannot be used: its own doing, and a result.

    ``code``: tree_missing, git_missing, git_moved, objects_missing, alternates, branch_missing, branch_broken,
    base_missing, special_file, too_large, too_many_paths, too_many_commits, too_many_refs, name_too_long, bad_tree,
    too_slow, unusable.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class CopyOutFailed(RigError):
    """The copy-out itself failed; nothing is said about the contestant."""


@dataclass(frozen=True)
class CopyLimits:
    """Bounds on what is taken out. Bytes, but ``paths`` and ``commits``. A file above ``file_bytes`` is left behind
    and named; every other limit refuses the whole.
    """

    bundle_bytes: int = 256 * _MIB
    paths: int = 50_000
    total_bytes: int = 1024 * _MIB
    file_bytes: int = 64 * _MIB
    artifact_bytes: int = 16 * _MIB
    name_bytes: int = 255
    commits: int = 20_000


@dataclass(frozen=True)
class SnapshotInfo:
    """The snapshot. Paths are ``os.fsdecode``d bytes: ``os.fsencode`` gives them back exactly.

    ``head``: the branch with what was left uncommitted on top, where anything was; ``branch_head``: without.
    ``stranded``: "reference sha" of work outside the branch. ``refused``: "path: reason", ``embedded``: directories
    that hold a repository of their own, whose files were taken as plain files; the first hundred of each.
    """

    base: str
    branch: str
    head: str
    tree: str
    branch_head: str
    base_is_ancestor: bool
    commits: int
    paths: int
    bytes: int
    changed_paths: tuple[str, ...]
    uncommitted_paths: tuple[str, ...]
    stranded: tuple[str, ...]
    refused: tuple[str, ...]
    embedded: tuple[str, ...]
    artifacts: tuple[str, ...]

    @property
    def committed_by_contestant(self) -> bool:
        return self.branch_head != self.base

    @property
    def snapshot_commit(self) -> bool:
        """Was work left uncommitted?"""
        return self.head != self.branch_head


@dataclass(frozen=True)
class BundleInfo:
    path: Path
    bytes: int
    sha256: str


def snapshot(
    trusted: Box,
    *,
    base: str,
    branch: str,
    message: str,
    artifacts: Sequence[str] = (),
    exclude: Sequence[str] = (),
    limits: CopyLimits | None = None,
    when: int | None = None,
) -> SnapshotInfo:
    """Commit what lies at /work/repo on top of ``branch``, in the trusted box's scratch space.

    Nothing in the contestant's own repository is moved, and nothing that it configured is run. ``exclude``: ignore
    patterns of the runner's own droppings. ``when``: the commit's time in seconds since 1970 (default: now).
    Raises CopyOutRefused (the contestant's doing) or RigError.
    """
    limits = limits or CopyLimits()
    package = resources.files("runner.sandbox").joinpath("inside")
    modules = {entry.name: entry.read_bytes() for entry in package.iterdir() if entry.name.endswith(".py")}
    trusted.put({f"inside/{name}": content for name, content in modules.items()}, _CODE)
    fresh = trusted.exec(["sh", "-c", f"rm -rf {_SCRATCH}; mkdir -m 0777 {_SCRATCH}"], timeout_s=60)
    if not fresh.ok:
        raise CopyOutFailed(f"the scratch space cannot be prepared: {fresh.stderr.decode('utf-8', 'replace')}")
    answer = _ask(
        trusted,
        {
            "do": "snapshot",
            "base": base,
            "branch": branch,
            "message": message,
            "artifacts": list(artifacts),
            "exclude": list(exclude),
            "when": int(time.time()) if when is None else when,
            "artifact_bytes": limits.artifact_bytes,
            "limits": {
                "paths": limits.paths,
                "file_bytes": limits.file_bytes,
                "total_bytes": limits.total_bytes,
                "name_bytes": limits.name_bytes,
                "commits": limits.commits,
            },
        },
    )
    return SnapshotInfo(
        base=base,
        branch=branch,
        head=answer["head"],
        tree=answer["tree"],
        branch_head=answer["branch_head"],
        base_is_ancestor=answer["base_is_ancestor"],
        commits=answer["commits"],
        paths=answer["paths"],
        bytes=answer["bytes"],
        changed_paths=tuple(answer["changed"]),
        uncommitted_paths=tuple(answer["uncommitted"]),
        stranded=tuple(answer["stranded"]),
        refused=tuple(answer["refused"]),
        embedded=tuple(answer["embedded"]),
        artifacts=tuple(answer["artifacts"]),
    )


def bundle(trusted: Box, info: SnapshotInfo, dest: Path, *, limits: CopyLimits | None = None) -> BundleInfo:
    """Write the snapshot as a bundle to ``dest`` on the host: one reference, ``refs/heads/<branch>``.

    It holds everything from the base commit on, the base included, so it is never empty. Byte for byte what git
    wrote. Raises CopyOutRefused (too large) or RigError. Same trusted box as the snapshot.
    """
    limits = limits or CopyLimits()
    request = {"do": "bundle", "base": info.base, "branch": info.branch, "bundle_bytes": limits.bundle_bytes}
    answer = _ask(trusted, request)
    partial = dest.with_name(dest.name + ".part")
    try:
        done = trusted.exec(
            ["cat", answer["path"]],
            timeout_s=_TIMEOUT_S,
            user=_READER,
            stdout_to=partial,
            output_limit=answer["bytes"] + 1,
        )
        digest = sha256()
        with partial.open("rb") as file:
            while block := file.read(_MIB):
                digest.update(block)
        if not done.ok or digest.hexdigest() != answer["sha256"]:
            raise CopyOutFailed("the bundle did not arrive as it was made")
        partial.replace(dest)
    finally:
        partial.unlink(missing_ok=True)
    return BundleInfo(path=dest, bytes=answer["bytes"], sha256=answer["sha256"])


def copy_artifacts(trusted: Box, info: SnapshotInfo, dest: Path, *, limits: CopyLimits | None = None) -> CopyReport:
    """Write the artifacts that the snapshot found below ``dest`` on the host; regular files only. Raises RigError."""
    limits = limits or CopyLimits()
    if not info.artifacts:
        return CopyReport()
    return trusted.get_tree(
        f"{_SCRATCH}/artifacts",
        dest,
        limit_bytes=limits.artifact_bytes * len(info.artifacts),
        limit_files=len(info.artifacts),
        user=_READER,
    )


def _ask(trusted: Box, request: dict[str, Any]) -> dict[str, Any]:
    """One request to the code in the trusted box, as the user whom the work tree belongs to, without capabilities."""
    request |= {"work": _TREE, "scratch": _SCRATCH}
    done = trusted.exec(
        ["python3", "-I", "-c", _RUN, _CODE],
        timeout_s=_TIMEOUT_S,
        user=_READER,
        stdin=json.dumps(request).encode(),
        output_limit=_ANSWER_BYTES,
    )
    if done.oom:
        raise CopyOutRefused("too_large", "the repository needs more memory than copying it out may take")
    if done.stdout_truncated:
        raise CopyOutRefused("too_many_paths", "the list of changed paths is too long to be taken over")
    if not done.ok:
        said = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
        raise CopyOutFailed(f"the work could not be copied out: {said[-1][-300:] if said else done.exit_code}")
    answer: dict[str, Any] = json.loads(done.stdout)
    if "refused" in answer:
        raise CopyOutRefused(answer["refused"]["code"], answer["refused"]["text"])
    result: dict[str, Any] = answer["ok"]
    return result
