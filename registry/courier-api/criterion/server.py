# courier-api-canary-5b0d1f0e-7c55-4e0a-9a4e-2d6b7c1f93a8
"""The branch's server as a process of another user, and nothing of it on disk here."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

START_S = 30.0
STOP_S = 10.0
LOG_BYTES = 262_144
PASSED_ON = ("PATH", "PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGPASSWORD", "TZ", "LC_ALL")


class RigError(Exception):
    """The check itself could not be carried out: says nothing about the branch."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def as_user(uid: int | None) -> dict[str, object]:
    """Arguments of Popen that make the child another user; nothing when not started as root."""
    return {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}


class Server:
    """`node src/main.ts` of the tree under test, on a port of its own, in a session of its own."""

    def __init__(self, repo: Path, uid: int | None) -> None:
        self.repo = repo
        self.uid = uid
        self.port = free_port()
        self.log = bytearray()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> bool:
        """True when the server answers within START_S seconds."""
        env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        env |= {"HOST": "127.0.0.1", "PORT": str(self.port), "HOME": "/tmp", "NODE_ENV": "production"}
        self._process = subprocess.Popen(
            ["node", "src/main.ts"],
            cwd=self.repo,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **as_user(self.uid),  # type: ignore[call-overload]  # Popen's overloads take no mapping
        )
        threading.Thread(target=self._drain, args=(self._process,), daemon=True).start()
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/healthz", timeout=2) as answer:
                    if answer.status == 200:
                        return True
            except (OSError, urllib.error.URLError):
                time.sleep(0.05)
        return False

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        process = self._process
        if process is None:
            return
        for number, patience in ((signal.SIGTERM, STOP_S), (signal.SIGKILL, STOP_S)):
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                pass
            try:
                process.wait(patience)
                break
            except subprocess.TimeoutExpired:
                continue
        self._process = None

    def _drain(self, process: subprocess.Popen[bytes]) -> None:
        # The pipe is emptied to the end; only the first part is kept.
        assert process.stdout is not None
        while chunk := os.read(process.stdout.fileno(), 65_536):
            self.log += chunk[: max(0, LOG_BYTES - len(self.log))]
