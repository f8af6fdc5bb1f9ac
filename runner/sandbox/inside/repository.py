"""git in a directory of our own, reading the contestant's objects and nothing else of its repository."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence

from .files import Refused, is_directory, read_regular, text

_TIMEOUT_S = 120
_SETTINGS = {
    "core.attributesFile": "/dev/null",
    "core.autocrlf": "false",
    "core.bare": "false",
    "core.bigFileThreshold": "16m",
    "core.commitGraph": "false",  # a forged graph lies about parents and dates
    "core.excludesFile": "/dev/null",
    "core.fileMode": "true",
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.ignoreCase": "false",
    "core.multiPackIndex": "false",
    "core.symlinks": "true",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "pack.threads": "1",
    "pack.windowMemory": "64m",
    "protocol.allow": "never",
    "safe.directory": "*",
    "submodule.recurse": "false",
}
_SHA = re.compile(rb"[0-9a-f]{40}")
_ALTERNATES_BYTES = 1 << 16


class GitFailed(Exception):
    """git ended with an error; ``str()`` is its last line."""


class Git:
    """``work``: the contestant's tree; ``scratch``: an empty directory of our own."""

    def __init__(self, work: bytes, scratch: bytes) -> None:
        self.work = work
        self.dot_git = os.path.join(work, b".git")
        self.own = os.path.join(scratch, b"own.git")
        self.index = os.path.join(scratch, b"index")
        self._environment = {
            b"PATH": os.environb.get(b"PATH", b"/usr/bin:/bin"),
            b"HOME": scratch,
            b"LC_ALL": b"C.UTF-8",
            b"GIT_ALTERNATE_OBJECT_DIRECTORIES": os.path.join(self.dot_git, b"objects"),
            b"GIT_CONFIG_GLOBAL": b"/dev/null",
            b"GIT_CONFIG_NOSYSTEM": b"1",
            b"GIT_DIR": self.own,
            b"GIT_INDEX_FILE": self.index,
            b"GIT_NO_LAZY_FETCH": b"1",
            b"GIT_NO_REPLACE_OBJECTS": b"1",
            b"GIT_TERMINAL_PROMPT": b"0",
            b"GIT_WORK_TREE": work,
        }

    def open(self) -> None:
        """Check what the contestant calls its repository and make ours. Raises Refused."""
        if not is_directory(self.work):
            raise Refused("tree_missing", "the work tree is gone or no directory")
        if not os.path.lexists(self.dot_git):
            raise Refused("git_missing", "the repository (.git) is gone")
        if not is_directory(self.dot_git):
            raise Refused("git_moved", ".git is no directory: the repository was moved elsewhere")
        objects = os.path.join(self.dot_git, b"objects")
        if not is_directory(objects):
            raise Refused("objects_missing", "the repository's object store is gone or no directory")
        self._check_alternates(objects)
        for folder in (b"objects", b"refs", b"info"):
            os.makedirs(os.path.join(self.own, folder), exist_ok=True)
        with open(os.path.join(self.own, b"HEAD"), "w", encoding="ascii") as file:
            file.write("ref: refs/heads/none\n")

    def ignore(self, patterns: Sequence[str]) -> None:
        """Leave out untracked files of these patterns, as ``.git/info/exclude`` would."""
        with open(os.path.join(self.own, b"info", b"exclude"), "w", encoding="utf-8") as file:
            file.writelines(f"{pattern}\n" for pattern in patterns)

    def sign(self, name: str, email: str, when: int) -> None:
        """Who makes commits from now on; ``when``: seconds since 1970, UTC."""
        for role in (b"AUTHOR", b"COMMITTER"):
            self._environment[b"GIT_" + role + b"_NAME"] = name.encode()
            self._environment[b"GIT_" + role + b"_EMAIL"] = email.encode()
            self._environment[b"GIT_" + role + b"_DATE"] = b"%d +0000" % when

    def raw_attributes(self) -> None:
        """From now on store files byte for byte, whatever ``.gitattributes`` asks for."""
        with open(os.path.join(self.own, b"info", b"attributes"), "w", encoding="utf-8") as file:
            file.write("* -text -eol -ident -filter -working-tree-encoding\n")

    def run(self, *arguments: str | bytes, stdin: bytes = b"", codes: Sequence[int] = (0,)) -> bytes:
        """Standard output of a git command in the work tree. Raises GitFailed, or Refused where it does not end."""
        try:
            done = subprocess.run(
                self.command(*arguments),
                input=stdin,
                capture_output=True,
                env=self._environment,
                cwd=self.work,
                timeout=_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            raise Refused("too_slow", f"git {arguments[0]!r} does not end on this repository") from None
        if done.returncode not in codes:
            said = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
            raise GitFailed(said[-1][-300:] if said else f"git {arguments[0]!r}: exit {done.returncode}")
        return done.stdout

    def stream(self, *arguments: str | bytes) -> subprocess.Popen[bytes]:
        """A git command to talk to through pipes; the caller ends it."""
        return subprocess.Popen(
            self.command(*arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self._environment,
            cwd=self.work,
        )

    def command(self, *arguments: str | bytes) -> list[str | bytes]:
        settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        return ["git", *settings, *arguments]

    def is_commit(self, sha: str) -> bool:
        try:
            return self.run("cat-file", "-t", sha).strip() == b"commit"
        except GitFailed:
            return False

    def reaches(self, head: str, commit: str) -> bool:
        """Is ``commit`` part of the history of ``head``?"""
        try:
            return not self.run("rev-list", "--max-count=1", commit, f"^{head}")
        except GitFailed:
            return False  # history that cannot be walked is not part of anything

    def _check_alternates(self, objects: bytes) -> None:
        """Other object stores only below the work tree's own volume: nothing else may be read in through them."""
        for name in (b"alternates", b"http-alternates"):
            path = os.path.join(objects, b"info", name)
            if not os.path.lexists(path):
                continue
            content = read_regular(path, _ALTERNATES_BYTES)
            inside = os.path.dirname(os.path.realpath(self.work)) + b"/"
            for line in (content or b"\0").splitlines():
                target = os.path.realpath(os.path.join(objects, line))  # relative lines are relative to the store
                if line and (b"\0" in line or not target.startswith(inside)):
                    raise Refused("alternates", "the repository borrows objects from outside the work tree")


class References:
    """HEAD and every reference, parsed from the files. ``head`` is a full name, or None where HEAD is detached."""

    def __init__(self, dot_git: bytes) -> None:
        self.all: dict[str, str] = {}
        self.head: str | None = None
        self.detached: str | None = None
        self._links: dict[str, str] = {}
        self._read_packed(dot_git)
        self._read_loose(dot_git)
        self._read_head(read_regular(os.path.join(dot_git, b"HEAD"), 4096))
        self._read_worktrees(os.path.join(dot_git, b"worktrees"))
        for name, target in self._links.items():
            if target in self.all:
                self.all[name] = self.all[target]

    def _read_packed(self, dot_git: bytes) -> None:
        for line in (read_regular(os.path.join(dot_git, b"packed-refs"), 16 << 20) or b"").splitlines():
            sha, _, name = line.partition(b" ")
            if _SHA.fullmatch(sha) and name.startswith(b"refs/"):
                self.all[text(name)] = sha.decode()

    def _read_loose(self, dot_git: bytes) -> None:
        seen = 0
        for folder, _, names in os.walk(os.path.join(dot_git, b"refs")):
            for name in names:
                seen += 1
                if seen > 20_000:
                    raise Refused("too_many_refs", "the repository has more than 20000 references")
                path = os.path.join(folder, name)
                self._take(text(os.path.relpath(path, dot_git)), read_regular(path, 4096))

    def _take(self, name: str, content: bytes | None) -> None:
        value = (content or b"").strip()
        if _SHA.fullmatch(value):
            self.all[name] = value.decode()
        elif value.startswith(b"ref:"):
            self._links[name] = text(value[4:].strip())

    def _read_head(self, content: bytes | None) -> None:
        value = (content or b"").strip()
        if value.startswith(b"ref:"):
            self.head = text(value[4:].strip())
        elif _SHA.fullmatch(value):
            self.detached = value.decode()

    def _read_worktrees(self, folder: bytes) -> None:
        names = sorted(os.listdir(folder))[:100] if is_directory(folder) else []
        for name in names:
            self._take(f"worktree {text(name)}", read_regular(os.path.join(folder, name, b"HEAD"), 4096))
