"""Named tmpfs volumes: bounded in bytes and files, and alive as long as one running container mounts them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from runner.sandbox.engine import Engine, engine_errors
from runner.sandbox.labels import POD, owner_labels


@dataclass(frozen=True)
class VolumeSpec:
    """``size_mb``: MiB. Owner and mode are those of the volume's top directory."""

    run_id: str
    role: str
    pod: str
    size_mb: int
    inodes: int
    uid: int = 1000
    gid: int = 1000
    mode: str = "0755"


def create(engine: Engine, spec: VolumeSpec) -> str:
    """Make the volume; its name. Raises RigError."""
    name = f"bench-{spec.role}-{secrets.token_hex(6)}"
    options = f"size={spec.size_mb}m,nr_inodes={spec.inodes},uid={spec.uid},gid={spec.gid},mode={spec.mode}"
    with engine_errors(f"making the {spec.role} volume"):
        engine.api.create_volume(
            name=name,
            driver="local",
            driver_opts={"type": "tmpfs", "device": "tmpfs", "o": f"{options},nosuid,nodev"},
            labels=owner_labels(spec.run_id, spec.role) | {POD: spec.pod},
        )
    return name


def remove(engine: Engine, name: str) -> None:
    """Remove the volume; it may be gone already. Raises RigError where a container still holds it."""
    from docker.errors import NotFound

    with engine_errors(f"removing the volume {name}"):
        try:
            engine.api.remove_volume(name)
        except NotFound:
            return
