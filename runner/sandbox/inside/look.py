"""A look at the work tree while the contestant is at work: what changed since the look before.

It has an index and an object store of its own, and moves nothing. The tree may change while it is looked at: a look
that fails for that is simply missed.
"""

from __future__ import annotations

import os
from typing import Any

from .files import text
from .repository import Git
from .tree import Found, Limits, Tracked, Walk

_LISTED = 2_000
Change = tuple[str, str | None, str | None, int | None, int | None]


def look(request: dict[str, Any]) -> dict[str, Any]:
    """The tree as it is now (tracked, or untracked and not ignored), and what differs from the tree ``last``.

    ``changes``: path, content before and now (object names, null: not there), lines added and taken away (null: no
    text), the first 2000;
    ``paths``, ``lines``: of all of them; ``bytes``: how much our own store holds. Raises Refused, or GitFailed.
    """
    scratch = os.fsencode(request["scratch"])
    git = Git(os.fsencode(request["work"]), scratch)
    git.open()
    git.ignore(request["exclude"])
    if not os.path.exists(git.index):
        git.run("read-tree", request["base"])
        git.run("update-index", "-q", "--refresh", codes=(0, 1))
    tracked = _tracked(git)
    found = Walk(git, Limits(**request["limits"]), tracked).run()
    tree = _tree(git, found, tracked)
    last = request["last"] or git.run("rev-parse", f"{request['base']}^{{tree}}").decode().strip()
    changes = _changes(git, last, tree) if tree != last else []
    return {
        "tree": tree,
        "paths": len(changes),
        "lines": sum((added or 0) + (taken or 0) for *_, added, taken in changes),
        "changes": changes[:_LISTED],
        "bytes": _size(os.path.join(git.own, b"objects")),
    }


def _tracked(git: Git) -> Tracked:
    tracked = {}
    for line in git.run("ls-files", "-s", "-z").split(b"\0")[:-1]:
        meta, _, path = line.partition(b"\t")
        mode, sha, _ = meta.split(b" ")
        tracked[path] = (mode, sha)
    return tracked


def _tree(git: Git, found: Found, tracked: Tracked) -> str:
    if found.drop:
        gone = b"".join(b"0 " + b"0" * 40 + b"\t" + path + b"\0" for path in found.drop)
        git.run("update-index", "-z", "--index-info", stdin=gone)
    dirty = set(git.run("diff-files", "-z", "--name-only").split(b"\0")[:-1])
    new = [path for path in found.take if path in dirty or path not in tracked]
    if new:
        git.run("update-index", "-z", "--add", "--replace", "--stdin", stdin=b"".join(path + b"\0" for path in new))
    return git.run("write-tree", "--missing-ok").decode().strip()


def _changes(git: Git, last: str, tree: str) -> list[Change]:
    out = git.run("diff-tree", "-r", "-z", "--no-renames", "--raw", "--numstat", "--no-commit-id", last, tree)
    fields = out.split(b"\0")[:-1]
    contents: dict[bytes, tuple[str | None, str | None]] = {}
    lines: dict[bytes, tuple[int | None, int | None]] = {}
    position = 0
    while position < len(fields):
        field = fields[position]
        if field.startswith(b":"):
            before, now = (None if sha == b"0" * 40 else sha.decode() for sha in field.split(b" ")[2:4])
            contents[fields[position + 1]] = (before, now)
            position += 2
            continue
        added, taken, path = field.split(b"\t", 2)
        lines[path] = (None, None) if added == b"-" else (int(added), int(taken))
        position += 1
    return [(text(path), *names, *lines.get(path, (None, None))) for path, names in sorted(contents.items())]


def _size(folder: bytes) -> int:
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            total += os.stat(os.path.join(path, name)).st_size
    return total
