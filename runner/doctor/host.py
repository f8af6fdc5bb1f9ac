"""Questions about the host itself: Python, git, memory, disk, CA bundle."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from runner.doctor.check import Check
from runner.errors import BenchError
from runner.sandbox.buildcli import ca_bundle

PYTHON_WANTED = (3, 11)
GIT_WANTED = (2, 30)
MEMORY_MB = 3500  # one pod: contestant, database and their tmpfs volumes, and room for the host
RUNS_DISK_MB = 2_000
GIB = 1 << 30
MIB = 1 << 20


def python_version() -> Check:
    """Python is new enough."""
    version = sys.version.split()[0]
    ok = sys.version_info >= PYTHON_WANTED
    return Check("python", ok, version, "" if ok else "install Python 3.11 or newer, then: make PYTHON=python3.11")


def git_version(env: Mapping[str, str]) -> Check:
    """git is there and new enough for bundles and safe directories."""
    git = shutil.which("git", path=env.get("PATH"))
    if git is None:
        return Check("git", False, "not installed", "apt-get install git")
    said = subprocess.run([git, "--version"], env=dict(env), capture_output=True, check=False, timeout=20)
    found = re.search(rb"(\d+)\.(\d+)(?:\.\d+)*", said.stdout)
    if found is None:
        return Check("git", False, f"{git} does not say its version", "apt-get install git")
    ok = (int(found.group(1)), int(found.group(2))) >= GIT_WANTED
    return Check("git", ok, found.group(0).decode(), "" if ok else "install git 2.30 or newer")


def memory(meminfo: Path = Path("/proc/meminfo")) -> Check:
    """Memory that is free to be used, against what one pod may take."""
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", meminfo.read_text(), re.MULTILINE)
    except OSError:
        found = None
    if found is None:
        return Check("memory", True, "this system does not say")
    available = int(found.group(1)) // 1024
    fix = "" if available >= MEMORY_MB else "stop something, or give the benchmark's limits less memory"
    return Check("memory", available >= MEMORY_MB, f"{available} MiB available, {MEMORY_MB} wanted", fix)


def disk(name: str, folder: Path, wanted_mb: int, fix: str) -> Check:
    """Free space below `folder`, or below its nearest parent that exists."""
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        usage = os.statvfs(place)
    except OSError as error:
        return Check(name, False, f"{folder}: {error.strerror}", "make it readable")
    free = usage.f_bavail * usage.f_frsize
    ok = free >= wanted_mb * MIB
    detail = f"{free / GIB:.1f} GiB free at {folder}, {wanted_mb / 1024:.1f} wanted"
    return Check(name, ok, detail, "" if ok else fix)


def runs_disk(folder: Path) -> Check:
    """Space for what runs leave behind."""
    return disk("disk for runs", folder, RUNS_DISK_MB, "bench prune, or free some space there")


def certificates(env: Mapping[str, str]) -> Check:
    """The CA bundle that image builds get from this host."""
    try:
        bundle = ca_bundle(env)
    except BenchError as error:
        return Check("CA bundle", False, error.what, error.fix)
    if bundle is None:
        return Check("CA bundle", False, "none found", "apt-get install ca-certificates, or set SSL_CERT_FILE")
    count = bundle.read_bytes().count(b"BEGIN CERTIFICATE")
    ok = count > 0
    return Check("CA bundle", ok, f"{bundle}, {count} certificates", "" if ok else "apt-get install ca-certificates")
