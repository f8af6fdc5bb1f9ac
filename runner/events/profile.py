"""How an agent worked, counted from its log: what the process layer is made of.

Two versions of two metrics live side by side. ``rebaseline-1`` and payload churn are the published ones;
``rebaseline-2`` asks whether the agent looked before it changed what is expected, and snapshot churn counts what really
changed in the work tree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner.events.segments import Segment
from runner.harness.jsonl import items, text
from runner.harness.trace import Answer, Call, Item, Loops, Retry, Trace, loops, since_ms, streams
from runner.schema.layers import ProcessSettings

RETRIES_SHOWN = ("pi", "claude-code", "codex rollout and stream", "opencode")
"""Schemas that write down when they asked again; in others no retry in the log says nothing."""
SHELLS = frozenset({"Bash", "bash", "exec_command", "shell", "local_shell", "local_shell_call", "CommandExecution"})

_SEARCHED = 200_000


@dataclass(frozen=True)
class Profile:
    """One attempt, in numbers."""

    tools: dict[str, int]
    agents: dict[str, int]
    malformed: dict[str, int]
    """By kind; ``pattern``: an error that one of the registry's patterns names and no reader does."""
    failed_tools: int
    loops: int
    """Streaks of one identical call that reach the threshold, each counted once, per stream."""
    depth: Loops
    deaths: int
    survived: int
    freezes: int | None
    freeze_ms: int | None
    pushed_lines: int
    turns: int

    @property
    def tool_calls(self) -> int:
        return sum(self.tools.values())

    @property
    def malformed_total(self) -> int:
        return sum(self.malformed.values())


def profile(trace: Trace, settings: ProcessSettings) -> Profile:
    """Everything that can be said of one attempt by itself."""
    calls = trace.calls
    freezes, freeze_ms = frozen(trace)
    return Profile(
        tools=dict(sorted(Counter(call.tool for call in calls).items())),
        agents=dict(sorted(Counter(call.stream or "main" for call in calls).items())),
        malformed=malformed(trace.all_calls, settings),
        failed_tools=sum(call.failed for call in trace.all_calls),
        loops=sum(_streaks(stream, settings.loop_threshold) for stream in streams(trace.all_calls).values()),
        depth=loops(trace.all_calls),
        deaths=deaths(trace, settings),
        survived=len(trace.compactions),
        freezes=freezes,
        freeze_ms=freeze_ms,
        pushed_lines=sum(pushed_lines(call, settings) for call in calls),
        turns=sum(answer.whole and not answer.side for answer in trace.answers),
    )


def malformed(calls: Iterable[Call], settings: ProcessSettings) -> dict[str, int]:
    """Inputs that could not be used, by kind. A command that ran and failed is none."""
    patterns = [re.compile(pattern, re.IGNORECASE) for pattern in settings.malformed_patterns]
    kinds: Counter[str] = Counter()
    for call in calls:
        if call.malformed:
            kinds[call.malformed] += 1
        elif call.refused and any(pattern.search(call.output) for pattern in patterns):
            kinds["pattern"] += 1
    return dict(sorted(kinds.items()))


def _streaks(stream: Sequence[Call], threshold: int) -> int:
    """How often a streak of identical calls reaches ``threshold``; a wait ends a streak and is part of none."""
    found, length, last = 0, 0, ""
    for call in stream:
        sign = "" if call.wait else call.signature
        length = length + 1 if sign and sign == last else 1 if sign else 0
        last = sign
        found += length == threshold
    return found


def deaths(trace: Trace, settings: ProcessSettings) -> int:
    """Answers and results that say the context no longer fits, and an end for one of the registry's reasons."""
    patterns = [re.compile(pattern, re.IGNORECASE) for pattern in settings.context_death_patterns]

    def says(words: str | None) -> bool:
        return words is not None and any(pattern.search(words) for pattern in patterns)

    found = sum(answer.context or says(answer.error) for answer in trace.answers)
    found += sum(call.refused and says(call.output) for call in trace.calls)
    return found + (trace.stop in settings.context_death_stop_reasons)


def frozen(trace: Trace) -> tuple[int | None, int | None]:
    """Retries, and the time they took in milliseconds (a lower bound); null where the schema writes none down.

    Lost is what lies between the last moment before a retry and the first one after it; retries back to back share one
    bracket. Where one of the two is not known it is what the agent said that it would wait, else the time is null.
    """
    retries = [step for step in trace.steps if isinstance(step, Retry)]
    if not retries:
        return (0, 0) if trace.schema.startswith(RETRIES_SHOWN) else (None, None)
    lost: list[float | None] = []
    before: str | None = None
    after: str | None = None
    waits: list[float | None] = []
    """Of the retries of the bracket that is open."""
    for step in trace.steps:
        failure = isinstance(step, Answer) and not step.whole
        if isinstance(step, Retry):
            waits.append(step.wait_ms)
            after = step.at or after
        elif waits and not failure:
            lost.append(_bracket(before, step.at, waits))
            waits, before, after = [], step.at, None
        elif waits:
            after = step.at or after
        else:  # what took nobody knows how long may have been work
            before = _ended(step) or (before if failure else None)
    if waits:  # it never came back, perhaps not even to the end of its last wait
        if isinstance(trace.steps[-1], Retry) and waits[-1] is not None:
            waits[-1] = 0.0
        lost.append(_bracket(before, after, waits))
    return len(retries), None if None in lost else round(sum(part or 0.0 for part in lost))


def _bracket(before: str | None, after: str | None, waits: Sequence[float | None]) -> float | None:
    took = since_ms(before, after)
    return sum(wait or 0.0 for wait in waits) if took is None and None not in waits else took


def _ended(step: Item) -> str | None:
    return step.ended if isinstance(step, Call) and step.answered else step.at


def pushed_lines(call: Call, settings: ProcessSettings) -> int:
    """Lines in the payload of an edit tool (churn-1): failed edits count, what a shell writes does not."""
    if call.tool not in settings.edit_tools or not isinstance(call.arguments, dict):
        return 0
    return sum(_lines(call.arguments.get(key)) for key in settings.edit_input_keys)


def _lines(value: Any) -> int:
    if isinstance(value, str):
        return len(value.splitlines())
    return sum(
        len((text(part.get("newText")) or text(part.get("new_string")) or "").splitlines()) for part in items(value)
    )


# -- blind rebaselines


@dataclass
class Rebaselines:
    """Updates of expected output that were run blind, by version of the metric and milestone, over a whole run.

    ``rebaseline-1``, as published: an update before any run of the cases, in all of the sprint so far, was seen green.
    ``rebaseline-2``: an update without a run of the cases between it and the update before it, whatever that run
    showed. The agent must have looked; one early green run excuses nothing later, and a plan that asks to write cases
    by the update flag is not punished for being followed.
    """

    settings: ProcessSettings
    first: Counter[str] = field(default_factory=Counter)
    second: Counter[str] = field(default_factory=Counter)
    updates: int = 0
    _green: bool = False
    _looked: dict[str, bool] = field(default_factory=dict)

    @property
    def measurable(self) -> bool:
        return bool(self.settings.rebaseline_pattern and self.settings.e2e_pattern)

    def attempt(self, label: str, trace: Trace) -> None:
        """Add an attempt's shell calls, attempts in the order of time."""
        self._looked = {}
        for call in trace.all_calls:
            command = self._command(call)
            if command is None or not self._says(self.settings.e2e_pattern, command):
                continue
            if self._says(self.settings.rebaseline_pattern, command):
                self.updates += 1
                self.first[label] += not self._green
                self.second[label] += not self._looked.get(call.stream, False)
                self._looked[call.stream] = False
            else:
                self._looked[call.stream] = True
                green = self._says(self.settings.green_pattern, call.output)
                self._green = self._green or (green and not self._says(self.settings.red_pattern, call.output))

    def _command(self, call: Call) -> str | None:
        if call.tool not in SHELLS and call.tool not in self.settings.shell_tools:
            return None
        given = call.arguments.get(self.settings.shell_input_key) if isinstance(call.arguments, dict) else None
        return given if isinstance(given, str) else call.command

    @staticmethod
    def _says(pattern: str | None, words: str) -> bool:
        return pattern is not None and re.search(pattern, words[-_SEARCHED:], re.IGNORECASE) is not None


def rebaselines(segments: Iterable[Segment], settings: ProcessSettings) -> Rebaselines:
    """Over a whole run, attempts in the order in which they were made."""
    found = Rebaselines(settings)
    for segment in segments:
        if segment.trace is not None:
            found.attempt(segment.label, segment.trace)
    return found
