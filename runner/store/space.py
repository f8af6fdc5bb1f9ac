"""Room on the disk, asked before anything is started."""

from __future__ import annotations

import shutil
from pathlib import Path

from runner.errors import DiskFull

NEEDED_BYTES = 2 << 30


def check_space(folder: Path, needed: int = NEEDED_BYTES) -> None:
    """Raises DiskFull where the file system of ``folder`` has less than ``needed`` bytes left."""
    there = folder
    while not there.exists():
        there = there.parent
    free = shutil.disk_usage(there).free
    if free < needed:
        raise DiskFull(
            f"{there} has {_size(free)} left, this needs {_size(needed)}",
            "free some: bench prune removes what is published, docker image prune what no tag names",
        )


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 1 << 30 else f"{count / 2**20:.0f} MiB"
