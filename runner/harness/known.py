"""The harnesses there are: one entry each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from runner.errors import UsageError
from runner.harness.base import Harness

DEFAULT = "pi"


def harness(name: str, registry: Path | None = None) -> Harness:
    """One of the runner's own, or one that ``registry`` (the folder of ``index.md``) describes.

    Raises UsageError listing the known ones, ConfigError for a description that cannot be used.
    """
    from runner.harness.command import Command
    from runner.harness.described import load_described

    known = shipped()
    if name in known:
        return known[name]()
    described = load_described(registry) if registry else {}
    if registry is None or name not in described:
        words = ", ".join([*known, *described])
        raise UsageError(f"there is no harness {name!r}", f"known: {words} (and scripted, for controls)")
    return Command(described[name], registry)


def shipped() -> dict[str, Callable[[], Harness]]:
    """The agents that the runner itself knows how to start."""
    from runner.harness.claude_code import ClaudeCode
    from runner.harness.codex import Codex
    from runner.harness.mini_swe_agent import MiniSweAgent
    from runner.harness.opencode import OpenCode
    from runner.harness.pi import Pi

    return {kind.name: kind for kind in (Pi, ClaudeCode, Codex, MiniSweAgent, OpenCode)}
