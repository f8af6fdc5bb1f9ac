"""A tree's files as a tar, the same bytes every time, and what of a tree is replaced before."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Mapping
from functools import lru_cache

Files = Mapping[bytes, tuple[str, bytes]]
"""From path to mode (as git writes it) and content; of a link, the content is where it leads."""

_MTIME = 1_767_225_600
_OWNER = 1000
_KEPT_MEMBERS, _KEPT_CONTENT = 1024, 64 << 10


class Archiver:
    """Makes archives of trees that are nearly alike: small members are made once. For several threads."""

    def __init__(self) -> None:
        self._kept = lru_cache(_KEPT_MEMBERS)(_member)

    def archive(self, files: Files) -> bytes:
        """An uncompressed tar of ``files``, in their order."""
        members = [
            (self._kept if len(content) <= _KEPT_CONTENT else _member)(path, mode, content)
            for path, (mode, content) in files.items()
        ]
        end = bytes(2 * tarfile.BLOCKSIZE)
        return _whole(b"".join([*members, end]), tarfile.RECORDSIZE)


def _member(path: bytes, mode: str, content: bytes) -> bytes:
    info = tarfile.TarInfo(path.decode("utf-8", "surrogateescape"))
    info.uid = info.gid = _OWNER
    info.mtime = _MTIME
    if mode == "120000":
        info.type, info.linkname, content = tarfile.SYMTYPE, content.decode("utf-8", "surrogateescape"), b""
    else:
        info.mode, info.size = 0o755 if mode == "100755" else 0o644, len(content)
    head = info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
    return head + _whole(content, tarfile.BLOCKSIZE)


def _whole(data: bytes, block: int) -> bytes:
    return data + bytes(-len(data) % block)


def shadow(overlay: Mapping[bytes, object]) -> Callable[[bytes], bool]:
    """Tells whether a path is replaced by ``overlay``, or lies below or above a replaced one (a link in its way)."""
    above = {parent for path in overlay for parent in _parents(path)}
    return lambda path: path in overlay or path in above or any(parent in overlay for parent in _parents(path))


def _parents(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    return [b"/".join(parts[:n]) for n in range(1, len(parts))]
