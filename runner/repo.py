"""Host-owned bare mirrors: the only repositories in which the host runs git.

A contestant's branch enters as one bundle, one full ref at a time; the host never runs git in a tree that a
contestant could write.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from runner.archive import Archiver, shadow
from runner.errors import ConfigError, ContestantError, DiskFull, RigError
from runner.hostgit import FIXED_IDENTITY, GitTimeout, check_ref, git, git_dir_of, printable
from runner.treelimits import TreeLimits

_ROOM = 64 << 20
_INCOMING = "refs/bench/incoming"


@dataclass(frozen=True)
class TreeFile:
    """One entry of a tree: ``mode`` as git writes it (100644, 100755, 120000, 160000)."""

    path: bytes
    mode: str
    blob: str


_KEPT_TREES = 1024
_KEPT_FILES = 16
_KEPT_CONTENT, _KEPT_BYTES = 256 << 10, 64 << 20


class Mirror:
    """A bare repository of the host's own. Objects never change, so the listings of whole commit ids and small contents
    are kept: a sweep asks for nearly the same tree hundreds of times.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._trees: dict[str, tuple[TreeFile, ...]] = {}
        self._contents: dict[str, bytes] = {}
        self._made: dict[str, str] = {}
        self._files: dict[str, dict[str, bytes]] = {}
        self._kept_bytes = 0
        self.archive = Archiver().archive

    def git(self, *arguments: str | bytes, stdin: bytes | None = None, **more: str) -> bytes:
        return git(arguments, git_dir=self.path, stdin=stdin, extra=more or None)

    @classmethod
    def create(cls, path: Path, source: Path, baseline: str) -> tuple[Mirror, str]:
        """A new mirror that holds the baseline commit and nothing newer; returns it and the full commit id.

        ``source`` is a git repository, or a plain folder, which becomes one commit with a fixed author and date
        (so its id is a hash of its content). Raises ConfigError where the baseline does not resolve.
        """
        path, source = path.resolve(), source.resolve()
        path.mkdir(parents=True)
        try:
            return cls._fill(path, source, baseline)
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise

    @classmethod
    def _fill(cls, path: Path, source: Path, baseline: str) -> tuple[Mirror, str]:
        git(["init", "-q", "--bare", "--initial-branch=baseline", str(path)])
        mirror = cls(path)
        if git_dir_of(source) is not None:
            commit = mirror._fetch_commit(source, baseline)
        else:
            commit = mirror._commit_folder(source)
            if not commit.startswith(baseline.lower()) or len(baseline) < 7:
                raise ConfigError(
                    f"baseline {baseline} is not what {source} holds: that folder's commit is {commit}",
                    "a frozen program never changes: undo the edit (git status), or freeze it under a new id",
                )
        mirror.git("update-ref", "refs/heads/baseline", commit)
        return mirror, commit

    def adopt(self, source: Path, branch: str) -> str:
        """The head of a branch in somebody's clone, its objects copied here. Raises ConfigError where there is none."""
        return self._fetch_commit(source, branch, what="branch")

    def _fetch_commit(self, source: Path, baseline: str, what: str = "baseline") -> str:
        git_dir = git_dir_of(source)
        try:
            full = git(
                ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{baseline}^{{commit}}"], git_dir=git_dir
            )
        except RigError:
            raise ConfigError(
                f"{what} {baseline} is no commit of {source}", "fetch it there, or mend the entry"
            ) from None
        commit = full.decode().strip()
        # One commit with its history, packed there and unpacked here: no ref, tag, reflog or newer object comes.
        try:
            pack = git(["pack-objects", "--revs", "--stdout", "-q"], git_dir=git_dir, stdin=f"{commit}\n".encode())
        except RigError as error:
            raise _partial(source, f"{what} {baseline}", error) from None
        self.git("unpack-objects", "-q", stdin=pack)
        try:
            self.git("rev-list", "--quiet", commit)
        except RigError as error:
            raise _partial(source, f"{what} {baseline}", error) from None
        return commit

    def _commit_folder(self, source: Path) -> str:
        with self.scratch_index() as index:
            more = {"GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(source), "GIT_DIR": str(self.path)}
            git(["add", "--all", "."], extra=more, cwd=source)
            tree = git(["write-tree"], extra=more).decode().strip()
        message = b"Baseline\n"
        return self.git("commit-tree", tree, stdin=message, **FIXED_IDENTITY).decode().strip()

    def tree_id(self, commit: str) -> str:
        """The object id of the commit's tree."""
        return self.once(f"tree {commit}", lambda: self.git("rev-parse", f"{commit}^{{tree}}").decode().strip())

    def commit_tree(self, tree: str, parent: str, message: str) -> str:
        """A commit of the runner's own (fixed author and date) on ``parent``."""
        out = self.git("commit-tree", tree, "-p", parent, stdin=f"{message}\n".encode(), **FIXED_IDENTITY)
        return out.decode().strip()

    def retree(self, commit: str, tree: str) -> str:
        """The same commit (author, dates, message, parents) with another tree."""
        content = self.once(f"commit {commit}", lambda: os.fsdecode(self.git("cat-file", "commit", commit)))
        stdin = os.fsencode(f"tree {tree}\n{content.partition(chr(10))[2]}")
        made = self.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=stdin).decode().strip()
        parents = " ".join(self.parents(commit))
        self.once(f"parents {made}", lambda: parents)
        return made

    def parents(self, commit: str) -> list[str]:
        """The commit's parents, in order. Raises RigError where the mirror does not have it."""
        return self.once(f"parents {commit}", lambda: self.git("rev-parse", f"{commit}^@").decode()).split()

    @contextmanager
    def scratch_index(self) -> Iterator[Path]:
        """Where somebody may keep an index of his own for a while."""
        index = self.path / f"scratch.{os.urandom(8).hex()}.index"
        try:
            yield index
        finally:
            index.unlink(missing_ok=True)

    def index(self, commit: str) -> bytes:
        """An index file that holds the commit's tree."""

        def read() -> dict[str, bytes]:
            with self.scratch_index() as made:
                self.git("read-tree", commit, GIT_INDEX_FILE=str(made))
                return {"index": made.read_bytes()}

        return self.kept(f"index {commit}", read)["index"]

    def replace_folder(
        self, commit: str, folder: str, files: Mapping[bytes, tuple[str, bytes]], message: str
    ) -> str:  # fmt: skip
        """A commit in which ``folder`` holds exactly ``files`` (name to mode and content)."""
        prefix = folder.rstrip("/").encode() + b"/"
        lines = [b"%s %s\t%s" % (f.mode.encode(), f.blob.encode(), f.path)
                 for f in self.tree(commit) if not f.path.startswith(prefix)]  # fmt: skip
        for name, (mode, content) in files.items():
            blob = self.git("hash-object", "-w", "--stdin", stdin=content).strip()
            lines.append(b"%s %s\t%s" % (mode.encode(), blob, prefix + name))
        return self.commit_tree(self._tree_of(lines), commit, message)

    def overlaid(self, commit: str, overlay: Mapping[bytes, tuple[str, bytes] | None], message: str) -> str:
        """A commit with paths replaced (None removes one), as ``tar`` lays it out; itself where nothing differs."""
        files, shadowed = self.tree(commit), shadow(overlay)
        there = {f.blob for f in files}
        lines = [b"%s %s\t%s" % (f.mode.encode(), f.blob.encode(), f.path)
                 for f in files if not shadowed(f.path)]  # fmt: skip
        for path, replacement in overlay.items():
            if replacement is not None:
                mode, content = replacement
                name = blob_id(content)
                if name not in there:
                    name = self.git("hash-object", "-w", "--stdin", stdin=content).decode().strip()
                blob = name.encode()
                lines.append(b"%s %s\t%s" % (mode.encode(), blob, path))
        tree = self._tree_of(lines)
        if tree == self.tree_id(commit):
            return commit
        return self.commit_tree(tree, commit, message)

    def _tree_of(self, lines: Sequence[bytes]) -> str:
        """A tree of index lines (mode, blob, path)."""
        with self.scratch_index() as index:
            more = {"GIT_INDEX_FILE": str(index)}
            git(["update-index", "-z", "--index-info"], git_dir=self.path, extra=more, stdin=b"\0".join(lines) + b"\0")
            return git(["write-tree"], git_dir=self.path, extra=more).decode().strip()

    def import_bundle(self, bundle: Path, ref: str, limits: TreeLimits) -> str:
        """Fetch exactly one full ref out of a bundle that a contestant could have shaped; returns the head.

        The ref moves only to what was found sound. Raises ContestantError for a bundle that is cut, forged or too
        large, or a tree with forbidden names.
        """
        check_ref(ref)
        try:
            head = self._fetch_sound(bundle, ref)
            limits.check(self.path, head)
            self.git("update-ref", ref, head)
        finally:
            self.git("update-ref", "-d", _INCOMING)
        return head

    def _fetch_sound(self, bundle: Path, ref: str) -> str:
        try:
            git(
                ["-c", "protocol.file.allow=always", "fetch", "-q", "--no-tags", "--no-write-fetch-head",
                 "--no-auto-maintenance", "--end-of-options", str(bundle), f"+{ref}:{_INCOMING}"],
                git_dir=self.path,
            )  # fmt: skip
            self.git("fsck", "--strict", "--no-dangling", "--no-reflogs", "--connectivity-only", _INCOMING)
            self.git("fsck", "--no-dangling", "--no-reflogs", _INCOMING)
        except GitTimeout:
            raise
        except RigError as error:
            if shutil.disk_usage(self.path).free < 2 * bundle.stat().st_size + _ROOM:
                raise DiskFull(
                    f"no space left to take a branch over into {self.path}", "free some, then run again"
                ) from None
            raise ContestantError(f"the branch cannot be taken over: {error.what}") from None
        return self.head(_INCOMING)

    def head(self, ref: str) -> str:
        """The commit a full ref or an id names. Raises RigError where there is none."""
        return self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}").decode().strip()

    def has_ancestor(self, ancestor: str, commit: str) -> bool:
        try:
            self.git("merge-base", "--is-ancestor", ancestor, commit)
        except RigError:
            return False
        return True

    def changed_paths(self, base: str, head: str) -> list[bytes]:
        """Every path that differs between two commits; a rename shows both sides."""
        out = self.git("diff-tree", "-r", "--no-renames", "--name-only", "-z", "--no-ext-diff", base, head)
        return [p for p in out.split(b"\0") if p]

    def diff_lines(self, base: str, head: str) -> int:
        """Added + removed lines of text between two commits."""
        out = self.git(
            "diff-tree", "-r", "--no-renames", "--numstat", "-z", "--no-ext-diff", "--no-textconv", base, head
        )
        total = 0
        for record in out.split(b"\0"):
            added, _, rest = record.partition(b"\t")
            removed = rest.partition(b"\t")[0]
            if added.isdigit() and removed.isdigit():
                total += int(added) + int(removed)
        return total

    def once(self, key: str, make: Callable[[], str]) -> str:
        """The name of an object that follows from ``key`` alone: made the first time, then remembered."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def kept(self, key: str, make: Callable[[], dict[str, bytes]]) -> dict[str, bytes]:
        """Files that follow from ``key`` alone, as long as not too many are held."""
        known = self._files.get(key)
        if known is None:
            known = make()
            if len(self._files) < _KEPT_FILES:
                self._files[key] = known
        return known

    def tree(self, commit: str) -> list[TreeFile]:
        """Every file of a commit, in git's order."""
        known = self._trees.get(commit)
        if known is None:
            known = tuple(self._list(commit))
            if re.fullmatch("[0-9a-f]{40}", commit) and len(self._trees) < _KEPT_TREES:
                self._trees[commit] = known
        return list(known)

    def _list(self, commit: str) -> list[TreeFile]:
        out = self.git("ls-tree", "-r", "-z", "--full-tree", commit)
        files = []
        for record in out.split(b"\0"):
            if record:
                meta, _, path = record.partition(b"\t")
                mode, _, blob = meta.decode().split(" ")
                files.append(TreeFile(path, mode, blob))
        return files

    def blobs(self, files: Sequence[TreeFile]) -> Iterator[tuple[TreeFile, bytes]]:
        """Contents of a tree's files, raw: no attribute, filter or line-ending rule is applied."""
        wanted = [f for f in files if f.mode != "160000"]
        kept = self._contents
        read = self._read(dict.fromkeys(f.blob for f in wanted if f.blob not in kept))
        for file in wanted:
            content = read.get(file.blob)
            yield file, kept[file.blob] if content is None else content

    def _read(self, blobs: Iterable[str]) -> dict[str, bytes]:
        names = list(blobs)
        out = self.git("cat-file", "--batch", stdin="".join(f"{n}\n" for n in names).encode()) if names else b""
        at, found = 0, {}
        for name in names:
            end = out.index(b"\n", at)
            size = int(out[at:end].rsplit(b" ", 1)[1])
            found[name] = content = out[end + 1 : end + 1 + size]
            if size <= _KEPT_CONTENT and self._kept_bytes < _KEPT_BYTES:
                self._contents[name] = content
                self._kept_bytes += size
            at = end + 1 + size + 1
        return found

    def read(self, commit: str, path: str) -> bytes | None:
        """One file of a commit, or None where it has none of that name; another repository's commit is no file."""
        match = [f for f in self.tree(commit) if f.path == path.encode() and f.mode != "160000"]
        return next(content for _, content in self.blobs(match)) if match else None

    def grep(self, commit: str, needle: str, exclude: Sequence[str]) -> list[str]:
        """Paths of a commit whose content holds ``needle`` (a fixed string), but for excluded folders."""
        skipped = tuple(f"{folder.rstrip('/')}/".encode() for folder in exclude)
        files = [f for f in self.tree(commit) if not f.path.startswith(skipped)] if skipped else self.tree(commit)
        return sorted(printable(f.path) for f, content in self.blobs(files) if needle.encode() in content)

    def tar(self, commit: str, *, overlay: Mapping[bytes, tuple[str, bytes] | None] | None = None) -> bytes:
        """A commit's tree as an uncompressed tar, raw. ``overlay`` replaces paths (None removes one)."""
        overlay = overlay or {}
        shadowed = shadow(overlay)
        kept = self.blobs([f for f in self.tree(commit) if not shadowed(f.path)])
        files = {file.path: (file.mode, content) for file, content in kept}
        return self.archive(files | {path: new for path, new in sorted(overlay.items()) if new is not None})

    def bundled(self, commit: str, ref: str) -> bytes:
        """A bundle that holds one commit with its whole history under the name ``ref``."""
        pack = self.git("pack-objects", "--revs", "--stdout", "-q", "--threads=1", stdin=f"{commit}\n".encode())
        return f"# v2 git bundle\n{commit} {ref}\n\n".encode() + pack


def _partial(source: Path, what: str, error: RigError) -> ConfigError:
    return ConfigError(
        f"{source} does not hold all of {what}, as a shallow or partial clone does not: {error.what}",
        "git fetch --unshallow there, or clone it whole",
    )


def blob_id(content: bytes) -> str:
    """The object id git gives a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def check_baseline(source: Path, baseline: str, files: Sequence[str]) -> None:
    """The baseline resolves and holds ``files``, asked before anything else is done. Raises ConfigError."""
    with tempfile.TemporaryDirectory(prefix="bench-baseline-") as folder:
        mirror, commit = Mirror.create(Path(folder) / "mirror.git", source, baseline)
        there = {file.path for file in mirror.tree(commit)}
    missing = [name for name in files if name.encode() not in there]
    if missing:
        raise ConfigError(
            f"{missing[0]} is not in the baseline", "a milestone's file is its page of the plan, in the clone"
        )
