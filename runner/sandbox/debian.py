"""A plain Debian bookworm where no container registry answers: bootstrapped and packed as a tar."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from runner.errors import BuildError, DiskFull
from runner.sandbox.command import Log, follow

Tool = Literal["mmdebstrap", "debootstrap"]

SUITE = "bookworm"
BOOTSTRAP_SECONDS = 1200.0
INSTALL_SECONDS = 600.0
EPOCH = "1700000000"  # newer file times are clamped to it: one set of packages gives one tar

# What the slim image leaves out as well.
DPKG_OPTIONS = (
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/locale/*",
)
LEFTOVERS = ("var/cache/apt/archives", "var/lib/apt/lists", "usr/share/man", "usr/share/locale", "var/log")


@dataclass(frozen=True)
class Rootfs:
    """A root file system in one tar file."""

    tar: Path
    sha256: str
    tool: Tool


def bootstrap(folder: Path, *, log: Log, env: Mapping[str, str]) -> Rootfs:
    """Bootstrap into `folder`. Uses mmdebstrap, else debootstrap; installs one as root on Debian.

    Raises BuildError with the command to run when neither can be had or it fails, DiskFull.
    """
    tool = _find_tool(env) or _install_tool(log, env)
    log(f"no container registry answers: bootstrapping Debian {SUITE} with {tool} (minutes, once)")
    tar = folder / "rootfs.tar"
    if tool == "mmdebstrap":
        _mmdebstrap(tar, log, env)
    else:
        _debootstrap(folder, tar, log, env)
    with tar.open("rb") as file:
        return Rootfs(tar, hashlib.file_digest(file, "sha256").hexdigest(), tool)


def _find_tool(env: Mapping[str, str]) -> Tool | None:
    tools: tuple[Tool, ...] = ("mmdebstrap", "debootstrap")
    for tool in tools:
        # debootstrap must make device nodes and change its root; mmdebstrap can do without.
        if shutil.which(tool, path=_search_path(env)) and (tool == "mmdebstrap" or os.geteuid() == 0):
            return tool
    return None


def _search_path(env: Mapping[str, str]) -> str:
    return os.pathsep.join([env.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def _install_tool(log: Log, env: Mapping[str, str]) -> Tool:
    fix = "apt-get install mmdebstrap, or give the engine a registry that has debian:bookworm-slim"
    if os.geteuid() != 0 or not shutil.which("apt-get", path=_search_path(env)):
        raise BuildError("no container registry answers and neither mmdebstrap nor debootstrap is installed", fix)
    quiet = {**env, "DEBIAN_FRONTEND": "noninteractive"}
    _run(["apt-get", "-q", "update"], log, quiet, INSTALL_SECONDS, must=False)
    for package in ("mmdebstrap", "debootstrap"):
        log(f"installing {package} with apt-get, to bootstrap the base image")
        argv = [
            "apt-get",
            "-q",
            "install",
            "-y",
            "--no-install-recommends",
            package,
            "debian-archive-keyring",
        ]
        _run(argv, log, quiet, INSTALL_SECONDS, must=False)
        tool = _find_tool(env)
        if tool:
            return tool
    raise BuildError("neither mmdebstrap nor debootstrap could be installed", fix)


def _mmdebstrap(tar: Path, log: Log, env: Mapping[str, str]) -> None:
    options = [f"--dpkgopt={option}" for option in DPKG_OPTIONS]
    argv = ["mmdebstrap", "--variant=minbase", *options, SUITE, str(tar)]
    _run(argv, log, {**env, "SOURCE_DATE_EPOCH": EPOCH}, BOOTSTRAP_SECONDS)


def _debootstrap(folder: Path, tar: Path, log: Log, env: Mapping[str, str]) -> None:
    root = folder / "rootfs"
    _run(["debootstrap", "--variant=minbase", SUITE, str(root)], log, dict(env), BOOTSTRAP_SECONDS)
    finish_debootstrap(root)
    members = ["--exclude=./proc/*", "--exclude=./sys/*", "--exclude=./dev/*", "."]
    even = ["--sort=name", f"--mtime=@{EPOCH}", "--clamp-mtime", "--numeric-owner"]
    _run(["tar", "-cf", str(tar), *even, "-C", str(root), *members], log, dict(env), BOOTSTRAP_SECONDS)
    shutil.rmtree(root)


def finish_debootstrap(root: Path) -> None:
    """Bring a fresh debootstrap tree to what the other two sources give: security sources, no lists."""
    sources = root / "etc/apt/sources.list"
    mirror = next(line.split()[1] for line in sources.read_text().splitlines() if line.startswith("deb "))
    sources.write_text(
        f"deb {mirror} {SUITE} main\n"
        f"deb {mirror} {SUITE}-updates main\n"
        f"deb {mirror.rstrip('/')}-security {SUITE}-security main\n"
    )
    (root / "etc/dpkg/dpkg.cfg.d").mkdir(parents=True, exist_ok=True)
    (root / "etc/dpkg/dpkg.cfg.d/99slim").write_text("".join(f"{option}\n" for option in DPKG_OPTIONS))
    for leftover in LEFTOVERS:
        for path in (root / leftover).rglob("*"):
            if path.is_file() and not path.is_symlink():
                path.unlink()
    for name in ("etc/hostname", "etc/resolv.conf"):
        (root / name).unlink(missing_ok=True)


def _run(argv: list[str], log: Log, env: Mapping[str, str], seconds: float, *, must: bool = True) -> None:
    outcome = follow(argv, env={**env, "PATH": _search_path(env)}, log=log, timeout_s=seconds)
    if outcome.ok or not must:
        return
    if outcome.disk_full:
        raise DiskFull(f"the disk is full; {argv[0]} stopped", "free some space below the temporary directory")
    why = f"took longer than {seconds:.0f} s" if outcome.timed_out else f"failed: {outcome.reason}"
    raise BuildError(f"{argv[0]} {why}", "is a Debian mirror reachable?")
