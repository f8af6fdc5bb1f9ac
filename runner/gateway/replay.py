"""Plays a cassette back: each request gets the answer that its twin got.

An agent may hold several conversations at once (sub-agents, a title, a summary). Within one of them the order is kept;
which conversation a request belongs to is found by its structure, and among equals by the fewest texts that differ.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.gateway.cassette import Recorded, read_cassette
from runner.gateway.structure import compare
from runner.schema.cassette import TapedExchange

NAMED = 3
"""Paths of differing texts that are named."""


@dataclass(frozen=True)
class Played:
    """``answer`` null: the replay has diverged. ``note``: what was different, or where it parts."""

    answer: Recorded | None
    note: str | None


class Player:
    """The conversations of one cassette, and how far each has been played."""

    def __init__(self, tape: list[TapedExchange]) -> None:
        self._streams = [deque(stream) for stream in streams(tape)]

    @classmethod
    def load(cls, folder: Path) -> Player:
        """Raises RigError where the cassette cannot be read."""
        return cls(read_cassette(folder))

    @property
    def left(self) -> int:
        """Recorded requests that nobody has made yet."""
        return sum(map(len, self._streams))

    def answer(self, wire: str, request: dict[str, Any]) -> Played:
        """The recorded answer to ``request``, or where it differs from what was recorded."""
        heads = [stream for stream in self._streams if stream and stream[0].protocol == wire]
        if not heads:
            return Played(None, "the recording has no more requests of this protocol")
        compared = [(compare(stream[0].request, request), stream) for stream in heads]
        same = [(found, stream) for found, stream in compared if found.structural is None]
        if not same:
            nearest = min(compared, key=lambda pair: _distance(pair[1][0].request, request))
            return Played(None, nearest[0].structural)
        found, stream = min(same, key=lambda pair: (len(pair[0].texts), pair[1][0].at_ms))
        taped = stream.popleft()
        answer = Recorded(taped.status, taped.headers, taped.answer.encode(), taped.sizes, taped.streamed, taped.cut)
        if not found.texts:
            return Played(answer, None)
        more = len(found.texts) - NAMED
        named = ", ".join(found.texts[:NAMED]) + (f" and {more} more" if more > 0 else "")
        return Played(answer, f"replayed; texts differ: {named}"[:500])


def streams(tape: list[TapedExchange]) -> list[list[TapedExchange]]:
    """The exchanges of each conversation: one goes on where a request holds all that the one before it held."""
    found: list[list[TapedExchange]] = []
    for taped in tape:
        stream = next((stream for stream in reversed(found) if _goes_on(stream[-1], taped)), None)
        if stream is None:
            found.append([taped])
        else:
            stream.append(taped)
    return found


def _goes_on(before: TapedExchange, after: TapedExchange) -> bool:
    if before.protocol != after.protocol:
        return False
    link = after.request.get("previous_response_id")
    if isinstance(link, str) and link:
        return f'"{link}"' in before.answer
    first, second = _said(before.request), _said(after.request)
    return len(second) >= len(first) and second[: len(first)] == first and _frame(before) == _frame(after)


def _said(request: dict[str, Any]) -> list[Any]:
    said = request.get("messages", request.get("input"))
    if isinstance(said, list):
        # Marks of what is cached move along with the conversation.
        return [_unmarked(one) for one in said]
    return [said]


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unmarked(part) for name, part in value.items() if name != "cache_control"}
    if isinstance(value, list):
        return [_unmarked(part) for part in value]
    return value


def _frame(taped: TapedExchange) -> tuple[Any, ...]:
    request = taped.request
    return tuple(repr(_unmarked(request.get(name))) for name in ("system", "instructions", "tools"))


def _distance(recorded: dict[str, Any], live: dict[str, Any]) -> int:
    return abs(len(_said(recorded)) - len(_said(live)))
