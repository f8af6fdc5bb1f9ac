"""Removes what dead controllers left behind, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from runner.sandbox.engine import Engine, engine_errors
from runner.sandbox.labels import PID, ROLE, RUN, fate
from runner.sandbox.teardown import remove_all


@dataclass(frozen=True)
class Found:
    """One container or volume of a dead controller. ``id``: the container's id or the volume's name."""

    kind: str
    id: str
    name: str
    run: str
    role: str
    pid: str


@dataclass
class SweepReport:
    """``found``: what belongs to dead controllers; removed unless ``dry_run`` or named in ``failed`` (sentences).
    ``kept``: objects of ours that belong to a living controller, or to one of whom nothing can be proven.
    """

    dry_run: bool
    found: list[Found] = field(default_factory=list)
    kept: int = 0
    failed: list[str] = field(default_factory=list)

    @property
    def removed(self) -> int:
        return 0 if self.dry_run else len(self.found) - len(self.failed)


def sweep(engine: Engine, *, dry_run: bool = False) -> SweepReport:
    """Remove containers, then volumes, whose labels name a controller that is proven dead (see ``labels.fate``).

    Goes on past what cannot be removed and reports it. Raises RigError where the engine does not answer.
    """
    report = SweepReport(dry_run=dry_run)
    wanted = {"label": RUN}
    with engine_errors("listing what runs left behind"):
        containers = engine.api.containers(all=True, filters=wanted)
        volumes = engine.api.volumes(filters=wanted)["Volumes"] or []
    for entry in containers:
        names = entry["Names"] or [entry["Id"]]
        _judge(engine, report, entry, "container", entry["Id"], names[0].lstrip("/"))
    for entry in volumes:
        _judge(engine, report, entry, "volume", entry["Name"], entry["Name"])
    if not dry_run:
        report.failed = remove_all(
            engine,
            [one.id for one in report.found if one.kind == "container"],
            [one.id for one in report.found if one.kind == "volume"],
        )
    return report


def _judge(engine: Engine, report: SweepReport, entry: dict[str, Any], kind: str, identity: str, name: str) -> None:
    labels = entry["Labels"] or {}
    if fate(labels, local_engine=engine.info.local) != "dead":
        report.kept += 1
        return
    report.found.append(Found(kind, identity, name, labels[RUN], labels.get(ROLE, ""), labels[PID]))
