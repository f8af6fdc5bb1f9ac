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
            f"{there} has {free / 2**30:.1f} GiB left, a run needs {needed / 2**30:.0f} GiB",
            "free some: bench prune removes what is published, docker image prune what no tag names",
        )
