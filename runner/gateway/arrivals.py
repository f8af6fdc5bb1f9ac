"""Tells the controller that requests pass, so that somebody can look at the work tree meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

APART_S = 0.1
"""Requests that follow each other faster are told of together."""
AFTER_S = 0.002
"""The request itself goes first, and an answer that is there at once."""


class Arrivals:
    """Of one run. ``tell`` gets how many requests of the attempt have passed so far; no request waits for it."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell = tell
        self._count = 0
        self._next = 0.0
        self._pending: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """A new attempt."""
        self._count = 0
        self.close()

    def passes(self) -> None:
        """One more request passes."""
        self._count += 1
        if self._pending is None:
            loop = asyncio.get_running_loop()
            self._pending = loop.call_at(max(self._next, loop.time() + AFTER_S), self._say)

    def close(self) -> None:
        """Nothing more is told."""
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None

    def _say(self) -> None:
        self._pending = None
        self._next = asyncio.get_running_loop().time() + APART_S
        self._tell(self._count)
