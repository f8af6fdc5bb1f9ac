"""Pid files and sockets of an engine that was killed: they keep the next one from starting."""

from __future__ import annotations

import socket
from pathlib import Path

PID_FILES = (
    ("var/run/docker.pid", "dockerd"),
    ("var/run/docker/containerd/containerd.pid", "containerd"),
    ("run/containerd/containerd.pid", "containerd"),
)
# dockerd takes an existing containerd socket for a running containerd.
SOCKETS = ("run/containerd/containerd.sock",)


def remove_stale(root: Path = Path("/"), proc: Path = Path("/proc")) -> list[Path]:
    """Remove what names a process that is not the one it should be; returns what was removed."""
    removed = []
    for name, program in PID_FILES:
        path = root / name
        if path.is_file() and not names_live(path, program, proc):
            path.unlink(missing_ok=True)
            removed.append(path)
    for name in SOCKETS:
        path = root / name
        if path.is_socket() and not _listened_on(path):
            path.unlink(missing_ok=True)
            removed.append(path)
    return removed


def names_live(pid_file: Path, program: str, proc: Path = Path("/proc")) -> bool:
    """Whether the number in `pid_file` is a live process of that program: numbers are used again."""
    try:
        pid = int(pid_file.read_text())
        return (proc / str(pid) / "comm").read_text().strip() == program
    except (OSError, ValueError):
        return False


def process_named(program: str, proc: Path = Path("/proc")) -> bool:
    """Whether any live process runs `program`."""
    for comm in proc.glob("[0-9]*/comm"):
        try:
            if comm.read_text().strip() == program:
                return True
        except OSError:
            continue  # it ended while we looked
    return False


def _listened_on(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
        stream.settimeout(2.0)
        try:
            stream.connect(str(path))
        except OSError:
            return False
    return True
