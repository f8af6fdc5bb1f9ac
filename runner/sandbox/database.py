"""The pod's PostgreSQL: a fresh container on a fresh data directory, ready before anybody is told so."""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib import resources
from typing import Any

from runner.errors import DiskFull, RigError
from runner.sandbox.box import Box
from runner.sandbox.container import ContainerSpec, Limits, Mount, Tmpfs
from runner.sandbox.engine import Engine, engine_errors
from runner.sandbox.stream import Capture, Hijacked

HELD_AT = "/pgdata"
_DATA = "/var/lib/postgresql/data"
_READY_S = 60.0
_SLICE_S = 5.0
_SAID_BYTES = 1 << 16


@dataclass(frozen=True)
class Service:
    """The benchmark's database: image with a seeded data directory, and what clients say to it. Sizes in MiB."""

    image: str
    user: str
    database: str
    password: str
    memory_mb: int = 512
    size_mb: int = 512

    def environment(self) -> dict[str, str]:
        return {
            "PGHOST": "127.0.0.1",
            "PGPORT": "5432",
            "PGUSER": self.user,
            "PGDATABASE": self.database,
            "PGPASSWORD": self.password,
        }


class Database:
    """One service of one pod. The holder keeps the data volume mounted at ``HELD_AT`` all the time: an empty volume
    that is already mounted is filled from the image when the container is created, an unmounted one forgets it.
    """

    def __init__(
        self, engine: Engine, service: Service, holder: Box, volume: str, *, run_id: str, pod: str, limits: Limits
    ) -> None:
        self._engine = engine
        self._service = service
        self._holder = holder
        self._volume = volume
        self._run_id, self._pod, self._limits = run_id, pod, limits
        self._owner = ""
        self.box: Box | None = None

    def start(self) -> float:
        """Start it afresh, in place of the one before. Seconds until it was ready over TCP twice in a row.

        Raises RigError with the server's own words where it does not get ready.
        """
        started = time.monotonic()
        if self.box is not None:
            self._clear(self.box)
        config = self._image_config()
        timeout = max(1, int(self._holder.deadline - started))
        command = [*(config.get("Entrypoint") or []), *(config.get("Cmd") or [])]
        if not command:
            raise RigError(f"the database image {self._service.image} names no command")
        limits = Limits(self._service.memory_mb, self._limits.cpus, 512, self._service.size_mb, self._limits.inodes)
        user = config.get("User") or "postgres"
        spec = ContainerSpec(
            run_id=self._run_id,
            role="database",
            pod=self._pod,
            image=self._service.image,
            argv=["timeout", "--signal=QUIT", str(timeout), *command],
            user=user,
            limits=limits,
            env={"TZ": "UTC"},
            network=f"container:{self._holder.id}",
            mounts=[Mount(self._volume, _data_directory(config), fill=True)],
            tmpfs=[Tmpfs("/tmp", 64), Tmpfs("/run/postgresql", 8)],
            writable_mb=self._service.size_mb,
            writable_volumes=1,
        )
        try:
            box = Box(self._engine, spec, deadline=self._holder.deadline)
        except DiskFull as error:
            size = f"{self._service.size_mb} MiB"
            what = f"the data of {self._service.image} does not fit into {size}, or the engine's disk is full"
            raise RigError(what, "raise the service's size_mb") from error
        self.box = box
        with engine_errors("listening to the database"):
            socket = self._engine.api.attach_socket(box.id, params={"stdout": 1, "stderr": 1, "stream": 1})
        with Hijacked(socket) as channel:
            box.start()
            self._wait(box, channel)
        return time.monotonic() - started

    def _wait(self, box: Box, channel: Hijacked) -> None:
        source = resources.files("runner.sandbox").joinpath("probe.py").read_text(encoding="utf-8")
        until = time.monotonic() + _READY_S
        argv = ["python3", "-I", "-c", source, self._service.user, self._service.database, str(_SLICE_S)]
        while time.monotonic() < until:
            done = self._holder.exec(argv, timeout_s=_SLICE_S + 30)
            if done.exit_code == 0:
                return
            if done.exit_code != 1:
                said = done.stderr.decode("utf-8", "replace").strip()
                raise RigError(f"the database refuses {self._service.user}: {said[-300:]}")
            if not box.alive():
                break
        said = _overheard(channel)
        raise RigError(f"the database of {self._service.image} did not get ready: {said or 'it says nothing'}")

    def _clear(self, box: Box) -> None:
        """Remove the container before and empty the data volume, as the user whom it belongs to."""
        box.remove()
        self.box = None
        if not self._owner:
            asked = self._holder.exec(["stat", "-c", "%u:%g", HELD_AT], timeout_s=30)
            self._owner = asked.stdout.decode().strip()
        done = self._holder.exec(["find", HELD_AT, "-mindepth", "1", "-delete"], timeout_s=60, user=self._owner)
        if not done.ok:
            raise RigError(f"the database's directory cannot be emptied: {done.stderr.decode('utf-8', 'replace')}")

    def _image_config(self) -> dict[str, Any]:
        with engine_errors("looking at the database image"):
            api: Any = self._engine.api
            config: dict[str, Any] = api.inspect_image(self._service.image)["Config"]
        return config


def _data_directory(config: dict[str, Any]) -> str:
    for entry in config.get("Env") or []:
        name, _, value = entry.partition("=")
        if name == "PGDATA" and value:
            return str(value)
    return _DATA


def _overheard(channel: Hijacked) -> str:
    """The last line that the server wrote."""
    capture = Capture(_SAID_BYTES)
    channel.talk(None, lambda _, piece: capture.add(piece), until=time.monotonic() + 0.5, stop=lambda: False)
    lines = capture.data().decode("utf-8", "replace").strip().splitlines()
    return lines[-1][-300:] if lines else ""
