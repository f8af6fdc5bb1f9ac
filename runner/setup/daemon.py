"""Starting an installed Docker engine as root, with a service manager or without one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from runner.errors import EngineMissing
from runner.setup.commands import run
from runner.setup.leftovers import process_named, remove_stale
from runner.setup.probe import DEFAULT, ping

if TYPE_CHECKING:
    import subprocess

Say = Callable[[str], None]

LOG = Path("/var/log/bench-dockerd.log")
START_SECONDS = 90.0


def service_manager() -> bool:
    """Whether systemd runs here (it being installed is not enough)."""
    return Path("/run/systemd/system").is_dir()


def dockerd_alive(proc: Path = Path("/proc")) -> bool:
    """Whether a dockerd process exists, answering or not."""
    return process_named("dockerd", proc)


def start(dockerd: str, *, env: Mapping[str, str], say: Say) -> None:
    """Start the engine and wait until it answers. Raises EngineMissing with what its log says."""
    if service_manager():
        say("starting the Docker engine: systemctl start docker")
        done = run(["systemctl", "start", "docker"], env=env, timeout_s=START_SECONDS)
        if done.code != 0:
            raise EngineMissing(f"systemctl start docker failed: {done.last}", "journalctl -u docker")
        wait_until_it_answers(None)
        return
    for path in remove_stale():
        say(f"removed {path}, which a dead engine left behind")
    say(f"starting the Docker engine: {dockerd} (log: {LOG})")
    wait_until_it_answers(_spawn(dockerd, env))


def _spawn(dockerd: str, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    import subprocess

    # A session of its own, so that it outlives make and its terminal.
    with LOG.open("ab") as log:
        return subprocess.Popen(
            [dockerd],
            env=dict(env),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def wait_until_it_answers(process: subprocess.Popen[bytes] | None) -> None:
    """Poll the default socket; give up when `process` ends or after START_SECONDS."""
    deadline = time.monotonic() + START_SECONDS
    while ping(DEFAULT) != "yes":
        if process is not None and process.poll() is not None:
            raise EngineMissing(f"dockerd ended at once: {_last_words()}", f"read {LOG}")
        if time.monotonic() > deadline:
            raise EngineMissing(f"the Docker engine does not answer after {START_SECONDS:.0f} s", f"read {LOG}")
        time.sleep(0.1)


def _last_words() -> str:
    try:
        lines = LOG.read_text(errors="replace").splitlines()
    except OSError:
        return "it wrote no log"
    return next((line for line in reversed(lines) if line.strip()), "it said nothing")
