"""Puts a new entry in place: all of it, or nothing."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from runner.errors import RigError
from runner.scaffold.index import append_entry, check_new
from runner.store.files import disk_error


def write_entry(index: Path, benchmark: str, files: Mapping[str, bytes], entry: str) -> None:
    """The folder beside the index, then the entry in it; when the second fails, the first is taken back.

    Raises UsageError where the id or the folder came to be meanwhile, ConfigError where the index cannot be extended.
    """
    home = index.parent
    folder = home / benchmark
    with _alone(home):
        check_new(index, benchmark)
        staging = Path(tempfile.mkdtemp(prefix=f".new-{benchmark}-", dir=home))
        try:
            try:
                _fill(staging, files)
                staging.chmod(0o755)
                staging.rename(folder)
            except OSError as error:
                raise disk_error(error, folder) from None
            try:
                append_entry(index, benchmark, entry)
            except BaseException:
                folder.rename(staging)
                raise
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _fill(staging: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        path = staging / name
        if not path.resolve().is_relative_to(staging.resolve()):
            raise RigError(f"{name} would leave the folder of the entry")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """One writer at a time: a lock on the folder itself, so that nothing is left behind."""
    descriptor = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
