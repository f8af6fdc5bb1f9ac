"""Looks at the work tree whenever a model request has passed the gateway. The request itself is never delayed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from runner.errors import BenchError
from runner.sandbox.peek import LookMissed, Peek
from runner.schema.look import Change, Look
from runner.store.clock import now

POLL_S = 0.2
"""How often the ledger's size is looked at; several requests within one look are one look."""


class Lookout:
    """Runs beside an attempt. ``ledger`` grows by a line per request; what is seen goes to ``sink``.

    A look that is missed is on record; when the box is gone, or the engine fails, it stops without a word: the attempt
    itself will say so.
    """

    def __init__(self, peek: Peek, ledger: Path, attempt: str, sink: Callable[[Look], None]) -> None:
        self._peek, self._ledger, self._attempt, self._sink = peek, ledger, attempt, sink
        self._stop = threading.Event()
        self._seen = self._size()
        self._lines = 0
        self._thread = threading.Thread(target=self._run, name="lookout", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """After the contestant is dead: one last look, then the box is free again."""
        self._stop.set()
        self._thread.join()
        self._count()
        if self._look():
            try:
                self._peek.clear()
            except BenchError:
                return

    def _run(self) -> None:
        while not self._stop.wait(POLL_S):
            if self._count() and not self._look():
                return

    def _count(self) -> bool:
        """Whether requests have passed since the last time."""
        size = self._size()
        if size <= self._seen:
            return False
        with self._ledger.open("rb") as file:
            file.seek(self._seen)
            self._lines += file.read(size - self._seen).count(b"\n")
        self._seen = size
        return True

    def _size(self) -> int:
        try:
            return self._ledger.stat().st_size
        except FileNotFoundError:
            return 0

    def _look(self) -> bool:
        started = time.monotonic()
        tree, paths, lines, changes, reason = None, 0, 0, [], None
        try:
            found = self._peek.look()
            tree, paths, lines = found["tree"], found["paths"], found["lines"]
            changes = [Change(path=p, before=b, content=c, added=a, taken=t) for p, b, c, a, t in found["changes"]]
        except LookMissed as error:
            reason = error.what
        except BenchError:
            return False
        took = round((time.monotonic() - started) * 1000, 3)
        seen = Look(
            at=now(), attempt=self._attempt, requests=self._lines, tree=tree, paths=paths, lines=lines,
            changes=changes, reason=reason, took_ms=took,
        )  # fmt: skip
        try:
            self._sink(seen)
        except BenchError:
            return False
        return True
