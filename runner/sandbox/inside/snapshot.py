"""Turns what a contestant left into one commit, and that commit into one bundle. One request, one answer, as JSON."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from .files import Refused, read_regular, text
from .measure import changed, measure
from .repository import Git, GitFailed, References
from .tree import Found, Limits, Walk

_AUTHOR = "bench snapshot"
_STRANDED = 200


def snapshot(request: dict[str, Any]) -> dict[str, Any]:
    """A commit with everything that is tracked, or untracked and not ignored, on top of the branch. Raises Refused."""
    git = Git(os.fsencode(request["work"]), os.fsencode(request["scratch"]))
    limits = Limits(**request["limits"])
    base, name = request["base"], f"refs/heads/{request['branch']}"
    git.open()
    git.ignore(request["exclude"])
    references = References(git.dot_git)
    branch = references.all.get(name)
    if branch is None:
        where = references.head or references.detached or "nothing"
        raise Refused("branch_missing", f"the branch {request['branch']} is gone; HEAD is at {where}")
    if not git.is_commit(branch):
        raise Refused("branch_broken", f"the branch {request['branch']} names no commit that is there")
    if not git.is_commit(base):
        raise Refused("base_missing", "the commit that the work began from is gone from the repository")
    measure(git, base, branch, limits)
    tracked = _tracked(git, branch)
    found = Walk(git, limits, tracked).run()
    tree = _tree(git, branch, found)
    head = branch
    if tree != git.run("rev-parse", f"{branch}^{{tree}}").decode().strip():
        head = _commit(git, tree, branch, request["message"], request["when"])
    size = measure(git, base, head, limits)
    git.run("update-ref", name, head)
    return {
        "head": head,
        "tree": tree,
        "branch_head": branch,
        "base_is_ancestor": git.reaches(head, base),
        "commits": size.commits,
        "paths": size.paths,
        "bytes": size.bytes,
        "changed": changed(git, base, head, limits),
        "uncommitted": changed(git, branch, head, limits),
        "stranded": _stranded(git, references, name, head),
        "refused": found.refused,
        "embedded": sorted(set(found.embedded)),
        "artifacts": _artifacts(git, request["artifacts"], os.fsencode(request["scratch"]), request["artifact_bytes"]),
    }


def bundle(request: dict[str, Any]) -> dict[str, Any]:
    """A bundle with exactly one reference. The base commit itself is always in it, so that it is never empty and,
    where the base has no parents, stands alone. Raises Refused where it is larger than ``bundle_bytes``.
    """
    scratch = os.fsencode(request["scratch"])
    git = Git(os.fsencode(request["work"]), scratch)
    path = os.path.join(scratch, b"branch.bundle")
    _, *parents = git.run("rev-list", "--parents", "--max-count=1", request["base"]).decode().split()
    git.run(
        "bundle", "create", "-q", "--version=2", path, f"refs/heads/{request['branch']}", *(f"^{p}" for p in parents)
    )
    size = os.stat(path).st_size
    if size > request["bundle_bytes"]:
        raise Refused("too_large", f"the branch is {size} bytes, more than {request['bundle_bytes']}")
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return {"path": text(path), "bytes": size, "sha256": digest.hexdigest()}


def _tracked(git: Git, branch: str) -> dict[bytes, bytes]:
    tracked = {}
    for line in git.run("ls-tree", "-r", "-z", "--full-tree", branch).split(b"\0")[:-1]:
        meta, _, path = line.partition(b"\t")
        tracked[path] = meta.split(b" ")[0]
    return tracked


def _tree(git: Git, branch: str, found: Found) -> str:
    """The tree in an index of our own: no flag that the contestant set on its index hides anything."""
    try:
        return _index(git, branch, found)
    except GitFailed:
        # The contestant's attributes ask for a conversion that its files do not allow.
        git.raw_attributes()
        return _index(git, branch, found)


def _index(git: Git, branch: str, found: Found) -> str:
    git.run("read-tree", "--reset", branch)
    gone = b"".join(b"0 " + b"0" * 40 + b"\t" + path + b"\0" for path in found.drop)
    git.run("update-index", "-z", "--index-info", stdin=gone)
    git.run("update-index", "-z", "--add", "--replace", "--stdin", stdin=b"".join(p + b"\0" for p in found.take))
    return git.run("write-tree").decode().strip()


def _commit(git: Git, tree: str, parent: str, message: str, when: int) -> str:
    git.sign(_AUTHOR, "snapshot@localhost", when)
    return git.run("commit-tree", tree, "-p", parent, "-F", "-", stdin=message.encode()).decode().strip()


def _stranded(git: Git, references: References, branch: str, head: str) -> list[str]:
    """Work that no part of the branch's history holds: other branches, a detached HEAD, stashes, other work trees."""
    places = {name: sha for name, sha in references.all.items() if name != branch}
    if references.detached:
        places["HEAD"] = references.detached
    lost: list[str] = []
    for name, sha in sorted(places.items())[: 10 * _STRANDED]:
        if len(lost) < _STRANDED and git.is_commit(sha) and not git.reaches(head, sha):
            lost.append(f"{name} {sha}")
    return lost


def _artifacts(git: Git, names: Sequence[str], scratch: bytes, limit: int) -> list[str]:
    """Copy files that the registry names, ignored or not, to ``scratch/artifacts``; those that were there."""
    copied = []
    for name in names:
        parts = os.fsencode(name).split(b"/")
        folders = [os.path.join(git.work, *parts[:depth]) for depth in range(1, len(parts))]
        if b".." in parts or any(os.path.islink(folder) for folder in folders):
            continue
        content = read_regular(os.path.join(git.work, *parts), limit)
        if content is None:
            continue
        target = os.path.join(scratch, b"artifacts", *parts)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(content)
        copied.append(name)
    return copied


def main() -> None:
    request = json.load(sys.stdin)
    work = {"snapshot": snapshot, "bundle": bundle}[request.pop("do")]
    answer: dict[str, Any]
    try:
        answer = {"ok": work(request)}
    except Refused as error:
        answer = {"refused": {"code": error.code, "text": error.text}}
    except GitFailed as error:
        answer = {"refused": {"code": "unusable", "text": f"git cannot use what was left: {error}"}}
    json.dump(answer, sys.stdout)
