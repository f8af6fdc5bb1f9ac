"""Which `docker` on this machine can build with BuildKit, and what a build inherits from the host."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from runner.errors import BuildError

SYSTEM_CLI = "/usr/bin/docker"
SYSTEM_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, RHEL
    "/etc/ssl/cert.pem",  # macOS, BSD
)
PROXY_NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "FTP_PROXY")
PROBE_SECONDS = 20.0


@dataclass(frozen=True)
class BuildCli:
    """A client that can build. `mode` says how it is asked: by variable (<23) or by its plugin."""

    path: str
    version: str
    mode: Literal["buildkit", "buildx"]

    @property
    def command(self) -> list[str]:
        return [self.path, "build"] if self.mode == "buildkit" else [self.path, "buildx", "build", "--load"]

    @property
    def environment(self) -> dict[str, str]:
        return {"DOCKER_BUILDKIT": "1", "BUILDX_NO_DEFAULT_ATTESTATIONS": "1"}


def find_cli(env: Mapping[str, str]) -> BuildCli:
    """The first client on PATH (then /usr/bin/docker) that can build. Raises BuildError with the fix."""
    refused = []
    for path in _candidates(env):
        found = _examine(path, env)
        if isinstance(found, BuildCli):
            return found
        refused.append(f"{path}: {found}")
    if not refused:
        raise BuildError("no docker command line client is installed", "apt-get install docker.io")
    raise BuildError(
        f"no docker client here can build with BuildKit ({'; '.join(refused)})",
        "install your distribution's docker.io, or the buildx plugin (docker-buildx) beside the newer client",
    )


def _candidates(env: Mapping[str, str]) -> Iterator[str]:
    seen: set[str] = set()
    folders = [folder for folder in env.get("PATH", os.defpath).split(os.pathsep) if folder]
    for path in [*(os.path.join(folder, "docker") for folder in folders), SYSTEM_CLI]:
        real = os.path.realpath(path)
        if real not in seen and os.path.isfile(path) and os.access(path, os.X_OK):
            seen.add(real)
            yield path


def _examine(path: str, env: Mapping[str, str]) -> BuildCli | str:
    """The client at `path`, or why it will not do."""
    said = _ask([path, "--version"], env)
    found = re.search(r"Docker version (\d+)\.[^\s,]*", said or "")
    if not found:
        return "not Docker's own client"
    version = found.group(0).removeprefix("Docker version ")
    if int(found.group(1)) < 23:
        return BuildCli(path, version, "buildkit")
    if _ask([path, "buildx", "version"], env) is not None:
        return BuildCli(path, version, "buildx")
    return f"version {version} without the buildx plugin"


def _ask(argv: list[str], env: Mapping[str, str]) -> str | None:
    try:
        done = subprocess.run(
            argv,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


def engine_host(env: Mapping[str, str]) -> str:
    """The engine that the runner talks to: a docker context of the user's must not send a build elsewhere."""
    return env.get("DOCKER_HOST") or "unix:///var/run/docker.sock"


def ca_bundle(env: Mapping[str, str]) -> Path | None:
    """The host's CA bundle: SSL_CERT_FILE when it is set (and must then exist), else the system's."""
    chosen = env.get("SSL_CERT_FILE")
    if chosen:
        path = Path(chosen)
        if not path.is_file():
            raise BuildError(f"SSL_CERT_FILE names {chosen}, which is not a file", "correct or unset it")
        return path
    return next((Path(path) for path in SYSTEM_BUNDLES if Path(path).is_file()), None)


def proxy_settings(env: Mapping[str, str]) -> dict[str, str]:
    """The host's proxy variables, in the spelling that they were set in."""
    names = [spelled for name in PROXY_NAMES for spelled in (name, name.lower())]
    return {name: env[name] for name in names if env.get(name)}


def needs_host_network(proxies: Mapping[str, str]) -> bool:
    """Whether a proxy listens on this host's loopback, where a build's own network cannot reach it."""
    urls = [value for name, value in proxies.items() if name.lower() != "no_proxy"]
    hosts = {urlsplit(url if "://" in url else f"//{url}").hostname for url in urls}
    return bool(hosts & {"localhost", "127.0.0.1", "::1"})
