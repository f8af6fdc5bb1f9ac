"""What an agent did, step by step, in one form for all agents. It is read from the agent's own log."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from runner.harness.summary import Claim
from runner.schema.ledger import Usage

_WAIT_TOOLS = frozenset({"bashoutput", "taskoutput", "monitor", "wait", "sleep", "wait_agent", "agentoutputtool"})
_WAIT_COMMAND = re.compile(r"^\s*sleep\s+[\d.]+[smh]?\s*($|&&|;)")
_MAX_TEXT = 300


@dataclass(frozen=True, kw_only=True)
class Step:
    """Where it stands (``file``, 1-based ``line``), when (ISO 8601 UTC, or null), and whose it is.

    ``stream`` is empty for the main agent; a sub-agent has a name of its own.
    """

    file: str
    line: int
    at: str | None = None
    stream: str = ""


@dataclass(frozen=True, kw_only=True)
class Answer(Step):
    """One answer of the model, or the error in its place. ``whole`` ones are turns; ``side`` ones are no turn of the
    work (a compaction's summary, a title), but their tokens were used.
    """

    whole: bool
    side: bool = False
    response_id: str | None = None
    model: str | None = None
    usage: Usage | None = None
    stop: str | None = None
    error: str | None = None
    context: bool = False
    effort: str | None = None


@dataclass(kw_only=True)
class Call:
    """One tool call of a whole answer. ``arguments`` are as the agent parsed them, or the raw text where it could not.

    ``failed`` is the tool's own failure on an input it could use; ``malformed`` says what was wrong with the input.
    ``nested`` calls were made by a script of the model's inside another call: loops are looked for in them as well.
    """

    file: str
    line: int
    at: str | None = None
    stream: str = ""
    id: str
    tool: str
    arguments: Any
    malformed: str | None = None
    failed: bool = False
    refused: bool = False
    """The result carries the agent's error flag, whatever the reason."""
    output: str = ""
    ended: str | None = None
    duration_ms: float | None = None
    answered: bool = False
    nested: bool = False

    @property
    def text(self) -> str:
        """The arguments as one JSON text with sorted keys."""
        return json.dumps(self.arguments, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)

    @property
    def signature(self) -> str:
        """SHA-256 of tool and arguments: equal for equal calls."""
        return hashlib.sha256(f"{self.tool}\0{self.text}".encode()).hexdigest()

    @property
    def command(self) -> str | None:
        """The shell line, where it is one."""
        if isinstance(self.arguments, dict):
            for key in ("command", "cmd"):
                value = self.arguments.get(key)
                if isinstance(value, str):
                    return value
                if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
                    return str(value[-1])
        return None

    @property
    def wait(self) -> bool:
        """It only waits for something: neither a loop, nor part of one."""
        if self.tool.lower() in _WAIT_TOOLS:
            return True
        if self.tool == "write_stdin" and isinstance(self.arguments, dict):
            return not self.arguments.get("chars")
        command = self.command
        return bool(command and _WAIT_COMMAND.search(command))


@dataclass(frozen=True, kw_only=True)
class Retry(Step):
    """The agent asks again after ``reason``; ``wait_ms`` as it announces it."""

    reason: str
    wait_ms: float | None = None


@dataclass(frozen=True, kw_only=True)
class Compaction(Step):
    """The conversation was shortened; ``usage`` is what that took, where the log says it."""

    usage: Usage | None = None


Item = Answer | Call | Retry | Compaction


@dataclass
class Trace:
    """All that was recognised in one attempt's logs, in the order it was written."""

    schema: str
    steps: list[Item] = field(default_factory=list)
    stop: str | None = None
    error: str | None = None
    settled: bool = False
    side_usage: Usage | None = None
    """Tokens of calls that stand on no answer's line, from the agent's own totals."""
    cost_usd: float | None = None
    """What the agent itself reckons: its own price list, not a bill."""
    duration_ms: float | None = None
    turns: int | None = None
    """The agent's own count, where it gives one."""
    torn: int = 0
    unknown: int = 0
    model: Claim | None = None
    effort: Claim | None = None
    version: Claim | None = None
    provider: Claim | None = None
    context_window: Claim | None = None
    prompt: Claim | None = None
    """SHA-256 of the system prompt, where the log holds it."""

    @property
    def answers(self) -> list[Answer]:
        return [step for step in self.steps if isinstance(step, Answer)]

    @property
    def own_answers(self) -> list[Answer]:
        """The main agent's, without side calls: a helper's end is not the run's. All, where no main agent spoke."""
        spoken = [answer for answer in self.answers if not answer.side]
        return [answer for answer in spoken if not answer.stream] or spoken

    @property
    def calls(self) -> list[Call]:
        """The model's own calls, without nested ones."""
        return [step for step in self.steps if isinstance(step, Call) and not step.nested]

    @property
    def all_calls(self) -> list[Call]:
        return [step for step in self.steps if isinstance(step, Call)]

    @property
    def retries(self) -> list[Retry]:
        return [step for step in self.steps if isinstance(step, Retry)]

    @property
    def compactions(self) -> list[Compaction]:
        return [step for step in self.steps if isinstance(step, Compaction)]


def moment(value: Any) -> str | None:
    """``value`` (ISO 8601, or a Unix time in seconds or milliseconds) as ISO 8601 UTC with milliseconds."""
    try:
        if isinstance(value, str):
            when = datetime.fromisoformat(value)
            when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            when = datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def since_ms(start: str | None, end: str | None) -> float | None:
    """Milliseconds between two moments; null where one is unknown, or the clock went back."""
    if start is None or end is None:
        return None
    gap = (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds() * 1000
    return round(gap, 3) if gap >= 0 else None


def shortened(value: str | None) -> str | None:
    return value[:_MAX_TEXT] if value else None


def streams(calls: Iterable[Call]) -> dict[tuple[str, bool], list[Call]]:
    """Calls by stream; nested calls are a stream of their own."""
    found: dict[tuple[str, bool], list[Call]] = {}
    for call in calls:
        found.setdefault((call.stream, call.nested), []).append(call)
    return found


@dataclass(frozen=True)
class Loops:
    """How often an agent did the same again, per stream; waits end a run and are part of none.

    ``run``: longest run of one identical call; ``failing`` and ``succeeding``: the same among calls with that end
    alone. ``cycle``: (period, repeats) of the best cycle of 2 to 4 different calls, or null.
    """

    run: int = 0
    failing: int = 0
    succeeding: int = 0
    cycle: tuple[int, int] | None = None


def loops(calls: Iterable[Call]) -> Loops:
    """The deepest repetition in any stream."""
    run = failing = succeeding = 0
    best: tuple[int, int] | None = None
    for stream in streams(calls).values():
        for stretch in _stretches(stream):
            signs = [call.signature for call in stretch]
            bad = [call.failed or call.malformed is not None for call in stretch]
            run = max(run, _longest(signs, lambda i: True))
            failing = max(failing, _longest(signs, lambda i, bad=bad: bad[i]))  # type: ignore[misc]
            succeeding = max(succeeding, _longest(signs, lambda i, bad=bad: not bad[i]))  # type: ignore[misc]
            best = max((best, best_cycle(signs)), key=_cover)
    return Loops(run, failing, succeeding, best)


def _stretches(calls: list[Call]) -> list[list[Call]]:
    found: list[list[Call]] = [[]]
    for call in calls:
        if call.wait:
            found.append([])
        else:
            found[-1].append(call)
    return [stretch for stretch in found if stretch]


def _longest(signs: list[str], counts: Callable[[int], bool]) -> int:
    best = length = 0
    for index, sign in enumerate(signs):
        if not counts(index):
            length = 0
            continue
        length = length + 1 if length and signs[index - 1] == sign else 1
        best = max(best, length)
    return best


def best_cycle(signs: list[str]) -> tuple[int, int] | None:
    """(period, repeats) of the cycle that covers most calls: 2 to 4 long, not all the same, at least twice."""
    best: tuple[int, int] | None = None
    for period in (2, 3, 4):
        same = 0
        for index in range(period, len(signs)):
            same = same + 1 if signs[index] == signs[index - period] else 0
            repeats = (same + period) // period
            if repeats < 2:
                continue
            window = signs[index - period + 1 : index + 1]
            primitive = len(set(window)) > 1 and not (period == 4 and window[:2] == window[2:])
            if primitive and _cover((period, repeats)) > _cover(best):
                best = (period, repeats)
    return best


def _cover(cycle: tuple[int, int] | None) -> int:
    return cycle[0] * cycle[1] if cycle else 0
