"""Lays a commit of the host's mirror out in a container, raw; protected files come from the baseline."""

from __future__ import annotations

import hashlib
import io
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from runner.errors import RigError
from runner.gitdir import repository_files
from runner.registry.globs import matcher
from runner.repo import Mirror
from runner.sandbox.box import Box

TREE = "/work/repo"

# In the container: what was there is taken away, the files come with a repository whose index is then made. No remote,
# tag, reflog, hook or FETCH_HEAD is there, and nothing newer than the commit is in the object store.
_INDEX = """cd "$1"
git read-tree HEAD
git update-index -q --refresh || true
"""
_UNPACK = f"""mkdir -p "$1"
tar -x -f - -C "$1"
{_INDEX}"""
_LAY = f"""set -eu
find "${{1%/*}}" -mindepth 1 -delete
{_UNPACK}"""
# Into an empty /work.
LAY_FIRST = f"""
set -- {TREE}
{_UNPACK}"""
# Stops at the limit, and says how reading ended: a sparse file has no end that anybody could wait for.
_READ = '{ tar -c -f - -C "$1" --exclude=./.git . 2>/dev/null; echo $? >&2; } | head -c "$2"'
_RENEW = 'set -eu; tar -x -f - -C "$1"\n' + _INDEX

Overlay = Mapping[bytes, tuple[str, bytes] | None]


class TreeUnreadable(RigError):
    """A tree holds what cannot be read, or more than may be."""

    retry = False


def protected_overlay(
    mirror: Mirror, baseline: str, commit: str, protected: Sequence[str], allowed: Sequence[str]
) -> Overlay:
    """The protected files as the baseline has them, and all that lies outside the allowlist; what only the commit has
    there is taken away. A file beside the checks (another Makefile, an npm or pytest configuration) switches none off.
    """
    pattern, inside = matcher(protected), matcher(allowed)

    def covered(path: bytes) -> bool:
        name = path.decode("utf-8", "surrogateescape")
        return pattern.match(name) is not None or inside.match(name) is None

    kept = [f for f in mirror.tree(baseline) if covered(f.path)]
    overlay: dict[bytes, tuple[str, bytes] | None] = {f.path: None for f in mirror.tree(commit) if covered(f.path)}
    overlay |= {f.path: (f.mode, content) for f, content in mirror.blobs(kept)}
    return overlay


def tree_archive(
    mirror: Mirror,
    commit: str,
    branch: str,
    *,
    overlay: Overlay | None = None,
    carried: Mapping[str, bytes] | None = None,
) -> bytes:
    """The tree with a repository in which ``branch`` is checked out at ``commit``, as a tar for ``lay_archive``.

    ``carried``: ignored files that a clone does not bring.
    """
    more = {name.encode(): ("100644", content) for name, content in (carried or {}).items()}
    return mirror.tar(commit, overlay={**more, **(overlay or {}), **repository_files(mirror, commit, branch)})


def lay_archive(box: Box, tree: bytes, *, user: str) -> None:
    """Put what ``tree_archive`` made at ``/work/repo``, in the place of all that is in ``/work``."""
    _run(box, _LAY, tree, user)


def lay(
    box: Box, mirror: Mirror, commit: str, branch: str, *, user: str, carried: Mapping[str, bytes] | None = None
) -> None:
    """Both at once."""
    lay_archive(box, tree_archive(mirror, commit, branch, carried=carried), user=user)


def give_repository(box: Box, mirror: Mirror, commit: str, branch: str, *, user: str) -> None:
    """A new ``.git`` at ``/work/repo`` with ``branch`` at ``commit``; files of the work tree are not touched."""
    _run(box, _RENEW, mirror.archive(repository_files(mirror, commit, branch)), user)


def _run(box: Box, script: str, stdin: bytes, user: str) -> None:
    done = box.exec(["sh", "-c", script, "lay", TREE], timeout_s=120, user=user, cwd="/work", stdin=stdin)
    if not done.ok:
        said = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
        raise RigError(f"the tree could not be laid out: {said[-1] if said else done.exit_code}")


def tree_digest(box: Box, *, limit_bytes: int = 1 << 29) -> dict[str, str]:
    """Every file below ``/work/repo`` but ``.git``, with a hash of kind, mode bit and content, taken on the host.

    Raises TreeUnreadable where the tree is larger than ``limit_bytes`` (holes count) or cannot be read.
    """
    digests = {}
    with tempfile.TemporaryDirectory(prefix="bench-tree-") as folder:
        packed = Path(folder, "tree.tar")
        argv = ["sh", "-c", _READ, "read", TREE, str(limit_bytes)]
        done = box.exec(argv, timeout_s=120, user="1000:1000", cwd="/", stdout_to=packed,
                        output_limit=limit_bytes)  # fmt: skip
        if not done.ok or done.stderr.split() != [b"0"]:
            raise TreeUnreadable("the tree cannot be read back")
        with tarfile.open(packed, mode="r:", errors="surrogateescape") as archive:
            for member in archive:
                if member.isdir():
                    continue
                file_of = archive.extractfile(member) if member.isreg() else None
                link = io.BytesIO(member.linkname.encode("utf-8", "surrogateescape"))
                content = hashlib.file_digest(
                    cast(io.BufferedReader, file_of) if file_of else link, "sha256"
                ).hexdigest()
                name = member.name.removeprefix("./").encode("utf-8", "surrogateescape")
                digests[name.decode("utf-8", "backslashreplace")] = f"{member.type!r}{member.mode & 0o100}{content}"
    return digests
