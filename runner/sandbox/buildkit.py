"""One image build with BuildKit: secrets and proxies pass through and stay in no layer.

docker-py cannot drive BuildKit, hence the command line client. The build has no tag of its own: it
yields an image id, so a build that fails can never become what a tag names.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from runner.errors import BuildError, DiskFull
from runner.sandbox.buildcli import BuildCli, ca_bundle, engine_host, needs_host_network, proxy_settings
from runner.sandbox.command import Log, follow

BUILD_SECONDS = 1800.0
CA_SECRET = "ca"


def build(
    cli: BuildCli,
    context: Path,
    *,
    name: str,
    env: Mapping[str, str],
    log: Log,
    dockerfile: str = "Dockerfile",
    args: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    target: str | None = None,
    timeout_s: float = BUILD_SECONDS,
) -> str:
    """Build `context` and return the image's id.

    `env` is the host's environment: DOCKER_HOST, the CA bundle (given as secret `ca`) and the proxies
    (given as build args by name only, so that no value is on the command line) come from it.
    Raises BuildError with the last output, DiskFull when the engine ran out of space.
    """
    proxies = proxy_settings(env)
    bundle = ca_bundle(env)
    with tempfile.TemporaryDirectory(prefix="bench-build-") as folder:
        iidfile = Path(folder, "iid")
        argv = [*cli.command, "--progress=plain", f"--iidfile={iidfile}", f"--file={context / dockerfile}"]
        if bundle:
            argv.append(f"--secret=id={CA_SECRET},src={bundle}")
        if needs_host_network(proxies):
            argv.append("--network=host")
        for key in proxies:
            argv += ["--build-arg", key]
        for key, value in sorted((args or {}).items()):
            argv += ["--build-arg", f"{key}={value}"]
        for key, value in sorted((labels or {}).items()):
            argv += ["--label", f"{key}={value}"]
        if target:
            argv.append(f"--target={target}")
        argv.append(str(context))
        environment = {**env, **cli.environment, "DOCKER_HOST": engine_host(env)}
        _run(argv, environment, name=name, log=log, timeout_s=timeout_s)
        try:
            return iidfile.read_text().strip()
        except OSError:
            raise BuildError(f"building {name} ended without an image") from None


def _run(argv: list[str], env: dict[str, str], *, name: str, log: Log, timeout_s: float) -> None:
    outcome = follow(argv, env=env, log=log, timeout_s=timeout_s)
    if outcome.timed_out:
        raise BuildError(f"building {name} took longer than {timeout_s:.0f} s")
    if outcome.disk_full:
        raise DiskFull(f"the engine's disk is full; building {name} stopped", "docker image prune")
    if not outcome.ok:
        raise BuildError(f"building {name} failed: {outcome.reason}", "the build's output says more")
