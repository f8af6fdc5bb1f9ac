"""How much a range of commits would be if it were checked out, without listing it.

A bundle of 640 bytes can hold a million paths and one of a megabyte a gigabyte. Every distinct tree is looked at once
and the sums are put together from below, so that a bomb costs as much as its few objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .files import Refused, text
from .repository import Git, GitFailed
from .tree import Limits

_TREES = 500_000
_ENTRIES = 5_000_000
_TREE, _GITLINK = b"40000", b"160000"
_MODES = {_TREE, _GITLINK, b"100644", b"100755", b"120000"}
# Another file system or an old git may write modes with group bits; git itself reads them as plain files.
_ODD_MODES = {b"100664", b"100640", b"100600", b"100666"}


@dataclass(frozen=True)
class Size:
    """``paths``, ``bytes``: of the largest single commit; ``commits``: in the range."""

    paths: int
    bytes: int
    commits: int


Trees = dict[str, list[tuple[bytes, str]]]


class Scale:
    """Measures ranges of commits; what it has looked at once it remembers."""

    def __init__(self, git: Git, limits: Limits) -> None:
        self._git = git
        self._limits = limits
        self._trees: Trees = {}
        self._sizes: dict[str, int] = {}
        self._entries = 0

    def measure(self, base: str, head: str) -> Size:
        """The largest commit of ``base..head``. Raises Refused where a limit is met or a tree is not what git makes."""
        limits = self._limits
        listing = self._git.run(
            "rev-list", f"--max-count={limits.commits + 1}", "--no-commit-header", "--format=%T", head, f"^{base}"
        )
        roots = set(listing.decode().split())
        commits = len(listing.split())
        if commits > limits.commits:
            raise Refused("too_many_commits", f"the branch has more than {limits.commits} commits")
        roots.add(self._git.run("rev-parse", f"{head}^{{tree}}").decode().strip())
        self._read_trees(roots)
        self._read_sizes()
        paths, size = _sums(self._trees, self._sizes, roots)
        if paths > limits.paths:
            raise Refused("too_many_paths", f"a commit has {paths} paths, more than {limits.paths}")
        if size > limits.total_bytes:
            raise Refused("too_large", f"a commit holds {size} bytes, more than {limits.total_bytes}")
        return Size(paths, size, commits)

    def _read_trees(self, roots: Iterable[str]) -> None:
        waiting = sorted(roots)
        with self._git.stream("cat-file", "--batch") as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                while waiting:
                    sha = waiting.pop()
                    if sha in self._trees:
                        continue
                    process.stdin.write(sha.encode() + b"\n")
                    process.stdin.flush()
                    header = process.stdout.readline().split()
                    if len(header) != 3 or header[1] != b"tree":
                        raise Refused("objects_missing", f"the tree {sha} is missing or broken")
                    content = process.stdout.read(int(header[2]) + 1)[:-1]
                    entries = self._trees[sha] = list(_entries(content, self._limits))
                    self._entries += len(entries)
                    if len(self._trees) > _TREES or self._entries > _ENTRIES:
                        raise Refused("too_large", "the branch has too many directories")
                    waiting.extend(child for mode, child in entries if mode == _TREE)
            finally:
                process.kill()

    def _read_sizes(self) -> None:
        named = (sha for entries in self._trees.values() for mode, sha in entries if mode not in (_TREE, _GITLINK))
        feed = "".join(f"{sha}\n" for sha in sorted(set(named) - self._sizes.keys())).encode()
        out = self._git.run("cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)", stdin=feed)
        for line in out.decode().splitlines():
            sha, kind, *size = line.split()
            if kind != "blob":
                raise Refused("objects_missing", f"the file content {sha} is missing or broken")
            self._sizes[sha] = int(size[0])


def _entries(content: bytes, limits: Limits) -> Iterator[tuple[bytes, str]]:
    position, before = 0, set()
    while position < len(content):
        space = content.index(b" ", position)
        zero = content.index(b"\0", space)
        mode, name = content[position:space], content[space + 1 : zero]
        position = zero + 21
        bad = name in (b"", b".", b"..") or b"/" in name or name.lower() == b".git" or name in before
        if bad or (mode not in _MODES and mode not in _ODD_MODES):
            raise Refused("bad_tree", f"a commit has an entry that git would not make: {mode!r} {name[:100]!r}")
        if len(name) > limits.name_bytes:
            raise Refused("name_too_long", f"a commit has a name of {len(name)} bytes: {text(name[:60])}...")
        before.add(name)
        yield mode, content[zero + 1 : position].hex()


def _sums(trees: Trees, sizes: dict[str, int], roots: Iterable[str]) -> tuple[int, int]:
    """Paths and bytes of the largest root, children before parents."""
    done: dict[str, tuple[int, int]] = {}
    for root in roots:
        stack = [root]
        while stack:
            sha = stack[-1]
            children = [child for mode, child in trees[sha] if mode == _TREE]
            open_ = [child for child in children if child not in done]
            if sha in done or not open_:
                stack.pop()
                files = [child for mode, child in trees[sha] if mode != _TREE]
                paths = len(files) + sum(done[child][0] for child in children)
                size = sum(sizes.get(child, 0) for child in files) + sum(done[child][1] for child in children)
                done[sha] = (paths, size)
            else:
                stack.extend(open_)
    return max(done[root][0] for root in roots), max(done[root][1] for root in roots)


def changed(git: Git, before: str, after: str, limits: Limits) -> list[str]:
    """Paths that differ between two commits or trees, renames taken apart. Raises Refused above the path limit."""
    try:
        out = git.run("diff-tree", "-r", "-z", "--no-renames", "--name-only", "--no-commit-id", before, after)
    except GitFailed as error:
        raise Refused("objects_missing", f"the change cannot be read: {error}") from error
    names = out.split(b"\0")[:-1]
    if len(names) > 2 * limits.paths:
        raise Refused("too_many_paths", f"{len(names)} paths changed")
    return [text(name) for name in names]
