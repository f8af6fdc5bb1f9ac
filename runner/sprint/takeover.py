"""Copy-out: a dead contestant's work becomes one commit of the host's mirror."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.errors import ContestantError, RigError
from runner.lab.check import CONTESTANT
from runner.lab.tree import TREE, give_repository, lay
from runner.repo import Mirror
from runner.sandbox import copyout
from runner.sandbox.box import Box
from runner.sandbox.pod import Pod
from runner.treelimits import TreeLimits

_SNAPSHOT_TIME = 1_767_225_600  # fixed, so that the same work is the same commit


@dataclass(frozen=True)
class Taken:
    """``info`` also names what was left behind: work outside the branch, files over a limit."""

    head: str
    info: copyout.SnapshotInfo


def take_over(
    pod: Pod,
    mirror: Mirror,
    bundle: Path,
    *,
    base: str,
    branch: str,
    message: str,
    artifacts: Sequence[str] = (),
    artifacts_to: Path | None = None,
    carried: Sequence[str] = (),
    total_bytes: int = 1 << 30,
) -> Taken:
    """Snapshot, bundle, fetch one ref. The contestant must be dead. ``bundle`` is written when all of it could be taken
    over: until then the one of an earlier attempt stays.

    ``artifacts`` are copied into ``artifacts_to``; ``carried`` files are no work of its own.
    ``total_bytes`` bounds the tree as it counts when it is written out (sparse files, hard links).
    Raises ContestantError where what it left cannot be used, RigError where the rig failed.
    """
    # The attic, a trusted container that outlives the contestant, where the pod has one.
    box = pod.attic or pod.trusted()
    fresh = bundle.with_name(f"{bundle.name}.new")
    try:
        info = copyout.snapshot(
            box,
            base=base,
            branch=branch,
            message=message,
            artifacts=artifacts,
            exclude=[f"/{name}" for name in carried],
            when=_SNAPSHOT_TIME,
            limits=copyout.CopyLimits(total_bytes=total_bytes),
        )
        copyout.bundle(box, info, fresh)
        if artifacts_to is not None:
            copyout.copy_artifacts(box, info, artifacts_to)
        head = mirror.import_bundle(fresh, f"refs/heads/{branch}", TreeLimits(total_bytes=total_bytes))
        if head != info.head:
            raise RigError(f"the bundle holds {head[:12]}, the snapshot was {info.head[:12]}")
        fresh.replace(bundle)
    finally:
        box.remove()
        fresh.unlink(missing_ok=True)
    return Taken(head, info)


def advance(box: Box, mirror: Mirror, head: str, branch: str, carried: Mapping[str, bytes]) -> None:
    """Before a further attempt: the work tree as it was left, with a new repository at what was copied out.

    The contestant's own ``.git`` is thrown away: nothing planted in it lives on into the next attempt. Where its files
    leave no room for that, the tree is laid out anew. Raises ContestantError where even that does not fit.
    """
    beside = "find /work -mindepth 1 -maxdepth 1 ! -name repo -exec rm -rf {} +"  # no notes from attempt to attempt
    script = f"test -d {TREE} && ! test -L {TREE} && rm -rf {TREE}/.git && {beside}"
    kept = box.exec(["sh", "-c", script], timeout_s=120, user=CONTESTANT, cwd="/work").ok
    if kept:
        try:
            give_repository(box, mirror, head, branch, user=CONTESTANT)
            return
        except RigError:
            if not box.alive():
                raise
    try:
        lay(box, mirror, head, branch, user=CONTESTANT, carried=carried)
    except RigError as error:
        if not box.alive():
            raise
        raise ContestantError(f"its own files leave no room for another attempt: {error.what}") from None
