"""Taking things down: containers first, then the volumes that they held."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from runner.errors import RigError
from runner.sandbox import container, volumes
from runner.sandbox.engine import Engine, engine_errors
from runner.sandbox.labels import POD

log = logging.getLogger(__name__)


def pod(engine: Engine, label: str) -> list[str]:
    """Remove everything that carries a pod's label, found by asking the engine: also what a failed start left.

    Sentences about what could not be removed.
    """
    wanted = {"label": f"{POD}={label}"}
    try:
        with engine_errors("listing a pod's containers"):
            containers = [entry["Id"] for entry in engine.api.containers(all=True, filters=wanted)]
            names = [entry["Name"] for entry in engine.api.volumes(filters=wanted)["Volumes"] or []]
    except RigError as error:
        log.warning("%s", error)
        return [str(error)]
    return remove_all(engine, containers, names)


def remove_all(engine: Engine, containers: Iterable[str], names: Iterable[str]) -> list[str]:
    """Remove these containers, then these volumes; go on past what fails, and tell."""
    failed: list[str] = []

    def attempt(remove: Callable[[Engine, str], None], what: str) -> None:
        try:
            remove(engine, what)
        except RigError as error:
            log.warning("%s", error)
            failed.append(str(error))

    with ThreadPoolExecutor(4) as together:
        list(together.map(lambda one: attempt(container.remove, one), containers))
        list(together.map(lambda one: attempt(volumes.remove, one), names))
    return failed
