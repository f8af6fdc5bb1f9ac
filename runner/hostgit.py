"""The ``git`` program on repositories that the host owns.

It is called directly, not through a library, because every inherited ``GIT_*`` variable has to be taken out of the
environment (``GIT_DIR`` beats ``-C``) and file names are bytes.
"""

from __future__ import annotations

import errno
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from runner.errors import ConfigError, DiskFull, RigError

FIXED_IDENTITY = {
    "GIT_AUTHOR_NAME": "bench",
    "GIT_AUTHOR_EMAIL": "bench@localhost",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00+00:00",
    "GIT_COMMITTER_NAME": "bench",
    "GIT_COMMITTER_EMAIL": "bench@localhost",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00+00:00",
}
_HARDENED = [
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.attributesFile=/dev/null",
    "-c", "core.autocrlf=false",
    "-c", "core.quotePath=false",
    "-c", "protocol.allow=never",
    "-c", "safe.bareRepository=explicit",
    "-c", "safe.directory=*",
    "-c", "gc.auto=0",
]  # fmt: skip
_FULL = (os.strerror(errno.ENOSPC), "Out of diskspace")
_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")


class GitTimeout(RigError):
    """Git did not end in its time: a busy machine, not a broken repository."""


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a git child: nothing inherited that redirects git, no user or system configuration."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    env |= {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "LC_ALL": "C.UTF-8",
    }
    return env | dict(extra or {})


def git(
    arguments: Sequence[str | bytes],
    *,
    git_dir: Path | None = None,
    stdin: bytes | None = None,
    extra: Mapping[str, str] | None = None,
    timeout_s: float = 120,
    cwd: Path | None = None,
) -> bytes:
    """Run git on a host-owned repository and return its standard output. Raises RigError with git's own words,
    DiskFull where that is what they say.
    """
    command: list[str | bytes] = ["git", *_HARDENED]
    if git_dir is not None:
        command.append(f"--git-dir={git_dir}")
    try:
        done = subprocess.run(
            [*command, *arguments],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            env=clean_environment(extra),
            timeout=timeout_s,
            cwd=cwd,
        )
    except FileNotFoundError:
        raise ConfigError("git is not installed", "apt-get install git") from None
    except subprocess.TimeoutExpired:
        raise GitTimeout(f"git {_word(arguments)} did not end within {timeout_s:.0f} s") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
        if any(line.endswith(_FULL) for line in said):
            raise DiskFull(
                f"git {_word(arguments)} found no space left",
                f"free some in {git_dir}" if git_dir else "free some, then run again",
            )
        raise RigError(f"git {_word(arguments)} failed: {said[-1] if said else f'exit {done.returncode}'}")
    return done.stdout


def git_dir_of(folder: Path) -> Path | None:
    """The repository of a work tree (a linked one or a submodule's, too: their ``.git`` is a file that names it), or a
    bare repository; None for a plain folder. Raises ConfigError where ``.git`` leads nowhere.
    """
    marker = folder / ".git"
    if marker.is_dir():
        return marker
    if not marker.is_file():
        return folder if (folder / "HEAD").is_file() else None
    word, _, where = marker.read_text(encoding="utf-8", errors="surrogateescape").partition(":")
    found = (folder / where.strip()).resolve()
    if word.strip() != "gitdir" or not (found / "HEAD").is_file():
        raise ConfigError(f"{marker} leads to no repository", "git worktree repair, or name the clone itself")
    return found


def records(arguments: Sequence[str], git_dir: Path) -> Iterator[bytes]:
    """NUL-separated records of a git command as they come: a tree of 640 bytes can list a thousand million paths,
    so the reader may stop at any record and git is ended.
    """
    with subprocess.Popen(
        ["git", *_HARDENED, f"--git-dir={git_dir}", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        env=clean_environment(),
    ) as process:
        assert process.stdout is not None
        try:
            rest = b""
            while chunk := process.stdout.read(1 << 16):
                *whole, rest = (rest + chunk).split(b"\0")
                yield from whole
        finally:
            process.kill()


def _word(arguments: Sequence[str | bytes]) -> str:
    first = arguments[0] if arguments else ""
    return first.decode() if isinstance(first, bytes) else first


def check_ref(ref: str) -> None:
    """A full branch name and nothing git could take for an option. Raises ConfigError."""
    ok = (
        re.fullmatch(r"refs/heads/[A-Za-z0-9][A-Za-z0-9._/-]*", ref)
        and ".." not in ref
        and not ref.endswith((".lock", "/"))
    )
    if not ok:
        raise ConfigError(f"{ref!r} is no usable branch name", "branch_scheme may hold letters, digits, . _ - and /")


def printable(path: bytes) -> str:
    """A file name for people and JSON: UTF-8 where it is, otherwise with backslash escapes; no control characters."""
    text = path.decode("utf-8", "backslashreplace")
    return _CONTROL.sub(lambda m: f"\\x{m.group()[0]:02x}".encode(), text.encode()).decode()
