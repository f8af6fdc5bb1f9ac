"""Does an engine answer, and where? One GET by hand: a library would cost more than the question."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

Answer = Literal["yes", "no", "denied"]

DEFAULT = "unix:///var/run/docker.sock"
PING_SECONDS = 5.0


def ping(host: str, *, tls: bool = False) -> Answer:
    """Whether the engine at `host` (a DOCKER_HOST value) answers.

    What cannot be asked without more than sockets (ssh, TLS) is taken at its word.
    """
    scheme, _, rest = host.partition("://")
    try:
        if scheme == "unix":
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
                stream.settimeout(PING_SECONDS)
                stream.connect(rest)
                return _ask(stream)
        if scheme in ("tcp", "http", "https"):
            name, _, port = rest.rstrip("/").rpartition(":")
            with socket.create_connection((name.strip("[]"), int(port)), PING_SECONDS) as stream:
                return "yes" if tls or scheme == "https" else _ask(stream)
    except PermissionError:
        return "denied"
    except (OSError, ValueError):
        return "no"
    return "yes" if scheme in ("ssh", "npipe") else "no"


def _ask(stream: socket.socket) -> Answer:
    stream.sendall(b"GET /_ping HTTP/1.0\r\nHost: engine\r\n\r\n")
    said = stream.recv(64)
    return "yes" if b" 200 " in said else "no"


def other_hosts(env: Mapping[str, str]) -> list[str]:
    """Sockets beside the default one on which an engine may listen: rootless, Desktop, podman."""
    runtime = Path(env.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    home = Path(env.get("HOME") or "/")
    sockets = [
        runtime / "docker.sock",
        home / ".docker/run/docker.sock",
        home / ".docker/desktop/docker.sock",
        home / ".colima/default/docker.sock",
        home / ".orbstack/run/docker.sock",
        runtime / "podman/podman.sock",
        Path("/run/podman/podman.sock"),
    ]
    return [f"unix://{path}" for path in sockets if path.is_socket()]
