"""Who owns a container or volume: the labels that let a reaper prove a controller dead."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Literal

RUN, ROLE, HOST, BOOT, PIDNS, PID, PID_START = (
    "bench.run",
    "bench.role",
    "bench.host",
    "bench.boot",
    "bench.pidns",
    "bench.pid",
    "bench.pid_start",
)
# Which pod an object belongs to, so that a pod can be taken down whole.
POD = "bench.pod"
OWNED = (RUN, HOST, BOOT, PIDNS, PID, PID_START)

Fate = Literal["ours", "alive", "dead", "foreign"]


def owner_labels(run_id: str, role: str) -> dict[str, str]:
    """The labels of an object that this process creates for ``run_id`` as ``role``."""
    return {RUN: run_id, ROLE: role, PID: str(os.getpid()), PID_START: start_time(os.getpid()) or "", **_place()}


def fate(labels: dict[str, str], *, local_engine: bool) -> Fate:
    """What is known of the process that made an object.

    ``dead`` only where it is proven: same host, boot and pid namespace, and the pid is gone or was given to another
    process; or an earlier boot of this host on an engine that shares our kernel. ``foreign``: nothing can be said.
    """
    place = _place()
    if any(not labels.get(key) for key in OWNED) or labels[HOST] != place[HOST]:
        return "foreign"
    if labels[BOOT] != place[BOOT]:
        return "dead" if local_engine else "foreign"
    if labels[PIDNS] != place[PIDNS] or not labels[PID].isdigit():
        return "foreign"
    start = start_time(int(labels[PID]))
    if start is None or (start and start != labels[PID_START]):
        return "dead"
    return "ours" if int(labels[PID]) == os.getpid() else "alive"


def _place() -> dict[str, str]:
    return {HOST: _host(), BOOT: _read("/proc/sys/kernel/random/boot_id"), PIDNS: os.readlink("/proc/self/ns/pid")}


def _host() -> str:
    return f"{platform.node()}:{_read('/etc/machine-id')[:12]}"


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def start_time(pid: int) -> str | None:
    """Start time of a process in clock ticks since boot; None where there is none, or only its zombie; empty where
    it exists but may not be looked at.
    """
    try:
        os.kill(pid, 0)  # /proc may be mounted so that it hides other people's processes; a signal is not fooled
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    state, *fields = text[text.rindex(")") + 2 :].split()
    return None if state in "ZX" else fields[18]
