"""What a contestant's tree may be before anything of it is laid out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.errors import ContestantError
from runner.hostgit import printable, records


@dataclass(frozen=True)
class TreeLimits:
    """What a contestant's tree may be: number of paths, bytes in all, and plain names."""

    paths: int = 50_000
    total_bytes: int = 1 << 30

    def check(self, git_dir: Path, commit: str) -> None:
        """Raises ContestantError for a tree over a limit or with a name that could leave it."""
        total = 0
        for count, record in enumerate(records(["ls-tree", "-r", "-l", "-z", "--full-tree", commit], git_dir), 1):
            meta, _, path = record.partition(b"\t")
            size = meta.split()[-1]
            total += int(size) if size.isdigit() else 0
            if any(part in (b"", b".", b"..") or part.lower() == b".git" for part in path.split(b"/")):
                raise ContestantError(f"the tree holds a forbidden name: {printable(path)}")
            if count > self.paths:
                raise ContestantError(f"the tree holds more than {self.paths} paths")
            if total > self.total_bytes:
                raise ContestantError(f"the tree holds more than {self.total_bytes} bytes")
