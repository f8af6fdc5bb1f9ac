"""Which files of the work tree belong into a snapshot: tracked, or untracked and not ignored."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field

from .files import Refused, is_directory, text
from .repository import Git

_GITLINK = b"160000"
# What git will not store, in the spelling of any file system it knows.
_FORBIDDEN = re.compile(rb"(\.git|git~1)[ .]*(?:[\\:].*)?", re.IGNORECASE | re.DOTALL)
_RULES = (b".gitignore", b".gitattributes")
_LISTED = 100
# Path to mode and object name, in a commit.
Tracked = dict[bytes, tuple[bytes, bytes]]


@dataclass
class Limits:
    paths: int
    file_bytes: int
    total_bytes: int
    name_bytes: int
    path_bytes: int = 1024
    commits: int = 20_000


@dataclass
class Found:
    """``take``: into the index; ``plain``: those of them that are tracked files with an unchanged mode; ``drop``: out
    of the index. ``refused``, ``embedded``: for people, the first hundred.
    """

    take: list[bytes] = field(default_factory=list)
    plain: list[bytes] = field(default_factory=list)
    drop: list[bytes] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    embedded: list[str] = field(default_factory=list)
    size: int = 0

    def refuse(self, path: bytes, why: str) -> None:
        if len(self.refused) < _LISTED:
            self.refused.append(f"{text(path)}: {why}")


class Walk:
    """One pass over the work tree, level by level, so that a directory's rules are looked at before git reads them."""

    def __init__(self, git: Git, limits: Limits, tracked: Tracked) -> None:
        """``tracked``: what the commit holds that the snapshot goes on top of."""
        self._git = git
        self._limits = limits
        self._tracked = tracked
        self._links = {path for path, (mode, _) in tracked.items() if mode == _GITLINK}
        self._real: dict[bytes, bool] = {b"": True}
        self._checked: set[bytes] = set()
        self.found = Found()

    def run(self) -> Found:
        for path in self._tracked:
            if path not in self._links:
                self._tracked_file(path)
        level = [b""]
        while level:
            level = self._level(level)
        for path in self._links:
            if self._real_directory(os.path.dirname(path)) and not is_directory(self._full(path)):
                self.found.drop.append(path)
        return self.found

    def _tracked_file(self, path: bytes) -> None:
        folder = os.path.dirname(path)
        if not self._real_directory(folder):
            self.found.drop.append(path)
            return
        try:
            status = os.lstat(self._full(path))
        except PermissionError:
            self.found.refuse(path, "cannot be read")
            return
        except OSError:
            self.found.drop.append(path)
            return
        if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
            self._take(path, status)
        else:
            self.found.drop.append(path)
            if not stat.S_ISDIR(status.st_mode):
                self.found.refuse(path, "special file")

    def _level(self, folders: list[bytes]) -> list[bytes]:
        files: dict[bytes, os.stat_result] = {}
        below: list[bytes] = []
        for folder in folders:
            for path, status in self._entries(folder):
                if stat.S_ISDIR(status.st_mode):
                    below.append(path)
                elif path not in self._tracked:
                    files[path] = status
        ignored = self._ignored([*files, *below])
        for path, status in files.items():
            if path not in ignored:
                self._take(path, status)
        return [path for path in below if path not in ignored]

    def _entries(self, folder: bytes) -> list[tuple[bytes, os.stat_result]]:
        self._check_rules(folder)
        entries = []
        try:
            with os.scandir(self._full(folder) or b".") as listing:
                for entry in listing:
                    path = os.path.join(folder, entry.name)
                    if _FORBIDDEN.fullmatch(entry.name):
                        if folder and len(self.found.embedded) < _LISTED:
                            self.found.embedded.append(text(folder))
                    elif len(entry.name) > self._limits.name_bytes or len(path) > self._limits.path_bytes:
                        self.found.refuse(path[:200], "name too long")
                    elif path not in self._links:
                        entries.append((path, entry.stat(follow_symlinks=False)))
        except OSError as error:
            self.found.refuse(folder, error.strerror or "cannot be listed")
        return sorted(entries)

    def _take(self, path: bytes, status: os.stat_result) -> None:
        """Note the entry for the snapshot, or why it is left as the branch has it."""
        if stat.S_ISLNK(status.st_mode):
            size = 0
        elif not stat.S_ISREG(status.st_mode):
            self.found.refuse(path, "special file")
            return
        elif status.st_size > self._limits.file_bytes:
            self.found.refuse(path, f"larger than {self._limits.file_bytes} bytes")
            return
        elif not os.access(self._full(path), os.R_OK):
            self.found.refuse(path, "cannot be read")
            return
        else:
            size = status.st_size
        self._check_rules(os.path.dirname(path))
        self.found.take.append(path)
        if stat.S_ISREG(status.st_mode):
            mode = b"100755" if status.st_mode & 0o100 else b"100644"
            if path in self._tracked and self._tracked[path][0] == mode:
                self.found.plain.append(path)
        self.found.size += size
        if len(self.found.take) > self._limits.paths:
            raise Refused("too_many_paths", f"the work tree has more than {self._limits.paths} files")
        if self.found.size > self._limits.total_bytes:
            raise Refused("too_large", f"the work tree is larger than {self._limits.total_bytes} bytes")

    def _check_rules(self, folder: bytes) -> None:
        """git opens these in every directory; a pipe there would hold it for ever."""
        if folder in self._checked:
            return
        self._checked.add(folder)
        for name in _RULES:
            try:
                mode = os.lstat(self._full(os.path.join(folder, name))).st_mode
            except OSError:
                continue
            if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode)):
                raise Refused("special_file", f"{text(os.path.join(folder, name))} is no regular file")

    def _ignored(self, paths: list[bytes]) -> set[bytes]:
        if not paths:
            return set()
        # "./" so that a name which begins with a colon is not read as a pattern.
        feed = b"".join(b"./" + path + b"\0" for path in paths)
        out = self._git.run("check-ignore", "-z", "--stdin", "--no-index", stdin=feed, codes=(0, 1))
        return {path[2:] for path in out.split(b"\0")[:-1]}

    def _real_directory(self, folder: bytes) -> bool:
        """Is every part of this path a directory and none a link?"""
        if folder not in self._real:
            above = self._real_directory(os.path.dirname(folder))
            self._real[folder] = above and is_directory(self._full(folder))
        return self._real[folder]

    def _full(self, path: bytes) -> bytes:
        return os.path.join(self._git.work, path)
