"""How every container of ours is created: sealed, bounded, labelled, and ending by itself."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from runner.errors import RigError
from runner.sandbox.engine import Engine, engine_errors
from runner.sandbox.labels import POD, owner_labels
from runner.sandbox.seccomp import profile

MIB = 1 << 20
_SHM_MB = 64
# One empty tmpfs file costs the kernel about a kilobyte, charged to whoever made it.
_INODE_BYTES = 1024


@dataclass(frozen=True)
class Limits:
    """``memory_mb`` is for processes; what the container's tmpfs may hold is added on top. ``disk_mb``, ``inodes``:
    per tmpfs.
    """

    memory_mb: int = 1024
    cpus: float = 1.0
    pids: int = 256
    disk_mb: int = 512
    inodes: int = 200_000


@dataclass(frozen=True)
class Mount:
    """``volume``: a named volume, or an absolute path of the host. ``fill``: an empty volume takes over what the
    image has at ``target``, owner and mode included.
    """

    volume: str
    target: str
    read_only: bool = False
    fill: bool = False

    def bind(self) -> str:
        """The engine's spelling. Raises RigError where a path of the host is not there: the engine would make it."""
        options = "ro" if self.read_only else "rw"
        if self.volume.startswith("/"):
            if not os.path.exists(self.volume):
                raise RigError(f"{self.volume} is not there, so it cannot be mounted at {self.target}")
            return f"{self.volume}:{self.target}:{options}"
        return f"{self.volume}:{self.target}:{options}{'' if self.fill else ',nocopy'}"


@dataclass(frozen=True)
class Tmpfs:
    """A tmpfs of one container, gone with it. ``mode`` in octal digits."""

    target: str
    size_mb: int
    inodes: int = 200_000
    uid: int = 0
    gid: int = 0
    mode: str = "1777"

    @classmethod
    def of(cls, user: str, target: str, size_mb: int, inodes: int) -> Tmpfs:
        """One that ``user`` (``uid:gid``) alone can write."""
        uid, _, gid = user.partition(":")
        return cls(target, size_mb, inodes, uid=int(uid), gid=int(gid or uid), mode="0755")

    def options(self) -> str:
        return (
            f"rw,nosuid,nodev,exec,size={self.size_mb}m,nr_inodes={self.inodes}"
            f",uid={self.uid},gid={self.gid},mode={self.mode}"
        )


@dataclass(frozen=True)
class ContainerSpec:
    """``argv`` None: the image's own command. ``writable_mb``: size of the volumes it may fill (its memory pays).

    ``told``: does the main process read what is sent to it?
    """

    run_id: str
    role: str
    image: str
    argv: Sequence[str] | None
    user: str
    limits: Limits
    env: Mapping[str, str] = field(default_factory=dict)
    network: str = "none"
    mounts: Sequence[Mount] = ()
    tmpfs: Sequence[Tmpfs] = ()
    writable_mb: int = 0
    writable_volumes: int = 0
    caps: Sequence[str] = ()
    sysctls: Mapping[str, str] = field(default_factory=dict)
    pod: str = ""
    told: bool = False


def create(engine: Engine, spec: ContainerSpec) -> tuple[str, str]:
    """Create the container, not started; its id and name. Raises RigError."""
    spec = _with_bounded_volumes(engine, spec)
    name = f"bench-{spec.role}-{secrets.token_hex(6)}"
    with engine_errors(f"creating the {spec.role} container"):
        made = engine.api.create_container(
            image=spec.image,
            name=name,
            entrypoint=[spec.argv[0]] if spec.argv is not None else None,
            command=list(spec.argv[1:]) if spec.argv is not None else None,
            user=spec.user,
            environment=dict(spec.env),
            labels=owner_labels(spec.run_id, spec.role) | {POD: spec.pod},
            working_dir="/",
            stdin_open=spec.told,
            tty=False,
            healthcheck={"test": ["NONE"]},
            host_config=_host_config(engine, spec),
        )
    return str(made["Id"]), name


def _with_bounded_volumes(engine: Engine, spec: ContainerSpec) -> ContainerSpec:
    """A place that the image declares as a volume would be the host's disk without a limit: make it a tmpfs."""
    taken = {mount.target for mount in spec.mounts} | {tmpfs.target for tmpfs in spec.tmpfs}
    declared = [path for path in engine.declared_volumes(spec.image) if path not in taken]
    extra = [Tmpfs(path, spec.limits.disk_mb, spec.limits.inodes) for path in declared]
    return replace(spec, tmpfs=[*spec.tmpfs, *extra]) if extra else spec


def _host_config(engine: Engine, spec: ContainerSpec) -> dict[str, object]:
    from docker.types import LogConfig, Ulimit

    memory = memory_bytes(spec)
    joined = spec.network != "none"
    made: dict[str, object] = engine.api.create_host_config(
        network_mode=spec.network,
        binds=[mount.bind() for mount in spec.mounts],
        tmpfs={t.target: t.options() for t in spec.tmpfs},
        read_only=True,
        cap_drop=["ALL"],
        cap_add=list(spec.caps),
        sysctls=dict(spec.sysctls) or None,
        security_opt=["no-new-privileges:true", f"seccomp={profile()}"],
        mem_limit=memory,
        memswap_limit=memory,
        nano_cpus=int(spec.limits.cpus * 1e9),
        pids_limit=spec.limits.pids,
        shm_size=_SHM_MB * MIB,
        init=True,
        restart_policy={"Name": "no"},
        log_config=LogConfig(type=LogConfig.types.NONE),
        # A core dump could be piped to a program of the host.
        ulimits=[Ulimit(name="core", soft=0, hard=0), Ulimit(name="nofile", soft=4096, hard=4096)],
        # Nobody listens there: a lookup fails at once, and the host's resolver is not even named.
        dns=None if joined else ["127.0.0.1"],
        dns_search=None if joined else ["."],
    )
    return made


def memory_bytes(spec: ContainerSpec) -> int:
    """RAM plus every tmpfs: its pages are charged to who writes them, and a full disk must not be an OOM kill."""
    megabytes = spec.limits.memory_mb + spec.writable_mb + _SHM_MB + sum(t.size_mb for t in spec.tmpfs)
    inodes = sum(t.inodes for t in spec.tmpfs) + spec.writable_volumes * spec.limits.inodes
    return megabytes * MIB + inodes * _INODE_BYTES


def remove(engine: Engine, container_id: str) -> None:
    """End the container and remove it and its anonymous volumes; it may be gone already. Raises RigError."""
    from docker.errors import APIError, NotFound

    with engine_errors("removing a container"):
        try:
            engine.api.remove_container(container_id, force=True, v=True)
        except NotFound:
            return
        except APIError as error:
            if error.status_code != 409:  # somebody else is already removing it
                raise
