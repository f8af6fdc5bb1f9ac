"""What every check of one benchmark shares: engine, images, services, limits."""

from __future__ import annotations

from dataclasses import dataclass, field

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

    @property
    def environment(self) -> dict[str, str]:
        return dict(self.benchmark.entry.environment)

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

    def pod_spec(self, run_id: str, deadline_s: float, **more: object) -> PodSpec:
        return PodSpec(
            run_id=run_id,
            trusted_image=self.images["trusted"].tag,
            service=self.service(),
            limits=self.limits(),
            deadline_s=deadline_s,
            work_mb=self.benchmark.entry.limits.disk_mb,
            **more,  # type: ignore[arg-type]  # the one optional field, gateway_socket_dir
        )
