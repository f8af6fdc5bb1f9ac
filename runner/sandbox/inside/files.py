"""Reading files that may be anything: links, pipes, devices, huge."""

from __future__ import annotations

import os
import stat


class Refused(Exception):
    """The contestant's repository cannot be used. ``code`` is stable, ``text`` is for people."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


def read_regular(path: bytes, limit: int) -> bytes | None:
    """The content of a regular file of at most ``limit`` bytes; None where it is anything else. Never blocks."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            return None
        return file.read(limit)


def is_directory(path: bytes) -> bool:
    """A real directory, not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def text(path: bytes) -> str:
    """A file name as it travels in JSON: undecodable bytes as lone surrogates."""
    return path.decode("utf-8", "surrogateescape")
