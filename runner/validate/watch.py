"""What a proof is doing, for somebody who waits: claims come late, because all groups begin at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from runner.report.format import duration


class Watch:
    """Counts checks, and knows the groups of claims and which are not over yet. For several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._started = clock, clock()
        self._guard = threading.Lock()
        self._groups: dict[str, bool] = {}
        self._begun = self._made = 0
        self._last = ""

    def expect(self, group: str) -> None:
        """A group of claims that is to come."""
        with self._guard:
            self._groups[group] = False

    def over(self, group: str) -> None:
        with self._guard:
            self._groups[group] = True

    def say(self, line: str) -> None:
        """The newest that was heard of."""
        with self._guard:
            self._last = line.strip()

    @contextmanager
    def check(self) -> Iterator[None]:
        """One check, from when it is asked for until it is made."""
        with self._guard:
            self._begun += 1
        try:
            yield
        finally:
            with self._guard:
                self._made += 1

    def line(self) -> str:
        """How long, how far (of the checks asked for by now), what is under way, and the newest; empty before that."""
        with self._guard:
            if not self._groups and not self._last:
                return ""
            left = [name for name, over in self._groups.items() if not over]
            parts = [duration(self._clock() - self._started)]
            if self._groups:
                parts.append(f"{len(self._groups) - len(left)} of {len(self._groups)} groups")
                parts.append(f"{self._made} of {self._begun}+ checks")
            under_way = f"; now {', '.join(left)}" if left else ""
            return ", ".join(parts) + under_way + (f" ({self._last})" if self._last else "")
