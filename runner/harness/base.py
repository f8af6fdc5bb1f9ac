"""What the runner needs to know of an agent CLI. One small class per agent fills this in."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from runner.errors import RigError
from runner.gateway.providers import Provider
from runner.harness.summary import Identity, Summary

HOME = "/home/contestant"
REPO = "/work/repo"


@dataclass(frozen=True)
class ImageLayer:
    """How an agent gets into a benchmark's image: built once, then copied onto any benchmark."""

    name: str
    """Image name of the agent's own build, without a tag."""
    context: str
    """Folder of its Dockerfile, below ``images/``."""
    paths: tuple[str, ...]
    """What is copied from it."""

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
    """The pinned version; the program in the container must say the same."""
    version_argv: Sequence[str]
    layer: ImageLayer

    def prepare(self, request: Request) -> HarnessPlan:
        """How to start it. Raises UsageError for an effort or a provider that it cannot express."""

    def read_identity(self, log_dir: Path, requested: Request | None = None) -> Identity:
        """What its own log says it ran. ``log_dir`` holds the collected logs and ``stdout.jsonl``."""

    def read_summary(self, log_dir: Path) -> Summary:
        """What its own log says it did. Raises LogError when the log is unknown or nothing was recognised."""


def guard_version(harness: Harness, run: Callable[[Sequence[str]], str]) -> str:
    """The version that the program in the container reports (``run`` gives its output). RigError unless it is the pin.

    npm and pip choose an older release in silence when the platform is too old: only the program itself knows.
    """
    said = run(harness.version_argv)
    found = re.search(r"\d+\.\d+\.\d+(?:[-+.][0-9A-Za-z.]+)?", said)
    if found is None or found.group() != harness.version:
        raise RigError(
            f"the image holds {harness.name} {found.group() if found else 'of an unknown version'}, "
            f"not the pinned {harness.version}",
            "remove that image and run again: it is rebuilt",
        )
    return found.group()


def under_folders(files: Mapping[str, bytes]) -> dict[str, dict[str, bytes]]:
    """``files`` grouped by folder: {folder: {name: bytes}}."""
    grouped: dict[str, dict[str, bytes]] = {}
    for path, data in files.items():
        grouped.setdefault(posixpath.dirname(path), {})[posixpath.basename(path)] = data
    return grouped
