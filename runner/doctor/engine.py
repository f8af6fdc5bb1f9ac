"""Questions to the engine: does it answer, can it build, what does it hold already?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.doctor.check import Check
from runner.doctor.host import disk
from runner.errors import BenchError
from runner.sandbox.baseimage import find_parent
from runner.sandbox.buildcli import find_cli

if TYPE_CHECKING:
    import docker

API_WANTED = (1, 40)
ENGINE_DISK_MB = 6_000
LEFTOVER_LABEL = "bench.run"
START = "make setup (starts an installed engine, or says what to run)"


def engine_answers(client: docker.DockerClient | None, why: str = "") -> Check:
    """An engine answers, with a version that the sandbox knows."""
    if client is None:
        return Check("engine", False, why or "no Docker engine answers", START)
    facts: dict[str, Any] = client.version()
    api = str(facts.get("ApiVersion", "0.0"))
    ok = tuple(int(part) for part in api.split(".")) >= API_WANTED
    detail = f"{facts.get('Version', '?')}, API {api}"
    return Check("engine", ok, detail, "" if ok else "install Docker 19.03 or newer")


def storage(info: Mapping[str, Any]) -> Check:
    """The storage driver: vfs copies every layer and is too slow and too big."""
    driver = str(info.get("Driver", "?"))
    if driver == "vfs":
        return Check("storage driver", True, "vfs: slow, each container copies its image; put it on ext4 or xfs")
    return Check("storage driver", True, driver)


def cgroup(info: Mapping[str, Any]) -> Check:
    """Limits of memory, CPU time and processes can be enforced."""
    lacking = [name for name, key in LIMITS.items() if info.get(key) is False]
    detail = f"v{info.get('CgroupVersion', '?')}, driver {info.get('CgroupDriver', '?')}"
    if lacking:
        fix = "enable these cgroup controllers (rootless: delegate them to the user)"
        return Check("cgroup", False, f"{detail}; no limit for {', '.join(lacking)}", fix)
    return Check("cgroup", True, detail)


LIMITS = {"memory": "MemoryLimit", "CPU": "CpuCfsQuota", "processes": "PidsLimit"}


def build_client(env: Mapping[str, str]) -> Check:
    """A command line client that can build with BuildKit."""
    try:
        cli = find_cli(env)
    except BenchError as error:
        return Check("build client", False, error.what, error.fix)
    return Check("build client", True, f"{cli.path} {cli.version} ({cli.mode})")


def base_image(client: docker.DockerClient) -> Check:
    """The base image's source, where there is one already."""
    found = find_parent(_Holder(client))
    if found is None:
        return Check("base image", True, "not made yet: the first run pulls or bootstraps it, in minutes")
    source, digest = found
    built = [tag for image in client.images.list(name="bench/base") for tag in image.tags]
    return Check("base image", True, f"{source} {digest[:19]}, {', '.join(sorted(built)) or 'not built on yet'}")


class _Holder:
    """A bare client where an engine is asked for."""

    def __init__(self, client: docker.DockerClient) -> None:
        self.client = client


def engine_disk(info: Mapping[str, Any]) -> Check:
    """Space for images and volumes, where the engine's files lie on this host."""
    root = Path(str(info.get("DockerRootDir") or "/var/lib/docker"))
    return disk("disk for the engine", root, ENGINE_DISK_MB, "docker image prune && docker builder prune")


def leftovers(client: docker.DockerClient) -> Check:
    """Objects of runs: those of live runs are fine, those of dead ones `bench sweep` removes."""
    label: dict[str, str | list[str] | bool] = {"label": LEFTOVER_LABEL}
    containers = client.containers.list(all=True, filters=label, ignore_removed=True)
    volumes = client.volumes.list(filters={"label": LEFTOVER_LABEL})
    networks = client.networks.list(filters={"label": LEFTOVER_LABEL})
    if not (containers or volumes or networks):
        return Check("objects of runs", True, "none")
    counts = f"{len(containers)} containers, {len(volumes)} volumes, {len(networks)} networks"
    return Check("objects of runs", True, f"{counts}; `bench sweep` removes those of dead controllers")
