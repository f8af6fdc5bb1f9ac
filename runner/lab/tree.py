"""Lays a commit of the host's mirror out in a container, raw; protected files come from the baseline."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Mapping, Sequence

from runner.errors import RigError
from runner.registry.globs import matcher
from runner.repo import Mirror
from runner.sandbox.box import Box

TREE = "/work/repo"

_BUNDLE = b".git/bench.bundle"  # no tree of a contestant's can hold that name: it is refused at copy-out

# In the container: an empty repository, one ref out of the bundle, the index on that commit. No remote, tag, reflog or
# FETCH_HEAD is left, and nothing newer than the commit is in the object store.
_INIT = """set -eu
cd "$1"
git init -q --initial-branch="$2" .
git -c core.logAllRefUpdates=false fetch -q --no-tags --no-write-fetch-head --update-head-ok .git/bench.bundle \\
    "+refs/bench/lay:refs/heads/$2"
git read-tree "$3"
git update-index -q --refresh || true
rm -rf .git/hooks .git/logs .git/ORIG_HEAD .git/FETCH_HEAD .git/bench.bundle
git config user.name developer
git config user.email developer@localhost
"""
_NOT_EMPTIED = 75
_LAY = f"""set -eu
find "${{1%/*}}" -mindepth 1 -delete || exit {_NOT_EMPTIED}
mkdir -p "$1"
tar -x -f - -C "$1"
{_INIT}"""
_RENEW = 'set -eu; mkdir -p "$1/.git"; cat > "$1/.git/bench.bundle"\n' + _INIT

Overlay = Mapping[bytes, tuple[str, bytes] | None]


class NotEmptied(RigError):
    """What lay in the tree before cannot be taken away by the user for whom a new one is laid out."""


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


def lay(
    box: Box,
    mirror: Mirror,
    commit: str,
    branch: str,
    *,
    user: str,
    overlay: Overlay | None = None,
    carried: Mapping[str, bytes] | None = None,
) -> None:
    """Put the tree at ``/work/repo`` with a repository in which ``branch`` is checked out at ``commit``.

    ``carried``: ignored files that a clone does not bring.
    """
    more = {name.encode(): ("100644", content) for name, content in (carried or {}).items()}
    extra = {**more, **(overlay or {}), _BUNDLE: ("100644", mirror.bundled(commit, "refs/bench/lay"))}
    _run(box, _LAY, mirror.tar(commit, overlay=extra), commit, branch, user)


def give_repository(box: Box, mirror: Mirror, commit: str, branch: str, *, user: str) -> None:
    """A new ``.git`` at ``/work/repo`` with ``branch`` at ``commit``; files of the work tree are not touched."""
    _run(box, _RENEW, mirror.bundled(commit, "refs/bench/lay"), commit, branch, user)


def _run(box: Box, script: str, stdin: bytes, commit: str, branch: str, user: str) -> None:
    argv = ["sh", "-c", script, "lay", TREE, branch, commit]
    done = box.exec(argv, timeout_s=120, user=user, cwd="/work", stdin=stdin)
    if not done.ok:
        said = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
        if done.exit_code == _NOT_EMPTIED and script == _LAY:
            raise NotEmptied(f"the tree could not be emptied: {said[-1] if said else done.exit_code}")
        raise RigError(f"the tree could not be laid out: {said[-1] if said else done.exit_code}")


def tree_digest(box: Box, *, limit_bytes: int = 1 << 30) -> dict[str, str]:
    """Every file below ``/work/repo`` but ``.git``, with a hash of kind, mode bit and content, taken on the host.

    Raises RigError where the tree is larger than ``limit_bytes`` or cannot be read.
    """
    argv = ["tar", "-c", "-f", "-", "-C", TREE, "--exclude=./.git", "."]
    done = box.exec(argv, timeout_s=120, user="1000:1000", cwd="/", output_limit=limit_bytes)
    if not done.ok or done.stdout_truncated:
        raise TreeUnreadable("the tree cannot be read back")
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
