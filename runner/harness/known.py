"""The harnesses there are: one entry each."""

from __future__ import annotations

from runner.errors import UsageError
from runner.harness.base import Harness

DEFAULT = "pi"


def harness(name: str) -> Harness:
    """Raises UsageError listing the known ones."""
    known = shipped()
    if name not in known:
        raise UsageError(f"there is no harness {name!r}", f"known: {', '.join(known)} (and scripted, for controls)")
    return known[name]()


def shipped() -> dict[str, type[Harness]]:
    """The agents that the runner itself knows how to start."""
    from runner.harness.claude_code import ClaudeCode
    from runner.harness.codex import Codex
    from runner.harness.mini_swe_agent import MiniSweAgent
    from runner.harness.opencode import OpenCode
    from runner.harness.pi import Pi

    return {kind.name: kind for kind in (Pi, ClaudeCode, Codex, MiniSweAgent, OpenCode)}
