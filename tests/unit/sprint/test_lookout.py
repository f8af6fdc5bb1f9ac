"""When the work tree is looked at, and what happens when it cannot be."""

from __future__ import annotations

import threading
import time
from typing import Any, cast

import pytest

from runner.errors import RigError
from runner.gateway.client import Passed
from runner.sandbox.peek import LookMissed, Peek
from runner.schema.look import Look
from runner.sprint import lookout
from runner.sprint.lookout import Lookout


class Eyes:
    """Stands where a container would be: says what it is told to say, and whether it was looked at by two at once."""

    def __init__(self, *answers: object) -> None:
        self.answers, self.asked, self.cleared = list(answers), 0, False
        self._busy = threading.Lock()

    def look(self) -> dict[str, Any]:
        assert self._busy.acquire(blocking=False)
        try:
            self.asked += 1
            answer = self.answers.pop(0) if self.answers else None
            if isinstance(answer, Exception):
                raise answer
            return {"tree": f"{self.asked:040d}", "paths": 1, "lines": 2, "changes": [("a", None, "c", 2, 0)]}
        finally:
            self._busy.release()

    def clear(self) -> None:
        self.cleared = True


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookout, "APART_S", 0.01)


def watch(eyes: Eyes, requests: int) -> list[Look]:
    """An attempt with that many requests, one after the other; each waits for nobody."""
    seen: list[Look] = []
    passed = Passed()
    watcher = Lookout(cast(Peek, eyes), passed, "M01-2", seen.append)
    watcher.start()
    for number in range(1, requests + 1):
        passed.add(number)
        limit = time.monotonic() + 5
        while eyes.asked < number and watcher._thread.is_alive() and time.monotonic() < limit:
            time.sleep(0.005)
    watcher.stop()
    return seen


def test_a_look_at_every_request_and_one_at_the_end() -> None:
    eyes = Eyes()
    seen = watch(eyes, 3)
    assert [look.requests for look in seen] == [1, 2, 3, 3]
    assert {look.attempt for look in seen} == {"M01-2"}
    assert (seen[0].lines, seen[0].changes[0].path) == (2, "a")
    assert eyes.cleared


def test_nothing_was_asked_and_still_the_end_is_seen() -> None:
    assert [look.requests for look in watch(Eyes(), 0)] == [0]


def test_a_missed_look_is_on_record_and_the_next_one_is_made() -> None:
    seen = watch(Eyes(LookMissed("the repository is gone")), 2)
    assert [(look.tree is None, look.reason) for look in seen] == [
        (True, "the repository is gone"), (False, None), (False, None),
    ]  # fmt: skip


def test_when_the_engine_fails_it_stops_and_breaks_nothing() -> None:
    failed = RigError("the engine is gone")
    eyes = Eyes(failed, failed, failed)
    assert watch(eyes, 2) == []
    assert not eyes.cleared
