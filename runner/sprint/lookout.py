"""Looks at the work tree whenever a model request passes the gateway. The request itself is never delayed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from runner.errors import BenchError
from runner.gateway.client import Passed
from runner.sandbox.peek import LookMissed, Peek
from runner.schema.look import Change, Look
from runner.store.clock import now

APART_S = 0.2
"""Between two looks; several requests within that time are one look."""


class Lookout:
    """Runs beside an attempt. ``passed`` says when a request is on its way; what is seen goes to ``sink``.

    A look that is missed is on record; when the box is gone, or the engine fails, it stops without a word: the attempt
    itself will say so.
    """

    def __init__(self, peek: Peek, passed: Passed, attempt: str, sink: Callable[[Look], None]) -> None:
        self._peek, self._passed, self._attempt, self._sink = peek, passed, attempt, sink
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lookout", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """After the contestant is dead: one last look, then the box is free again."""
        self._stop.set()
        self._passed.more.set()
        self._thread.join()
        if self._look():
            try:
                self._peek.clear()
            except BenchError:
                return

    def _run(self) -> None:
        more = self._passed.more
        while more.wait() and not self._stop.is_set():
            more.clear()
            if not self._look():
                return
            self._stop.wait(APART_S)

    def _look(self) -> bool:
        started, requests = time.monotonic(), self._passed.count
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
            at=now(), attempt=self._attempt, requests=requests, tree=tree, paths=paths, lines=lines,
            changes=changes, reason=reason, took_ms=took,
        )  # fmt: skip
        try:
            self._sink(seen)
        except BenchError:
            return False
        return True
