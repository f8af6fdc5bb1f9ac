"""All checks in the order in which one would mend them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from runner.doctor import data, engine, host
from runner.doctor.check import Check

if TYPE_CHECKING:
    import docker

ENGINE_SECONDS = 15


def run_checks(index: Path, *, env: Mapping[str, str] | None = None) -> list[Check]:
    """Every check; one that cannot be asked because an earlier one failed is left out.

    `index` is the registry file: its runs folders and the providers beside it are looked at too.
    Changes nothing on the machine.
    """
    environment = dict(os.environ if env is None else env)
    checks = [host.python_version(), host.git_version(environment), host.memory()]
    with _client(environment) as (client, why):
        checks.append(engine.engine_answers(client, why))
        checks.append(engine.build_client(environment))
        if client is not None:
            info = client.info()
            checks += [engine.storage(info), engine.cgroup(info), engine.engine_disk(info)]
            checks += [engine.base_image(client), engine.leftovers(client)]
    readable, folders = data.registry(index)
    checks += [host.certificates(environment), readable]
    checks += [host.runs_disk(folder) for folder in folders]
    checks.append(data.keys(index.resolve().parent, environment))
    return checks


@contextmanager
def _client(env: Mapping[str, str]) -> Iterator[tuple[docker.DockerClient | None, str]]:
    """A client whose engine answers, or None and why."""
    import docker
    import requests
    from docker.errors import DockerException

    client = None
    why = ""
    try:
        client = docker.from_env(timeout=ENGINE_SECONDS, environment=dict(env))
        client.ping()
    except (DockerException, requests.RequestException):
        why = f"no Docker engine answers at {env.get('DOCKER_HOST') or 'the default socket'}"
        if client is not None:
            client.close()
            client = None
    try:
        yield client, why
    finally:
        if client is not None:
            client.close()
