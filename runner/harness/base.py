"""What the runner needs to know of an agent CLI. One small class per agent fills this in."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from runner.errors import RigError, UsageError
from runner.gateway.providers import Protocol as Wire
from runner.gateway.providers import Provider
from runner.harness.summary import Identity, Summary
from runner.schema.arm import Mode

HOME = "/home/contestant"
REPO = "/work/repo"
TOKEN_VARIABLE = "BENCH_RUN_TOKEN"
UNASKED = "unknown"
"""The effort of an arm that asks for none: the model's own default holds, and nothing is sent."""
TRIES = 5
"""How often agents are told to ask again after a failed request: their own defaults run from 3 to 30."""


@dataclass(frozen=True)
class ImageLayer:
    """How an agent gets into a benchmark's image: built once, then copied onto any benchmark."""

    name: str
    """Image name of the agent's own build, without a tag: ``bench/agent-NAME``."""
    context: str
    """Folder of its Dockerfile: below ``images/``, or absolute."""
    paths: tuple[str, ...]
    """What is copied from it."""
    dockerfile_name: str = "Dockerfile"

    @property
    def suffix(self) -> str:
        """What a benchmark's image with this agent in it is called after."""
        return self.name.removeprefix("bench/agent-")

    def dockerfile(self) -> str:
        """The Dockerfile that lays the agent onto a benchmark's image: build arguments PARENT and AGENT."""
        copies = "".join(f"COPY --from=agent {path} {path}\n" for path in self.paths)
        return f"ARG PARENT\nARG AGENT\nFROM ${{AGENT}} AS agent\nFROM ${{PARENT}}\n{copies}"


@dataclass(frozen=True)
class Request:
    """What an attempt asks of the agent. ``url`` is the gateway as seen in the pod, without a path."""

    url: str
    token: str
    provider: Provider
    model: str
    effort: str
    """As the user named it; ``unknown``: nothing was asked for, the model's own default holds."""
    prompt: str
    session: str = "session"
    """Name of this attempt's log folder, unique within the agent's HOME."""


@dataclass(frozen=True)
class HarnessPlan:
    """One start of the agent, to be carried out as the contestant's user in the work tree.

    ``files`` go to absolute paths in the container before the start; ``logs`` are folders and files in the
    container to collect afterwards; the agent's stdout is a log as well, and is kept as ``stdout.jsonl``.
    """

    argv: list[str]
    env: dict[str, str]
    files: dict[str, bytes]
    stdin: bytes | None = None
    cwd: str = REPO
    logs: list[str] = field(default_factory=list)


class Harness(Protocol):
    """One agent CLI."""

    name: str
    version: str
    """Part of the arm's identity: the pinned version, and whatever else decides how the agent is started."""
    pin: str
    """The program in the container must say that it is this version."""
    version_argv: Sequence[str]
    speaks: Sequence[Wire]
    """The protocols it can use."""
    efforts: Mapping[str, str]
    """Effort words it can express: ours to its own."""
    mode: Mode
    """Whether it can start sub-agents as we start it: a fact about the program, not about a run."""
    log_format: str
    """The shipped harness whose log format it writes; ``none``: one that nobody here reads."""

    @property
    def layer(self) -> ImageLayer | None:
        """How it gets into a benchmark's image; None: it is in there already."""

    def prepare(self, request: Request) -> HarnessPlan:
        """How to start it. Raises UsageError for an effort or a provider that it cannot express."""

    def read_identity(self, log_dir: Path, requested: Request | None = None) -> Identity:
        """What its own log says it ran. ``log_dir`` holds the collected logs and ``stdout.jsonl``."""

    def read_summary(self, log_dir: Path) -> Summary:
        """What its own log says it did. Raises LogError when the log is unknown or nothing was recognised."""


def choose_wire(harness: Harness, provider: Provider) -> Wire:
    """The provider's preferred protocol among those that the agent speaks. UsageError when they share none."""
    for wire in provider.protocols:
        if wire in harness.speaks:
            return wire
    raise UsageError(
        f"{harness.name} speaks {' and '.join(harness.speaks)} only, and the provider {provider.name} serves "
        f"{', '.join(provider.protocols)}",
        "take --harness pi, which speaks all three, or name the protocol in providers.yaml if the provider has it",
    )


def choose_effort(harness: Harness, effort: str) -> str | None:
    """The agent's own word for ``effort``; None when none was asked for. UsageError when it has none."""
    if effort == UNASKED:
        return None
    if effort not in harness.efforts:
        known = ", ".join(harness.efforts) or "none at all"
        raise UsageError(f"{harness.name} has no effort {effort!r}", f"known are {known}")
    return harness.efforts[effort]


def guard_version(harness: Harness, run: Callable[[Sequence[str]], str]) -> str:
    """The version that the program in the container reports (``run`` gives its output). RigError unless it is the pin.

    npm and pip choose an older release in silence when the platform is too old: only the program itself knows.
    """
    said = run(harness.version_argv)
    if not re.search(rf"(?<![\w.+-]){re.escape(harness.pin)}(?![\w+-]|\.\w)", said):
        found = re.search(r"\d+\.\d+\.\d+(?:[-+.][0-9A-Za-z.]+)?", said)
        raise RigError(
            f"the image holds {harness.name} {found.group() if found else 'of an unknown version'}, "
            f"not the pinned {harness.pin}",
            "remove that image and run again: it is rebuilt",
        )
    return harness.pin


def to_json(value: object) -> bytes:
    """A configuration file's bytes."""
    return json.dumps(value, indent=1, sort_keys=True).encode() + b"\n"


def under_folders(files: Mapping[str, bytes]) -> dict[str, dict[str, bytes]]:
    """``files`` grouped by folder: {folder: {name: bytes}}."""
    grouped: dict[str, dict[str, bytes]] = {}
    for path, data in files.items():
        grouped.setdefault(posixpath.dirname(path), {})[posixpath.basename(path)] = data
    return grouped
