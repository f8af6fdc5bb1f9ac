"""What every check of one benchmark shares: engine, images, services, limits, and the wish to stop."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from pathlib import Path

from runner.registry.benchmark import Benchmark
from runner.sandbox.box import Limits
from runner.sandbox.engine import Engine
from runner.sandbox.pod import PodSpec, Service
from runner.schema.run import ImageUse


@dataclass(frozen=True)
class Kit:
    """``images`` holds at least ``trusted`` and ``benchmark``, and ``database`` where the benchmark has one."""

    engine: Engine
    benchmark: Benchmark
    images: dict[str, ImageUse] = field(default_factory=dict)
    cancel: threading.Event = field(default_factory=threading.Event)

    def engine_facts(self) -> dict[str, str]:
        """What of the engine belongs to a run's identity."""
        info = self.engine.info
        return {"version": info.version, "storage": info.storage_driver, "cgroup": info.cgroup_version}

    @property
    def environment(self) -> dict[str, str]:
        return dict(self.benchmark.entry.environment)

    @property
    def side_by_side(self) -> int:
        """How many checks may run at once on the engine's machine."""
        return max(1, int(self.engine.info.ncpu / self.benchmark.entry.limits.cpus))

    @property
    def contestant_image(self) -> str:
        """The benchmark's image, with the agent's layer on top where the arm has an agent."""
        return self.images.get("contestant", self.images["benchmark"]).tag

    def limits(self) -> Limits:
        limits = self.benchmark.entry.limits
        return Limits(memory_mb=limits.memory_mb, cpus=limits.cpus, pids=limits.pids, disk_mb=limits.disk_mb)

    def service(self) -> Service | None:
        database = self.benchmark.entry.services.database
        if database is None:
            return None
        return Service(
            image=self.images["database"].tag,
            user=database.user,
            database=database.name,
            password=database.password,
            memory_mb=database.memory_mb,
            size_mb=database.size_mb,
        )

    def lab_spec(self, run_id: str, deadline_s: float) -> PodSpec:
        """A pod for checks, each with a tree of its own. A tree needs more room there than its contestant had: its
        objects are packed and unpacked beside it, and whatever fitted a contestant's disk must be judged, not end as a
        failure of the rig.
        """
        spec = self.pod_spec(run_id, deadline_s)
        return replace(spec, work_mb=3 * spec.work_mb + 64, shared_work=False)

    def pod_spec(self, run_id: str, deadline_s: float, *, gateway_socket_dir: Path | None = None) -> PodSpec:
        return PodSpec(
            run_id=run_id,
            trusted_image=self.images["trusted"].tag,
            service=self.service(),
            limits=self.limits(),
            deadline_s=deadline_s,
            work_mb=self.benchmark.entry.limits.disk_mb,
            gateway_socket_dir=gateway_socket_dir,
        )
