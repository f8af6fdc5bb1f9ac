"""Turns what a contestant left into one commit, and that commit into one bundle. One request, one answer, as JSON."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from .files import Refused, read_regular, text
from .look import look
from .measure import Scale, changed
from .repository import Git, GitFailed, References
from .tree import Found, Limits, Tracked, Walk

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
    scale = Scale(git, limits)
    scale.measure(base, branch)
    tracked = _tracked(git, branch)
    found = Walk(git, limits, tracked).run()
    tree = _tree(git, branch, found, tracked)
    head = branch
    if tree != git.run("rev-parse", f"{branch}^{{tree}}").decode().strip():
        head = _commit(git, tree, branch, request["message"], request["when"])
    size = scale.measure(base, head)
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


def _tracked(git: Git, branch: str) -> Tracked:
    tracked = {}
    for line in git.run("ls-tree", "-r", "-z", "--full-tree", branch).split(b"\0")[:-1]:
        meta, _, path = line.partition(b"\t")
        mode, _, sha = meta.split(b" ")
        tracked[path] = (mode, sha)
    return tracked


def _tree(git: Git, branch: str, found: Found, tracked: Tracked) -> str:
    """The tree in an index of our own: no flag that the contestant set on its index hides anything."""
    try:
        return _index(git, branch, found, tracked)
    except GitFailed:
        # The contestant's attributes ask for a conversion that its files do not allow.
        git.raw_attributes()
        return _index(git, branch, found, tracked)


def _index(git: Git, branch: str, found: Found, tracked: Tracked) -> str:
    git.run("read-tree", "--reset", branch)
    gone = b"".join(b"0 " + b"0" * 40 + b"\t" + path + b"\0" for path in found.drop)
    git.run("update-index", "-z", "--index-info", stdin=gone)
    same = _unchanged(git, found, tracked)
    new = b"".join(path + b"\0" for path in found.take if path not in same)
    git.run("update-index", "-z", "--add", "--replace", "--stdin", stdin=new)
    return git.run("write-tree", "--missing-ok").decode().strip()  # what is missing, measuring finds


def _unchanged(git: Git, found: Found, tracked: Tracked) -> set[bytes]:
    """Tracked files with the content that the branch has, by their hash: adding them all to the index would write
    every one anew, since their objects lie where nothing may be touched.
    """
    asked = [path for path in found.plain if b"\n" not in path and not path.startswith(b'"')]
    out = git.run("hash-object", "--stdin-paths", stdin=b"".join(path + b"\n" for path in asked))
    return {path for path, sha in zip(asked, out.split(), strict=True) if tracked[path][1] == sha}


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
    work = {"snapshot": snapshot, "bundle": bundle, "look": look}[request.pop("do")]
    answer: dict[str, Any]
    try:
        answer = {"ok": work(request)}
    except Refused as error:
        answer = {"refused": {"code": error.code, "text": error.text}}
    except GitFailed as error:
        answer = {"refused": {"code": "unusable", "text": f"git cannot use what was left: {error}"}}
    json.dump(answer, sys.stdout)
