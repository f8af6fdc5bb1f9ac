"""Files into and out of a box, by tar over an exec: the engine's own archive calls do not see a tmpfs."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import RigError
from runner.sandbox.tarin import CopyReport, NotCopied, unpack

if TYPE_CHECKING:
    from runner.sandbox.box import Box

__all__ = ["CopyReport", "Files", "NotCopied", "get", "get_tree", "put", "read_tree"]

Files = Mapping[str, bytes | tuple[bytes, int]]

_TIMEOUT_S = 120
_ARGV_BYTES = 64 << 10
_MTIME = 1767225600  # 2026-01-01: the same for everybody, and late enough for zip files
_PUT = 'set -e; mkdir -p -- "$1"; tar -x -f - -C "$1" -p --no-same-owner; cd -- "$1"; shift; '
_SIZES = '[ $# -eq 0 ] || exec stat -c %s -- "$@"'
_GET = '[ -f "$1" ] && [ ! -L "$1" ] || exit 66; exec head -c "$2" -- "$1"'
_GET_TREE = (
    '[ -d "$1" ] && [ ! -L "$1" ] || exit 66; '
    'tar -c -f - --format=gnu --sort=name --hard-dereference -C "$1" . 2>/dev/null | head -c "$2"'
)


def put(box: Box, files: Files, target: str, *, user: str | None = None) -> None:
    """Write ``files`` below ``target`` in the box and check that every one arrived with its size.

    Raises RigError: the directory cannot be written, is full, or a file did not arrive.
    """
    contents = {path: (entry, 0o644) if isinstance(entry, bytes) else entry for path, entry in files.items()}
    names = list(contents)
    short = sum(len(os.fsencode(name)) + 1 for name in names) < _ARGV_BYTES
    argv = ["sh", "-c", _PUT + _SIZES, "put", target, *(names if short else [])]
    done = box.exec(argv, timeout_s=_TIMEOUT_S, user=user, stdin=_archive(contents))
    if done.ok and not short:
        listing = b"".join(os.fsencode(name) + b"\0" for name in names)
        argv = ["xargs", "-0", "stat", "-c", "%s", "--"]
        done = box.exec(argv, timeout_s=_TIMEOUT_S, user=user, cwd=target, stdin=listing, output_limit=1 << 28)
    if not done.ok:
        said = _said(done.stderr, done.exit_code)
        raise RigError(f"files could not be written to {target}: {said}", "is there room left in it?")
    sizes = [int(line) for line in done.stdout.split()]
    if sizes != [len(data) for data, _ in contents.values()]:
        raise RigError(f"files written to {target} are not there afterwards")


def read_tree(directory: Path) -> dict[str, bytes | tuple[bytes, int]]:
    """Every regular file below a directory of the host's own, by relative path, but for what Python compiled there: no
    hash of the registry holds that in place. Raises RigError on anything else.
    """
    files: dict[str, bytes | tuple[bytes, int]] = {}
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            path = Path(folder) / name
            mode = path.lstat().st_mode
            if not stat.S_ISREG(mode):
                raise RigError(f"{path} is no regular file")
            executable = 0o755 if mode & 0o100 else 0o644
            files[str(path.relative_to(directory))] = (path.read_bytes(), executable)
    return files


def get(box: Box, path: str, limit_bytes: int, *, user: str | None = None) -> bytes:
    """The content of one regular file in the box. Raises NotCopied: not there, no regular file, or too large."""
    try:
        seen = None if user or box.ended else box.outside().read(path, limit_bytes + 1)
    except FileNotFoundError:
        raise NotCopied(f"{path} is not there or no regular file") from None
    if seen is not None:
        return _within(seen, path, limit_bytes)
    argv = ["sh", "-c", _GET, "get", path, str(limit_bytes + 1)]
    done = box.exec(argv, timeout_s=_TIMEOUT_S, user=user, output_limit=limit_bytes + 1)
    if done.exit_code == 66:
        raise NotCopied(f"{path} is not there or no regular file")
    if not done.ok:
        raise NotCopied(f"{path} cannot be read: {_said(done.stderr, done.exit_code)}")
    return _within(done.stdout, path, limit_bytes)


def _within(content: bytes, path: str, limit_bytes: int) -> bytes:
    if len(content) > limit_bytes:
        raise NotCopied(f"{path} is larger than {limit_bytes} bytes")
    return content


def get_tree(
    box: Box, path: str, dest: Path, *, limit_bytes: int, limit_files: int, user: str | None = None
) -> CopyReport:
    """Copy a directory of the box into ``dest`` on the host. Raises NotCopied: no directory, or no honest archive."""
    whole = limit_bytes + limit_files * 2048 + (1 << 16)
    with tempfile.TemporaryDirectory(prefix="bench-copy-") as folder:
        archive = Path(folder) / "tree.tar"
        argv = ["sh", "-c", _GET_TREE, "get", path, str(whole)]
        done = box.exec(argv, timeout_s=_TIMEOUT_S, user=user, stdout_to=archive, output_limit=whole)
        if done.exit_code == 66:
            raise NotCopied(f"{path} is not there or no directory")
        if not done.ok:
            raise NotCopied(f"{path} cannot be copied: {_said(done.stderr, done.exit_code)}")
        with archive.open("rb") as stream:
            return unpack(stream, dest, limit_bytes=limit_bytes, limit_files=limit_files)


def _archive(contents: Mapping[str, tuple[bytes, int]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT, errors="surrogateescape") as archive:
        for name, (data, mode) in contents.items():
            if name.startswith("/") or ".." in name.split("/"):
                raise RigError(f"{name!r} is no path below a directory")
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.mtime = len(data), mode, _MTIME
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def _said(stderr: bytes, code: int | None) -> str:
    lines = stderr.decode("utf-8", "backslashreplace").strip().splitlines()
    return lines[0] if lines else f"exit {code}"
