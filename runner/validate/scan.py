"""Runs in the contestant's image, by its own Python: what a contestant can read, searched by content.

Standard library only, because its text is handed to ``python3 -c`` there. Standard input is JSON: ``{hidden, canary}``
(git blob ids, a string); standard output is JSON: ``{hidden, canary, files}`` (places by blob id, places, how many
contents were read).
"""

import bz2
import gzip
import hashlib
import json
import lzma
import os
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import IO, Any

_PIECE = 1 << 20
_NO_FILES = ("/proc", "/sys", "/dev")
_PACKED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_TAR = (".tar", ".tgz", ".tbz", ".txz", ".tar.gz", ".tar.bz2", ".tar.xz")
_BROKEN = (OSError, EOFError, ValueError, RuntimeError, struct.error, zlib.error, lzma.LZMAError, tarfile.TarError,
           zipfile.BadZipFile)  # fmt: skip
_ZIP = (".zip", ".whl", ".jar", ".egg", ".pyz")


class Search:
    """What was found so far."""

    def __init__(self, hidden: Iterable[str], canary: str) -> None:
        self._hidden = frozenset(hidden)
        self._canary = canary.encode()
        self.hidden: dict[str, list[str]] = {}
        self.canary: list[str] = []
        self.files = 0

    def content(self, place: str, stream: IO[bytes], size: int) -> None:
        """One file, or one member of an archive, of ``size`` bytes."""
        blob = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        for piece in self._pieces(place, stream):
            blob.update(piece)
        self.files += 1
        if size and blob.hexdigest() in self._hidden:
            self.hidden.setdefault(blob.hexdigest(), []).append(place)

    def text(self, place: str, text: bytes) -> None:
        """A name, a variable: searched for the canary alone."""
        if self._canary and self._canary in text:
            self.canary.append(place)

    def stream(self, place: str, stream: IO[bytes]) -> None:
        """Of any length: searched for the canary alone."""
        for _ in self._pieces(place, stream):
            pass

    def _pieces(self, place: str, stream: IO[bytes]) -> Iterator[bytes]:
        before, found = b"", False
        while piece := stream.read(_PIECE):
            if self._canary and not found and self._canary in before + piece:
                found = True
                self.canary.append(place)
            before = piece[-len(self._canary) :]
            yield piece


def files_below(top: str, search: Search) -> None:
    """Every regular file, and what is in it where it is an archive; links are followed nowhere."""
    for folder, folders, names in os.walk(top):
        folders[:] = [f for f in folders if os.path.join(folder, f) not in _NO_FILES]
        for name in names:
            path = os.path.join(folder, name)
            search.text(path, os.fsencode(name))
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                search.content(path, file, os.fstat(file.fileno()).st_size)
            try:
                members(path, search)
            except _BROKEN:
                continue  # no archive after all


def members(path: str, search: Search) -> None:
    """The files in an archive, or the one file that was packed."""
    low = path.lower()
    if low.endswith(_ZIP):
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                with archive.open(info) as member:
                    search.content(f"{path}:{info.filename}", member, info.file_size)
    elif low.endswith(_TAR):
        with tarfile.open(path) as tar:
            for item in tar:
                file = tar.extractfile(item) if item.isreg() else None
                if file is not None:
                    search.content(f"{path}:{item.name}", file, item.size)
    elif unpack := _PACKED.get(os.path.splitext(low)[1]):
        with unpack(path) as first:
            size = sum(len(piece) for piece in iter(lambda: first.read(_PIECE), b""))
        with unpack(path) as again:
            search.content(f"{path}:", again, size)


def history(repository: str, search: Search) -> None:
    """Every object of a repository, whoever can reach it: files, messages, names. Raises OSError."""
    argv = ["git", "-c", "safe.directory=*", "cat-file", "--batch-all-objects", "--batch"]
    with subprocess.Popen(argv, cwd=repository, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        search.stream(f"{repository}: its history", process.stdout)
    if process.returncode:
        raise OSError(f"git cat-file ended with {process.returncode}")


def main(asked: dict[str, Any], tops: list[str], repository: str) -> dict[str, Any]:
    search = Search(asked["hidden"], asked["canary"])
    for name, value in os.environ.items():
        search.text(f"the variable {name}", value.encode("utf-8", "surrogateescape"))
    for top in tops:
        files_below(top, search)
    history(repository, search)
    return {"hidden": search.hidden, "canary": search.canary, "files": search.files}


if __name__ == "__main__":
    json.dump(main(json.load(sys.stdin), ["/"], sys.argv[1]), sys.stdout)
