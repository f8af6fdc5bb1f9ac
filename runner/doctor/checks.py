"""All checks in the order in which one would mend them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from runner.doctor import engine, host
from runner.doctor.check import Check

if TYPE_CHECKING:
    import docker

ENGINE_SECONDS = 15


def run_checks(
    *, runs_dir: Path, key_variables: Iterable[str] = (), env: Mapping[str, str] | None = None
) -> list[Check]:
    """Every check; one that cannot be asked because an earlier one failed is left out.

    `runs_dir` is where runs are stored; `key_variables` are the providers' (their values are not read
    beyond being set). Changes nothing on the machine.
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
    checks += [host.runs_disk(runs_dir), host.certificates(environment), host.keys(key_variables, environment)]
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
