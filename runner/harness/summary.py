"""What an agent's own log says, in one form for all agents. It is the agent's claim: the ledger is the fact."""

from __future__ import annotations

from dataclasses import dataclass, field

from runner.errors import RigError
from runner.schema.ledger import Usage


class LogError(RigError):
    """An agent's log is missing, in an unknown schema, or nothing in it was recognised."""

    retry = False


@dataclass(frozen=True)
class Claim:
    """One fact and where it stands: ``file`` and 1-based ``line`` of the log."""

    value: str
    file: str
    line: int


@dataclass(frozen=True)
class Identity:
    """Requested by the runner, and logged by the agent. Null: not said, and never inferred from a default."""

    requested_model: str | None
    requested_effort: str | None
    logged_model: Claim | None
    logged_effort: Claim | None
    logged_version: Claim | None = None
    logged_provider: Claim | None = None
    logged_context_window: Claim | None = None
    logged_prompt: Claim | None = None
    """SHA-256 of the system prompt as logged."""


@dataclass(frozen=True)
class Summary:
    """Turns are whole model answers; ``calls`` were made in whole answers (a call in a cut stream was never run)."""

    turns: int
    calls: int
    malformed: dict[str, int] = field(default_factory=dict)
    """Tool inputs that could not be used, by kind: json, schema, unknown_tool."""
    failed_tools: int = 0
    errors: int = 0
    """Answers that ended as an error."""
    retries: int = 0
    context_errors: int = 0
    context_death: bool = False
    """It ended because the conversation no longer fitted."""
    compactions: int = 0
    usage: Usage = field(default_factory=lambda: Usage(uncached_input=0, output=0, reasoning=0))
    stop: str | None = None
    """How the last answer ended: stop, length, error, aborted ..."""
    error: str | None = None
    """The last error's own words, shortened."""
    settled: bool = False
    """The agent itself says that it had nothing left to do."""
    longest_run: int = 0
    """Longest run of one identical tool call within one stream; waits excepted."""
    best_cycle: tuple[int, int] | None = None
    """(period, repeats) of the best cycle of 2 to 4 different calls."""
    side_usage: Usage | None = None
    """Tokens of calls beside the work (a compaction's summary) that the log names, but not in ``usage``."""
    response_ids: tuple[str, ...] = ()
    torn_lines: int = 0
    unknown_lines: int = 0
    """Whole lines of a kind that this reader does not know."""
