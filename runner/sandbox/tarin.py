"""Takes a tar stream from a container apart on the host: regular files and directories, nothing else.

Names are only ever joined below the destination after they were checked, nothing that could redirect a later name
(a link) is ever made, and the stream's size is bounded before it comes here.
"""

from __future__ import annotations

import os
import shutil
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from runner.errors import ContestantError

_NAME_BYTES = 255
_PATH_BYTES = 1024
_DEPTH = 32
_LONG_NAME = 8192
_REFUSED_LISTED = 100


class NotCopied(ContestantError):
    """What was to be copied out is not there, not a regular file, too large, or not what it says it is."""


@dataclass
class CopyReport:
    """What came out. ``refused``: the first hundred as name and reason (``refused_count`` counts all);
    ``truncated``: a limit was met and the rest left behind.
    """

    files: int = 0
    bytes: int = 0
    refused_count: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)
    truncated: bool = False

    def refuse(self, name: str, why: str) -> None:
        self.refused_count += 1
        if len(self.refused) < _REFUSED_LISTED:
            self.refused.append((name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"), why))


class _Member(tarfile.TarInfo):
    """Only what ``tar --format=gnu`` writes: a pax header would be read into memory whole and parsed by regex."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE):
            raise NotCopied("the archive has a header that tar was not asked to write")
        if self.type in (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK) and self.size > _LONG_NAME:
            raise NotCopied(f"the archive names a path of {self.size} bytes")
        made: tarfile.TarInfo = super()._proc_member(archive)  # type: ignore[misc]  # the hook tarfile documents
        return made


def unpack(stream: IO[bytes], dest: Path, *, limit_bytes: int, limit_files: int) -> CopyReport:
    """Write the archive's files below ``dest`` (made if need be; nobody else may write there).

    A stream that ends early is unpacked as far as whole files go and reported ``truncated``.
    Raises NotCopied where it is no archive of the asked form.
    """
    dest.mkdir(parents=True, exist_ok=True)
    report = CopyReport()
    try:
        with tarfile.open(fileobj=stream, mode="r:", tarinfo=_Member, errors="surrogateescape") as archive:
            for member in archive:
                if report.files >= limit_files or report.bytes + max(0, member.size) > limit_bytes:
                    report.truncated = True
                    break
                _take(archive, member, dest, report)
    except tarfile.ReadError as error:
        if "unexpected end of data" not in str(error):
            raise NotCopied(f"the archive cannot be read: {error}") from error
        report.truncated = True
    return report


def _take(archive: tarfile.TarFile, member: tarfile.TarInfo, dest: Path, report: CopyReport) -> None:
    name = member.name.removeprefix("./")
    if member.isdir() and name in ("", "."):
        return
    why = _why_not(member, name)
    if why:
        report.refuse(member.name, why)
        return
    target = dest / name
    if member.isdir():
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            report.refuse(member.name, error.strerror or "cannot be made")
        return
    source = archive.extractfile(member)
    if source is None:
        report.refuse(member.name, "no content")
        return
    mode = 0o755 if member.mode & 0o100 else 0o644
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    except OSError as error:
        report.refuse(member.name, error.strerror or "cannot be made")
        return
    try:
        with os.fdopen(handle, "wb") as file, source:
            shutil.copyfileobj(source, file, 1 << 20)
    except tarfile.ReadError:
        target.unlink()  # half a file is not that file
        raise
    report.files += 1
    report.bytes += member.size


def _why_not(member: tarfile.TarInfo, name: str) -> str:
    if member.issparse():
        return "sparse file"
    if not (member.isreg() or member.isdir()):
        kinds = {tarfile.SYMTYPE: "symbolic link", tarfile.LNKTYPE: "hard link", tarfile.FIFOTYPE: "FIFO"}
        return kinds.get(member.type, "special file")
    raw = name.encode("utf-8", "surrogateescape")
    parts = raw.rstrip(b"/").split(b"/")
    if raw.startswith(b"/") or b"\0" in raw or any(part in (b"", b".", b"..") for part in parts):
        return "path leads outside"
    if len(raw) > _PATH_BYTES or len(parts) > _DEPTH or any(len(part) > _NAME_BYTES for part in parts):
        return "path too long"
    return ""
