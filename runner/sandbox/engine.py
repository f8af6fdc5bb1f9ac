"""The connection to the Docker engine: one client, what the engine is, and errors in our own words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.errors import DiskFull, EngineMissing, RigError

if TYPE_CHECKING:
    import docker

_FIX = "start one (`service docker start`, `dockerd &`) or point DOCKER_HOST to one; `bench doctor` says more"


@dataclass(frozen=True)
class EngineInfo:
    """What decides how a sandbox behaves here. ``local``: reached through a unix socket, so its kernel is ours."""

    version: str
    api_version: str
    storage_driver: str
    cgroup_version: str
    root_dir: str
    ncpu: int
    mem_bytes: int
    kernel: str
    local: bool


class Engine:
    """An open connection; a context manager that closes it."""

    def __init__(self, client: docker.DockerClient, info: EngineInfo) -> None:
        self.client = client
        self.api = client.api
        self.info = info
        self._volumes: dict[str, list[str]] = {}

    def declared_volumes(self, image: str) -> list[str]:
        """The places that an image declares as volumes; asked once per image. Raises RigError where it is not there."""
        if image not in self._volumes:
            with engine_errors(f"looking at the image {image}"):
                config = self.client.images.get(image).attrs["Config"]
            self._volumes[image] = sorted(config.get("Volumes") or {})
        return self._volumes[image]

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection; safe to call again."""
        self.client.close()


def connect(timeout_s: int = 120) -> Engine:
    """Open the engine that ``DOCKER_HOST`` names, or the local one. ``timeout_s`` bounds every single API call.

    Raises EngineMissing with the fix where none answers.
    """
    import docker
    import requests
    from docker.errors import DockerException

    client = None
    try:
        # The environment decides (DOCKER_HOST, DOCKER_TLS_VERIFY, DOCKER_CERT_PATH); the API version is negotiated.
        client = docker.from_env(timeout=timeout_s, max_pool_size=32)
        said = client.info()
        api_version = client.api.api_version
    except (DockerException, requests.RequestException, OSError) as error:
        if client is not None:
            client.close()
        raise EngineMissing(f"no Docker engine answers ({_short(error)})", _FIX) from error
    local = client.api.base_url.startswith("http+docker://")
    # A socket has no proxy; looking for one in the environment would be a fifth of what a call costs.
    client.api.trust_env = not local
    info = EngineInfo(
        version=str(said.get("ServerVersion", "")),
        api_version=str(api_version),
        storage_driver=str(said.get("Driver", "")),
        cgroup_version=str(said.get("CgroupVersion", "1")),
        root_dir=str(said.get("DockerRootDir", "")),
        ncpu=int(said.get("NCPU", 1)),
        mem_bytes=int(said.get("MemTotal", 0)),
        kernel=str(said.get("KernelVersion", "")),
        local=local,
    )
    return Engine(client, info)


@contextmanager
def engine_errors(doing: str) -> Iterator[None]:
    """Turn whatever the SDK raises while ``doing`` into a RigError: an engine that fails is never a result."""
    import requests
    import urllib3
    from docker.errors import APIError, DockerException, ImageNotFound

    try:
        yield
    except ImageNotFound as error:
        raise RigError(
            f"{doing}: the image is not there ({_short(error)})", "run again: missing images are built first"
        ) from error
    except (DockerException, requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
        if "no space left on device" in str(error):
            raise DiskFull(f"{doing}: the engine's disk is full", "bench prune, docker system df") from error
        answered = isinstance(error, APIError)
        raise RigError(
            f"{doing}: {_short(error)}", "" if answered else "is the Docker engine still running? bench doctor"
        ) from error


def _short(error: BaseException) -> str:
    """The last, most telling part of an SDK error, on one line."""
    explanation = getattr(error, "explanation", None)
    text = explanation.decode("utf-8", "replace") if isinstance(explanation, bytes) else str(explanation or error)
    return re.sub(r"\s+", " ", text).strip()[:300] or type(error).__name__
