"""Which reader knows an agent's logs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from runner.harness import claude_log, codex_log, mini_log, opencode_log, pi_log
from runner.harness.trace import Trace

_READERS: dict[str, Callable[[Path], Trace]] = {
    "pi": pi_log.read_trace,
    "claude-code": claude_log.read_trace,
    "codex": codex_log.read_trace,
    "mini-swe-agent": mini_log.read_trace,
    "opencode": opencode_log.read_trace,
}


def reader(harness: str) -> Callable[[Path], Trace] | None:
    """Reads one attempt's log folder; null for a harness whose logs nobody knows."""
    return _READERS.get(harness)
