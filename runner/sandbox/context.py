"""A build context as content: what is in it, hashed, and a frozen copy to build from.

Only what can change the image counts: path, executable bit and bytes (a link's target for a link).
Owner, time and umask do not, and the staged copy has them evened out, so that two clones of one
commit give one tag.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from runner.errors import BuildError

SKIPPED = frozenset({"__pycache__", ".git", ".mypy_cache", ".ruff_cache", ".pytest_cache"})
EPOCH = 1_700_000_000  # seconds; every staged file's time, because COPY keeps it in the layer


def context_files(root: Path) -> list[Path]:
    """Files and links below `root`, sorted by their path in bytes. Raises BuildError."""
    if not root.is_dir():
        raise BuildError(f"the build context {root} is not a directory")
    return sorted(_walk(root), key=lambda path: os.fsencode(path.relative_to(root)))


def _walk(directory: Path) -> Iterator[Path]:
    for entry in os.scandir(directory):
        if entry.name in SKIPPED:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path))
        elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
            yield Path(entry.path)
        else:
            raise BuildError(
                f"{entry.path} is neither a file, a directory nor a link", "remove it from the build context"
            )


def context_hash(root: Path) -> str:
    """SHA-256 (hex) over the context's content."""
    digest = hashlib.sha256()
    for path in context_files(root):
        info = path.lstat()
        if stat.S_ISLNK(info.st_mode):
            kind, content = b"l", hashlib.sha256(os.fsencode(os.readlink(path))).digest()
        else:
            kind = b"x" if info.st_mode & stat.S_IXUSR else b"f"
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").digest()
        name = os.fsencode(path.relative_to(root))
        digest.update(kind + len(name).to_bytes(4, "big") + name + content)
    return digest.hexdigest()


def stage(root: Path, target: Path) -> str:
    """Copy the context into the empty directory `target`; returns the hash of what was copied."""
    for path in context_files(root):
        copy = target / path.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy, follow_symlinks=False)
        if not copy.is_symlink():
            copy.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)
    for directory, _, files in os.walk(target, topdown=False):
        for name in files:
            os.utime(os.path.join(directory, name), (EPOCH, EPOCH), follow_symlinks=False)
        os.chmod(directory, 0o755)
        os.utime(directory, (EPOCH, EPOCH))
    return context_hash(target)
