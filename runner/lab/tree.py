"""Lays a commit of the host's mirror out in a container, raw; protected files come from the baseline."""

from __future__ import annotations

import hashlib
import io
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from runner.errors import RigError
from runner.registry.globs import matcher
from runner.repo import Mirror
from runner.sandbox.box import Box

TREE = "/work/repo"

# One shell line in the container: an empty repository, one ref out of the bundle, the index on that commit.
# No remote, tag, reflog or FETCH_HEAD is left, and nothing newer than the commit is in the object store.
_INIT = """set -eu
cd "$1"
git init -q --initial-branch="$2" .
git -c core.logAllRefUpdates=false fetch -q --no-tags --no-write-fetch-head "$4" "+refs/bench/lay:refs/heads/$2"
git -c core.logAllRefUpdates=false reset -q --mixed "$3" 2>/dev/null || git read-tree "$3"
rm -f .git/ORIG_HEAD .git/FETCH_HEAD
rm -rf .git/hooks .git/logs
git config user.name "${BENCH_GIT_NAME:-developer}"
git config user.email "${BENCH_GIT_EMAIL:-developer@localhost}"
rm -f "$4"
"""

Overlay = Mapping[bytes, tuple[str, bytes] | None]


def protected_overlay(mirror: Mirror, baseline: str, commit: str, protected: Sequence[str]) -> Overlay:
    """The protected files as the baseline has them; a protected path that only the commit has is taken away."""
    pattern = matcher(protected)

    def covered(path: bytes) -> bool:
        return pattern.match(path.decode("utf-8", "surrogateescape")) is not None

    kept = [f for f in mirror.tree(baseline) if covered(f.path)]
    overlay: dict[bytes, tuple[str, bytes] | None] = {f.path: None for f in mirror.tree(commit) if covered(f.path)}
    overlay |= {f.path: (f.mode, content) for f, content in mirror.blobs(kept)}
    return overlay


def lay(box: Box, mirror: Mirror, commit: str, branch: str, *, overlay: Overlay | None = None, user: str) -> None:
    """Put the tree at ``/work/repo`` with a repository in which ``branch`` is checked out at ``commit``."""
    _unpack(box, mirror.tar(commit, overlay=overlay), user)
    give_repository(box, mirror, commit, branch, user=user)


def give_repository(box: Box, mirror: Mirror, commit: str, branch: str, *, user: str) -> None:
    """A new ``.git`` at ``/work/repo`` with ``branch`` at ``commit``; files of the work tree are not touched."""
    with tempfile.TemporaryDirectory(prefix="bench-lay-") as folder:
        bundle = Path(folder) / "branch.bundle"
        mirror.git("update-ref", "refs/bench/lay", commit)
        mirror.bundle(bundle, "refs/bench/lay")
        box.put({bundle.name: bundle.read_bytes()}, "/work", user=user)
    done = box.exec(
        ["sh", "-c", _INIT, "lay", TREE, branch, commit, f"/work/{bundle.name}"], timeout_s=60, user=user, cwd="/work"
    )
    if not done.ok:
        said = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
        raise RigError(f"the tree could not be laid out: {said[-1] if said else done.exit_code}")


def _unpack(box: Box, archive: bytes, user: str) -> None:
    script = f"mkdir -p {TREE} && exec tar -x -f - -C {TREE}"
    done = box.exec(["sh", "-c", script], timeout_s=120, user=user, cwd="/work", stdin=archive)
    if not done.ok:
        raise RigError(f"the tree could not be unpacked: {done.stderr.decode('utf-8', 'backslashreplace').strip()}")


def tree_digest(box: Box, *, limit_bytes: int = 1 << 28) -> dict[str, str]:
    """Every file below ``/work/repo`` but ``.git``, with a hash of kind, mode bit and content, taken on the host.

    Raises RigError where the tree is larger than ``limit_bytes`` or cannot be read.
    """
    argv = ["tar", "-c", "-f", "-", "-C", TREE, "--exclude=./.git", "."]
    done = box.exec(argv, timeout_s=120, user="0:0", cwd="/", output_limit=limit_bytes)
    if not done.ok or done.stdout_truncated:
        raise RigError("the tree could not be read back", "it may have grown past the lab's limit")
    digests = {}
    with tarfile.open(fileobj=io.BytesIO(done.stdout), mode="r:", errors="surrogateescape") as archive:
        for member in archive:
            if member.isdir():
                continue
            handle = archive.extractfile(member) if member.isreg() else None
            content = handle.read() if handle else member.linkname.encode("utf-8", "surrogateescape")
            kind = f"{member.type!r}{member.mode & 0o100}"
            name = member.name.removeprefix("./").encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            digests[name] = kind + hashlib.sha256(content).hexdigest()
    return digests
