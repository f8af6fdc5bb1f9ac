"""Installing a distribution's package, where that is ours to do: as root on Debian or Ubuntu."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from runner.errors import ConfigError
from runner.setup.commands import run

INSTALL_SECONDS = 900.0
OS_RELEASE = Path("/etc/os-release")


def is_debian(os_release: Path = OS_RELEASE) -> bool:
    """Whether this is Debian, Ubuntu or one of their children."""
    try:
        lines = os_release.read_text().splitlines()
    except OSError:
        return False
    facts = dict(line.split("=", 1) for line in lines if "=" in line)
    family = f"{facts.get('ID', '')} {facts.get('ID_LIKE', '')}".replace('"', "").split()
    return bool({"debian", "ubuntu"} & set(family))


def can_install(env: Mapping[str, str]) -> bool:
    """Root, Debian's family, and apt-get on PATH."""
    return os.geteuid() == 0 and is_debian() and shutil.which("apt-get", path=env.get("PATH")) is not None


def install(packages: Sequence[str], *, env: Mapping[str, str], optional: Sequence[str] = ()) -> None:
    """Install `packages`, and those of `optional` that the distribution has. Raises ConfigError."""
    quiet = {**env, "DEBIAN_FRONTEND": "noninteractive"}
    # A mirror that fails in part may still have what is asked for.
    run(["apt-get", "-q", "update"], env=quiet, timeout_s=INSTALL_SECONDS)
    known = [name for name in optional if run(["apt-cache", "show", name], env=quiet, timeout_s=60).code == 0]
    argv = ["apt-get", "-q", "install", "-y", "--no-install-recommends", *packages, *known]
    done = run(argv, env=quiet, timeout_s=INSTALL_SECONDS)
    if done.code != 0:
        raise ConfigError(f"apt-get could not install {' '.join(packages)}: {done.last}", "run it by hand")
