"""Writing so that a reader sees the old file or the new one, never half; and lines that never tear."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from runner.errors import DiskFull, Interrupted, RigError
from runner.schema.base import canonical, complaint

M = TypeVar("M", bound=BaseModel)
_LOCK_S = 0.1


def write_atomic(path: Path, content: bytes) -> None:
    """Replace ``path`` at once (temporary file beside it, flushed, renamed). Raises DiskFull."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise disk_error(error, path) from None


def write_record(path: Path, record: BaseModel) -> None:
    """One record as readable JSON, same bytes for same content."""
    data = json.loads(canonical(record))
    text = json.dumps(data, indent=2, sort_keys=True, ensure_ascii=True, allow_nan=False)
    write_atomic(path, text.encode("ascii") + b"\n")


def read_record(path: Path, model: type[M]) -> M:
    """Raises RigError naming the file where it is absent or not of that schema."""
    try:
        return model.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise RigError(f"{path} is not there") from None
    except ValidationError as error:
        raise RigError(f"{path}: {complaint(error)}") from None


def append_line(path: Path, record: BaseModel | dict[str, Any]) -> None:
    """Append one JSON line with a single write call, so that lines of several writers never mix."""
    line = canonical(record).encode("ascii") + b"\n"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if os.write(descriptor, line) != len(line):
                raise OSError(errno.ENOSPC, "short write")
        finally:
            os.close(descriptor)
    except OSError as error:
        raise disk_error(error, path) from None


def drop_torn_line(path: Path) -> None:
    """Cut off a last line without its newline: its writer died before it was a record. Only under a lock."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    whole = data.rfind(b"\n") + 1
    if whole != len(data):
        os.truncate(path, whole)


def read_lines(path: Path, model: type[M]) -> list[M]:
    """All records of a line file. A last line without its newline was being written when its writer died and is
    left out; a broken line anywhere else is an error. Splits at ``\\n`` alone.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    *lines, _torn = data.split(b"\n")
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(model.model_validate_json(line))
        except ValidationError as error:
            raise RigError(f"{path}: line {number} is broken: {complaint(error)}") from None
    return found


@contextmanager
def locked(path: Path, stop: threading.Event | None = None) -> Iterator[None]:
    """An exclusive lock among processes of this machine, freed when its holder dies.

    With ``stop`` the wait for it can be ended. Raises Interrupted then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as handle:
        if stop is None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        while stop is not None:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if stop.wait(_LOCK_S):
                    raise Interrupted(f"stopped while another process holds {path}") from None
        yield


def writable_folder(path: Path) -> None:
    """Make the folder, and try it. Raises DiskFull or RigError before work is done whose result could not be kept."""
    probe = path / f".{os.getpid()}.tmp"
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"\n")
    except OSError as error:
        raise disk_error(error, path) from None
    finally:
        with suppress(OSError):
            probe.unlink(missing_ok=True)


def disk_error(error: OSError, path: Path) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"no space left to write {path}", "free some (bench prune; docker system df), then run again")
    return RigError(
        f"{path} cannot be written: {error.strerror or error}", f"make {path.parent} a folder you may write to"
    )
