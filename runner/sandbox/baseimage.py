"""The base image: Debian bookworm from a registry where one answers, bootstrapped where none does."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from runner.errors import BuildError
from runner.sandbox.buildcli import engine_host, find_cli
from runner.sandbox.command import Log, follow
from runner.sandbox.debian import SUITE, bootstrap
from runner.sandbox.images import HasClient, Image, ImageSpec, build_lock, ensure, find_image, told_plainly

Source = Literal["registry", "mmdebstrap", "debootstrap"]

IMAGES = Path(__file__).resolve().parents[2] / "images"
SLIM = "debian:bookworm-slim"
PARENT = "bench/debian"
SOURCES: tuple[Source, ...] = ("registry", "mmdebstrap", "debootstrap")
PROBE_SECONDS = 10
PULL_SECONDS = 600.0


@dataclass(frozen=True)
class BaseImage:
    """bench/base as it is here. `digest` is the registry's, or the SHA-256 of the bootstrapped tar."""

    tag: str
    id: str
    source: Source
    digest: str
    built: bool

    @property
    def detail(self) -> str:
        return f"Debian {SUITE} by {self.source}, {self.digest}"


def ensure_base(engine: HasClient, *, log: Log, env: Mapping[str, str] | None = None) -> BaseImage:
    """bench/base:<hash>, made unless it is there. Raises BuildError or DiskFull."""
    environment = dict(os.environ if env is None else env)
    source, digest = find_parent(engine) or make_parent(engine, log=log, env=environment)
    spec = ImageSpec(
        name="bench/base",
        context=IMAGES / "base",
        parents={"PARENT": f"{PARENT}:{source}"},
        args={"BASE_SOURCE": source, "BASE_DIGEST": digest},
    )
    image = ensure(engine, spec, log=log, env=environment)
    return BaseImage(image.tag, image.id, source, digest, image.built)


def ensure_trusted(engine: HasClient, base: BaseImage, *, log: Log, env: Mapping[str, str] | None = None) -> Image:
    """bench/trusted:<hash>: the pod's holder and the copy-out."""
    return ensure(engine, _on_base("trusted", base), log=log, env=env)


def ensure_postgres(engine: HasClient, base: BaseImage, *, log: Log, env: Mapping[str, str] | None = None) -> Image:
    """bench/postgres:<hash>: the parent of benchmarks' database images."""
    return ensure(engine, _on_base("postgres", base), log=log, env=env)


def _on_base(name: str, base: BaseImage) -> ImageSpec:
    return ImageSpec(name=f"bench/{name}", context=IMAGES / name, parents={"PARENT": base.tag})


def find_parent(engine: HasClient) -> tuple[Source, str] | None:
    """Where the plain Debian that is already here came from, and its digest."""
    for source in SOURCES:
        image_id = find_image(engine, f"{PARENT}:{source}")
        if image_id is None:
            continue
        attrs = engine.client.images.get(image_id).attrs
        if source == "registry":
            names = [str(name) for name in attrs.get("RepoDigests") or []]
            digests = [name.partition("@")[2] for name in names if name.startswith("debian@")]
            return source, digests[0] if digests else image_id
        labels = attrs["Config"].get("Labels") or {}
        return source, str(labels.get("bench.base.digest", image_id))
    return None


def make_parent(engine: HasClient, *, log: Log, env: Mapping[str, str]) -> tuple[Source, str]:
    """Pull the plain Debian, or bootstrap and import it. One at a time on this host."""
    with build_lock(PARENT, log):
        found = find_parent(engine)
        if found:
            return found
        if pull(engine, log=log, env=env):
            engine.client.images.get(SLIM).tag(PARENT, "registry")
        else:
            import_bootstrapped(engine, log=log, env=env)
        found = find_parent(engine)
    if not found:
        raise BuildError("the plain Debian image is not there although it was made", "bench doctor")
    return found


def pull(engine: HasClient, *, log: Log, env: Mapping[str, str]) -> bool:
    """Whether a registry gave the slim image. A registry that is silent for seconds counts as none."""
    if not registry_answers(log=log, env=env):
        return False
    # By the client: the SDK's pull has no time limit, and ending the client ends the pull.
    cli = find_cli(env)
    outcome = follow(
        [cli.path, "pull", SLIM], env={**env, "DOCKER_HOST": engine_host(env)}, log=log, timeout_s=PULL_SECONDS
    )
    return outcome.ok and find_image(engine, SLIM) is not None


def registry_answers(*, log: Log, env: Mapping[str, str]) -> bool:
    """Ask, through the engine, for the slim image's manifest; no for any refusal or PROBE_SECONDS of silence."""
    import docker
    import requests
    from docker.errors import DockerException

    log(f"asking the engine's registry for {SLIM}")
    try:
        # A client of its own, because only the client has the time limit.
        with closing(docker.from_env(timeout=PROBE_SECONDS, environment=dict(env))) as client:
            api: Any = client.api
            api.inspect_distribution(SLIM)
    except (DockerException, requests.RequestException) as error:
        log(f"no: {error}")
        return False
    return True


def import_bootstrapped(engine: HasClient, *, log: Log, env: Mapping[str, str]) -> None:
    """Bootstrap Debian and import it as bench/debian:<tool>, labelled with its tool and digest."""
    with told_plainly("making the base image"), tempfile.TemporaryDirectory(prefix="bench-debian-") as folder:
        rootfs = bootstrap(Path(folder), log=log, env=env)
        changes = [
            f"LABEL bench.base.source={rootfs.tool}",
            f"LABEL bench.base.digest=sha256:{rootfs.sha256}",
            'CMD ["bash"]',
        ]
        log(f"importing {rootfs.tar.stat().st_size >> 20} MiB into the engine")
        engine.client.api.import_image_from_file(str(rootfs.tar), repository=PARENT, tag=rootfs.tool, changes=changes)
