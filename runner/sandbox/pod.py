"""A pod: loopback and nothing else, shared by a holder, a database and whoever works or judges there.

Per run: the holder (with the relay to the gateway) and, where a contestant works, the work tree. Per attempt: the
contestant's container, its HOME, and the attic, a trusted container that keeps HOME readable after the contestant's
death. Per check: a box with a work tree of its own, gone with it.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from runner.errors import RigError
from runner.sandbox import gate, teardown, volumes
from runner.sandbox.box import KEEPER, Box, waiting
from runner.sandbox.container import ContainerSpec, Limits, Mount, Tmpfs
from runner.sandbox.database import HELD_AT, Database, Service
from runner.sandbox.engine import Engine
from runner.sandbox.oneshot import OneShot, Work
from runner.sandbox.volumes import VolumeSpec

__all__ = ["CONTESTANT", "GATEWAY_PORT", "HOME", "SCRATCH", "WORK", "Pod", "PodSpec", "Service"]

CONTESTANT = "1000:1000"
WORK, HOME, SCRATCH = "/work", "/home/contestant", "/scratch"
GATEWAY_PORT = gate.PORT
_TRUSTED_CAPS = ("CHOWN", "DAC_OVERRIDE", "FOWNER")
# A connection that lingers after its end keeps its port: what one check or attempt served on, the next one could not.
_NO_LINGERING = {"net.ipv4.tcp_max_tw_buckets": "0"}
_ENVIRONMENT = {
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
}


@dataclass(frozen=True)
class PodSpec:
    """What a pod is made of. ``deadline_s``: seconds from its start until everything in it ends by itself.

    ``gateway_socket_dir``: directory of the host with ``gw.sock``; ``work_mb``, ``scratch_mb``: MiB of the work tree
    and of a trusted box's scratch space. ``shared_work``: is there a work tree that outlives the boxes which see it?
    """

    run_id: str
    trusted_image: str
    service: Service | None = None
    limits: Limits = field(default_factory=Limits)
    deadline_s: float = 3600
    gateway_socket_dir: Path | None = None
    work_mb: int = 512
    scratch_mb: int = 1024
    shared_work: bool = True


class Pod:
    """A context manager; ``close`` takes everything down, also after a start that failed half way."""

    def __init__(self, engine: Engine, spec: PodSpec) -> None:
        self.engine = engine
        self.spec = spec
        self._label = secrets.token_hex(8)
        self._deadline = 0.0
        self._holder: Box | None = None
        self._work = ""
        self._database: Database | None = None
        self._attempt: list[Box] = []
        self._one_shots: list[OneShot] = []
        self._home = ""
        self._closed = False
        self.attic: Box | None = None

    def __enter__(self) -> Pod:
        try:
            self._open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def database(self) -> Box | None:
        """The running database's container, for a dump. None before ``start_database``."""
        return self._database.box if self._database else None

    @property
    def work_volume(self) -> str:
        """The volume of the work tree, for a mount into another box."""
        return self._work

    def environment(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """What every box gets; ``env`` wins."""
        service = self.spec.service.environment() if self.spec.service else {}
        return _ENVIRONMENT | {"HOME": HOME} | service | dict(env or {})

    def start_database(self) -> float:
        """A fresh database in place of the one before; seconds until it was ready. Raises RigError."""
        if self._database is None:
            raise RigError("this benchmark has no database")
        return self._database.start()

    def contestant(self, image: str, *, env: Mapping[str, str] | None = None, home_mb: int = 256) -> Box:
        """A fresh container with a fresh HOME in place of the attempt before: the work tree stays.

        ``attic`` is then a trusted box that sees the work tree and this HOME read-only. The first time, every way out
        of the pod is tried. Raises RigError, NotClosed among them.
        """
        self._end_attempt()
        self._home = volumes.create(self.engine, self._volume("home", home_mb))
        attic = self._trusted("attic", [Mount(self._work, WORK, read_only=True), Mount(self._home, HOME, True)])
        self.attic = attic
        self._attempt.append(attic)
        limits = self.spec.limits
        spec = self._joined(
            "contestant",
            image,
            CONTESTANT,
            env,
            mounts=[Mount(self._work, WORK), Mount(self._home, HOME)],
            tmpfs=[Tmpfs("/tmp", limits.disk_mb, limits.inodes)],
            writable_mb=self.spec.work_mb + home_mb,
            writable_volumes=2,
        )
        box = Box(self.engine, spec, deadline=self._deadline, user=CONTESTANT)
        self._attempt.append(box)
        steps = [attic.start, box.start, *([self._await_gate] if self.spec.gateway_socket_dir else [])]
        if not self._closed:
            steps.append(self._prove_closed)
        with ThreadPoolExecutor(len(steps)) as together:
            for step in [together.submit(step) for step in steps]:
                step.result()
        return box

    def trusted(self, *, read_only: bool = True, extra: Sequence[Mount] = ()) -> Box:
        """A box of the trusted image, root, without a network: the work tree at /work and empty scratch space.

        Raises RigError.
        """
        box = self._trusted("trusted", [Mount(self._work, WORK, read_only=read_only), *extra])
        box.start()
        return box

    def check_box(
        self,
        image: str,
        *,
        env: Mapping[str, str] | None = None,
        read_only_inputs: Sequence[Mount] = (),
        user: str = CONTESTANT,
        caps: Sequence[str] = (),
        oracle_mb: int = 0,
    ) -> Box:
        """A scorer's container in this pod's network, with /work, HOME, /tmp and /out of its own. Raises RigError.

        ``oracle_mb``: size of an empty /oracle that only root can read, for files the candidate must never see.
        """
        spec = self._check_spec(image, env, user, caps, oracle_mb, read_only_inputs)
        box = Box(self.engine, spec, deadline=self._deadline, user=user)
        box.start()
        return box

    def one_shot(
        self, image: str, work: Work, *, env: Mapping[str, str] | None = None, caps: Sequence[str] = ()
    ) -> OneShot:
        """The same for one command that runs as root, and is told what to do by no exec. Raises RigError."""
        box = OneShot(self.engine, self._check_spec(image, env, "0:0", caps), work, deadline=self._deadline)
        self._one_shots = [*(one for one in self._one_shots if not one.ended), box]
        box.start()
        return box

    def close(self) -> list[str]:
        """Remove every container and volume of this pod; safe to call again, never raises for what is stuck.

        What could not be removed, one sentence each; the reaper finds it by its labels.
        """
        for box in self._one_shots:
            box.let_go()
        self._attempt, self._home, self.attic, self._holder, self._database = [], "", None, None, None
        return teardown.pod(self.engine, self._label)

    def _open(self) -> None:
        spec = self.spec
        self._deadline = time.monotonic() + spec.deadline_s
        mounts = []
        if spec.shared_work:
            self._work = volumes.create(self.engine, self._volume("work", spec.work_mb))
            mounts.append(Mount(self._work, WORK))
        data = ""
        if spec.service is not None:
            data = volumes.create(self.engine, self._volume("pgdata", spec.service.size_mb))
            mounts.append(Mount(data, HELD_AT))
        argv = waiting(spec.deadline_s)
        if spec.gateway_socket_dir is not None:
            mounts.append(gate.mount(spec.gateway_socket_dir))
            argv = gate.command(int(argv[1]))
        holder = ContainerSpec(
            run_id=spec.run_id,
            role="holder",
            pod=self._label,
            image=spec.trusted_image,
            argv=argv,
            user=f"{os.getuid()}:{os.getgid()}",  # who may open the gateway's socket
            limits=Limits(memory_mb=256, cpus=spec.limits.cpus, pids=64),
            mounts=mounts,
            sysctls=_NO_LINGERING,
        )
        self._holder = Box(self.engine, holder, deadline=self._deadline)
        self._holder.start()
        if spec.service is not None:
            self._database = Database(
                self.engine,
                spec.service,
                self._holder,
                data,
                run_id=spec.run_id,
                pod=self._label,
                limits=spec.limits,
            )

    def _await_gate(self) -> None:
        if self._holder is not None:
            gate.await_listening(self._holder)

    def _prove_closed(self) -> None:
        if self._holder is not None:
            gate.prove_closed(self._holder, gate.host_addresses())
            self._closed = True

    def _end_attempt(self) -> None:
        for box in self._attempt:
            box.remove()
        if self._home:
            volumes.remove(self.engine, self._home)
        self._attempt, self._home, self.attic = [], "", None

    def _volume(self, role: str, size_mb: int) -> VolumeSpec:
        return VolumeSpec(self.spec.run_id, role, self._label, size_mb, self.spec.limits.inodes)

    def _trusted(self, role: str, mounts: Sequence[Mount]) -> Box:
        spec = ContainerSpec(
            run_id=self.spec.run_id,
            role=role,
            pod=self._label,
            image=self.spec.trusted_image,
            argv=waiting(self._left()),
            user="0:0",
            limits=Limits(memory_mb=512, cpus=self.spec.limits.cpus, pids=256),
            env=_ENVIRONMENT | {"HOME": SCRATCH},
            mounts=mounts,
            tmpfs=[Tmpfs(SCRATCH, self.spec.scratch_mb), Tmpfs("/tmp", 64)],
            writable_mb=self.spec.work_mb,
            writable_volumes=1,
            caps=_TRUSTED_CAPS,
        )
        return Box(self.engine, spec, deadline=self._deadline)

    def _check_spec(
        self,
        image: str,
        env: Mapping[str, str] | None,
        user: str,
        caps: Sequence[str],
        oracle_mb: int = 0,
        inputs: Sequence[Mount] = (),
    ) -> ContainerSpec:
        mounts = [Mount(m.volume, m.target, read_only=True) for m in inputs]
        limits = self.spec.limits
        tmpfs = [
            Tmpfs.of(CONTESTANT, WORK, self.spec.work_mb, limits.inodes),
            Tmpfs("/tmp", limits.disk_mb, limits.inodes),
            *(Tmpfs.of(user, target, limits.disk_mb, limits.inodes) for target in (HOME, "/out")),
            *([Tmpfs("/oracle", oracle_mb, mode="0700")] if oracle_mb else []),
        ]
        return self._joined("check", image, user, env, mounts=mounts, tmpfs=tmpfs, caps=caps)

    def _joined(
        self,
        role: str,
        image: str,
        user: str,
        env: Mapping[str, str] | None,
        *,
        mounts: Sequence[Mount],
        tmpfs: Sequence[Tmpfs],
        writable_mb: int = 0,
        writable_volumes: int = 0,
        caps: Sequence[str] = (),
    ) -> ContainerSpec:
        """A waiting box in the pod's network. Its main process belongs to a user of no other process."""
        if self._holder is None:
            raise RigError("the pod is not open")
        root = user.split(":")[0] == "0"
        return ContainerSpec(
            run_id=self.spec.run_id,
            role=role,
            pod=self._label,
            image=image,
            argv=waiting(self._left()),
            user=user if root else KEEPER,
            limits=self.spec.limits,
            env=self.environment(env),
            network=f"container:{self._holder.id}",
            mounts=mounts,
            tmpfs=tmpfs,
            writable_mb=writable_mb,
            writable_volumes=writable_volumes,
            caps=caps,
        )

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise RigError("the pod's deadline has passed")
        return left
