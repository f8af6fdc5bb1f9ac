"""Images named by what is in them: unchanged means no build, two builders at once build once."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from runner.errors import BuildError, DiskFull
from runner.sandbox.buildcli import find_cli
from runner.sandbox.buildkit import build
from runner.sandbox.command import Log
from runner.sandbox.context import context_hash, stage

if TYPE_CHECKING:
    import docker

TAG_DIGITS = 16


class HasClient(Protocol):
    """All that images need of sandbox.engine.Engine."""

    @property
    def client(self) -> docker.DockerClient: ...


@dataclass(frozen=True)
class ImageSpec:
    """What an image is made of. `parents` maps a build argument (PARENT) to an existing image's tag."""

    name: str
    context: Path
    dockerfile: str = "Dockerfile"
    parents: Mapping[str, str] = field(default_factory=dict)
    args: Mapping[str, str] = field(default_factory=dict)
    target: str | None = None


@dataclass(frozen=True)
class Image:
    """A built image. `seconds` is what this call took; `built` is False when it was there already."""

    tag: str
    id: str
    built: bool
    seconds: float


def ensure(engine: HasClient, spec: ImageSpec, *, log: Log, env: Mapping[str, str] | None = None) -> Image:
    """The image of `spec`, built unless it exists. Raises BuildError or DiskFull; no tag is then made."""
    started = time.monotonic()
    if not (spec.context / spec.dockerfile).is_file():
        raise BuildError(f"{spec.name} has no {spec.dockerfile} in {spec.context}")
    parent_ids = {arg: _parent_id(engine, spec.name, tag) for arg, tag in spec.parents.items()}
    digest = spec_hash(spec, parent_ids, context_hash(spec.context))
    tag = f"{spec.name}:{digest[:TAG_DIGITS]}"
    found = find_image(engine, tag)
    if found:
        return Image(tag, found, False, time.monotonic() - started)
    with told_plainly(f"building {spec.name}"), build_lock(tag, log):
        found = find_image(engine, tag)
        if found:
            return Image(tag, found, False, time.monotonic() - started)
        image_id = _build(engine, spec, digest, parent_ids, log, dict(os.environ if env is None else env))
        if not engine.client.images.get(image_id).tag(spec.name, tag.rpartition(":")[2]):
            raise BuildError(f"the engine refused the tag {tag}")
    return Image(tag, image_id, True, time.monotonic() - started)


def spec_hash(spec: ImageSpec, parent_ids: Mapping[str, str], context: str) -> str:
    """SHA-256 (hex) of all that decides the image. Proxies and CA bundle only carry: not among it."""
    facts = {
        "context": context,
        "dockerfile": spec.dockerfile,
        "parents": dict(parent_ids),
        "args": dict(spec.args),
        "target": spec.target,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def find_image(engine: HasClient, tag: str) -> str | None:
    """The id of the image that `tag` names, or None."""
    from docker.errors import ImageNotFound

    try:
        return str(engine.client.images.get(tag).id)
    except ImageNotFound:
        return None


def _parent_id(engine: HasClient, name: str, tag: str) -> str:
    found = find_image(engine, tag)
    if found is None:
        raise BuildError(f"{name} is built on {tag}, which does not exist", "build the parent first")
    return found


def _build(
    engine: HasClient,
    spec: ImageSpec,
    digest: str,
    parent_ids: Mapping[str, str],
    log: Log,
    env: Mapping[str, str],
) -> str:
    cli = find_cli(env)
    with tempfile.TemporaryDirectory(prefix="bench-context-") as folder:
        staged = stage(spec.context, Path(folder))
        # What is tagged must be what was hashed, even while somebody edits the context.
        if spec_hash(spec, parent_ids, staged) != digest:
            raise BuildError(f"the build context of {spec.name} changed while it was read", "try again")
        log(f"building {spec.name} ({digest[:TAG_DIGITS]}) with {cli.path} {cli.version}")
        image_id = build(
            cli,
            Path(folder),
            name=spec.name,
            env=env,
            log=log,
            dockerfile=spec.dockerfile,
            args={**spec.args, **spec.parents},
            labels={"bench.image": spec.name, "bench.hash": digest},
            target=spec.target,
        )
    if find_image(engine, image_id) is None:
        raise BuildError(
            f"{spec.name} was built, but the engine does not have it",
            "let DOCKER_HOST name the engine that the docker client builds on",
        )
    return image_id


@contextmanager
def told_plainly(what: str) -> Iterator[None]:
    """A full disk, ours or the engine's, and a refusal of the engine's become typed errors."""
    from docker.errors import APIError

    try:
        yield
    except APIError as error:
        if "no space left on device" in str(error).lower():
            raise DiskFull(f"the engine's disk is full; {what} stopped", "docker image prune") from error
        raise BuildError(f"{what} failed: the engine says {error.explanation or error}") from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiskFull(f"the disk is full; {what} stopped", "free some space") from error
        raise


@contextmanager
def build_lock(tag: str, log: Log) -> Iterator[None]:
    """One builder of `tag` at a time on this host; the kernel frees it when its holder dies."""
    folder = lock_dir()
    path = folder / (hashlib.sha256(tag.encode()).hexdigest()[:32] + ".lock")
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log(f"waiting for another build of {tag}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def lock_dir() -> Path:
    """Where build locks lie: the user's cache directory."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(cache) / "bakeoff-runner" / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
