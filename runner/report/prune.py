"""Space back: mirrors of runs that are finished, recorded and old; what killed commands left in the temp folder."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from pathlib import Path

from runner.registry.load import read_entries
from runner.report.lookup import history_of

# As the runner names its own (``bench-validate-x7_k2m1q``); one that works for a day still writes into its folder.
_SCRATCH = re.compile(r"(bench-[a-z]+|opencode-db|bgw)-[a-z0-9_]{8}")
_DAY_S = 86_400


def prune_scratch(*, days: int, dry_run: bool) -> list[Path]:
    """Remove this user's folders of commands that were killed, at least a day and ``days`` old; returns them."""
    old = time.time() - max(1, days) * _DAY_S
    gone = []
    for folder in sorted(Path(tempfile.gettempdir()).iterdir()):
        if _SCRATCH.fullmatch(folder.name) and not folder.is_symlink() and folder.is_dir():
            there = folder.stat()
            if there.st_uid == os.getuid() and there.st_mtime < old:
                gone.append(folder)
                if not dry_run:
                    shutil.rmtree(folder)
    return gone


def prune_workspaces(registry: Path, *, days: int, dry_run: bool) -> list[Path]:
    """Remove bare mirrors whose run has its row and that are older than ``days``; returns them."""
    registry = registry.resolve()
    recorded = {record.run_id for record in history_of(registry)}
    old = time.time() - days * _DAY_S
    gone = []
    folders = {
        ((registry.parent / Path(e.source_repo).expanduser()) / e.workspaces_dir).resolve()
        for e in read_entries(registry).values()
    }
    for folder in sorted(folders):
        for mirror in sorted(folder.glob("*.git")):
            ours = any(run_id in mirror.name for run_id in recorded)
            if ours and mirror.stat().st_mtime < old:
                gone.append(mirror)
                if not dry_run:
                    shutil.rmtree(mirror)
    return gone
