"""A Docker engine that answers: the one that runs, else the installed one, else the distribution's."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from runner.errors import EngineMissing
from runner.setup.apt import can_install, install
from runner.setup.daemon import dockerd_alive, service_manager, start, wait_until_it_answers
from runner.setup.probe import DEFAULT, other_hosts, ping

Say = Callable[[str], None]

BY_HAND = "sudo apt-get install docker.io && sudo systemctl start docker (without systemd: sudo dockerd &)"


def ensure_engine(env: Mapping[str, str], *, say: Say) -> dict[str, str]:
    """Make an engine answer and return the variables that lead to it (none for the default socket).

    Raises EngineMissing with the exact commands where it is not ours to do.
    """
    named = env.get("DOCKER_HOST")
    if named:
        if ping(named, tls=bool(env.get("DOCKER_TLS_VERIFY"))) == "yes":
            return {}
        raise EngineMissing(f"no engine answers at DOCKER_HOST={named}", "start it, or unset DOCKER_HOST")
    answer = ping(DEFAULT)
    if answer == "yes":
        return {}
    for host in other_hosts(env):
        if ping(host) == "yes":
            return {"DOCKER_HOST": host}
    if answer == "denied":
        raise EngineMissing(
            "an engine runs, but this user may not use it", "sudo usermod -aG docker $USER, then log in again"
        )
    _bring_up(env, say)
    return {}


def _bring_up(env: Mapping[str, str], say: Say) -> None:
    dockerd = find_program("dockerd", env)
    if dockerd is None:
        _install(env, say)
        dockerd = find_program("dockerd", env)
        if dockerd is None:
            raise EngineMissing("docker.io was installed, but there is no dockerd", BY_HAND)
        if ping(DEFAULT) == "yes":
            return
    if dockerd_alive():
        say("the Docker engine is starting: waiting for it")
        wait_until_it_answers(None)
        return
    if os.geteuid() != 0:
        by_service = "sudo systemctl start docker"
        fix = by_service if service_manager() else "sudo sh -c 'setsid dockerd >/var/log/dockerd.log 2>&1 &'"
        raise EngineMissing("the Docker engine is installed but does not run", fix)
    start(dockerd, env=env, say=say)


def _install(env: Mapping[str, str], say: Say) -> None:
    other = find_program("podman", env)
    if other:
        raise EngineMissing(
            f"no engine answers, but {other} is installed",
            "systemctl start podman.socket && export DOCKER_HOST=unix:///run/podman/podman.sock",
        )
    if not can_install(env):
        raise EngineMissing("no Docker engine is installed", BY_HAND)
    say("no container engine is installed: installing the distribution's docker.io with apt-get")
    # In newer releases the client and its build plugin are packages of their own.
    install(["docker.io"], env=env, optional=["docker-cli", "docker-buildx"])


def find_program(name: str, env: Mapping[str, str]) -> str | None:
    """`name` on PATH or in the folders that a user's PATH leaves out."""
    path = os.pathsep.join([env.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"])
    found = shutil.which(name, path=path)
    return str(Path(found)) if found else None
