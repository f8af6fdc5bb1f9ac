"""Reads the JSON lines that agents write. Agents are killed midway: a torn or garbled line is counted, not fatal."""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from runner.harness.summary import LogError

MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_DOCUMENT_BYTES = 512 * 1024 * 1024
MOST_GLUED = 8
"""Places inside one object that may look like the seam between two."""
MAX_DEPTH = 200
"""No agent nests deeper; what does would exhaust the stack of whoever walks it."""
GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_SURROGATE = re.compile(rb"\\ud[89a-f]|\xed[\xa0-\xbf]", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """A line's JSON object, or null where the line is none."""

    file: str
    number: int
    data: dict[str, Any] | None


def opened(path: Path) -> IO[bytes]:
    """A log's bytes: unpacked, where gzip packed them. LogError for another packer's."""
    with path.open("rb") as file:
        head = file.read(len(ZSTD_MAGIC))
    if head == ZSTD_MAGIC:
        raise LogError(f"{path.name} is packed by zstd", "unpack it first: zstd -d --rm")
    return cast(IO[bytes], gzip.open(path)) if head.startswith(GZIP_MAGIC) else path.open("rb")


def whole_of(path: Path) -> bytes:
    """All bytes of a document, unpacked. LogError where they are too many."""
    with opened(path) as file:
        try:
            whole = file.read(MAX_DOCUMENT_BYTES + 1)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            return b""
    if len(whole) > MAX_DOCUMENT_BYTES:
        raise LogError(f"{path.name} is too large to read")
    # As in lines: what a crash of the machine leaves. Before it, only what takes no line away.
    return whole.lstrip(b"\0").rstrip(b"\0 \t\r\n")


def _line(file: IO[bytes]) -> bytes:
    """The next line, or as much of it as is taken at once; nothing where a packed file was cut or is none."""
    try:
        return file.readline(MAX_LINE_BYTES)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return b""


def rows(path: Path) -> Iterator[Row]:
    """All non-empty lines. Lines are split at LF only: other separators may stand inside JSON strings. What a packed
    file holds beyond the size of the largest document is left out.
    """
    with opened(path) as file:
        number = 0
        while (line := _line(file)) and (file.tell() < MAX_DOCUMENT_BYTES or not isinstance(file, gzip.GzipFile)):
            number += 1
            whole = line
            while not line.endswith(b"\n") and (line := _line(file)):
                whole = b"{too large"
            whole = whole.strip(b"\0 \t\r\n")  # a log that was cut while its writer went on begins with NULs
            if not whole:
                continue
            data = parsed(whole)
            for one in [data] if data is not None else _glued(whole):
                yield Row(path.name, number, one if isinstance(one, dict) else None)


def _glued(whole: bytes) -> list[Any]:
    """What stands on a line on which two writers met (each writes its text, then its newline), else one null."""
    parts = re.split(rb"(?<=\})(?=\{\")", whole)
    found: list[Any] = []
    start = 0
    for end in range(1, len(parts) + 1) if len(parts) > 1 else ():
        if (one := parsed(b"".join(parts[start:end]))) is not None:
            found.append(one)
            start = end
        if end - start > MOST_GLUED:
            break
    return found if found and start == len(parts) else [None]


def parsed(whole: bytes) -> Any:
    """The JSON value, or null where there is none, or one that is nested too deeply."""
    try:
        data = json.loads(_characters(whole), parse_constant=_no_number, parse_float=_finite)
        if _SURROGATE.search(whole):  # half a character is no text: nobody could write it down again
            data = json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return data if whole.count(b"[") + whole.count(b"{") < MAX_DEPTH or _shallow(data) else None


def _characters(whole: bytes) -> bytes | str:
    """UTF-8, whatever mark begins it, in which a byte that is no character costs no more than itself."""
    try:
        whole.decode("utf-8")
    except UnicodeDecodeError:
        return whole.decode("utf-8-sig", "replace")
    return whole


def _no_number(_: str) -> None:
    """NaN and the infinities are no JSON: they say nothing."""


def _finite(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def _shallow(data: Any) -> bool:
    level = [data]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for value in level
            if isinstance(value, (dict, list))
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return True
    return False


def sessions(folder: Path, *, but: Path) -> list[list[Row]]:
    """All files of JSON lines below ``folder`` without ``but``, in the order of the first time that each names; those
    without one come first, by their names.
    """
    paths = sorted({path for suffix in ("", ".gz", ".zst") for path in folder.rglob(f"*.jsonl{suffix}")} - {but})
    found = [list(rows(path)) for path in paths if path.is_file()]
    return sorted(found, key=_began)


def _began(found: list[Row]) -> str:
    times = (text((row.data or {}).get("timestamp")) for row in found)
    return next((at for at in times if at), "")


def first_of_each(found: Iterable[Row], key: Callable[[Row], str | None]) -> Iterator[Row]:
    """``found`` without the lines that were written twice; lines without a key all stay."""
    seen: set[str] = set()
    for row in found:
        name = key(row)
        if name is not None:
            if name in seen:
                continue
            seen.add(name)
        yield row


def mapping(value: Any) -> dict[str, Any]:
    """``value`` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[dict[str, Any]]:
    """The JSON objects in ``value``, if it is a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def count(value: Any) -> int:
    """A token count, as a whole number or as a text or float that is one; what is no sensible one counts as zero."""
    if isinstance(value, str) and len(value) < 20 and value.isascii() and value.isdigit():
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 50 else 0


def amount(value: Any) -> float | None:
    """A finite number that is not negative, or null."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value < 1e15 else None
