"""Space back: mirrors of runs that are finished, recorded and old."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from runner.registry.load import read_entries
from runner.report.lookup import history_of


def prune_workspaces(registry: Path, *, days: int, dry_run: bool) -> list[Path]:
    """Remove bare mirrors whose run has its row and that are older than ``days``; returns them."""
    registry = registry.resolve()
    recorded = {record.run_id for record in history_of(registry)}
    old = time.time() - days * 86_400
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
