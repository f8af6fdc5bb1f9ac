"""When the work tree is looked at, and what happens when it cannot be."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any, cast

import pytest

from runner.errors import RigError
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
    monkeypatch.setattr(lookout, "POLL_S", 0.01)


def watch(eyes: Eyes, ledger: Path, requests: int) -> list[Look]:
    """An attempt with that many requests, one after the other; each waits for nobody."""
    seen: list[Look] = []
    ledger.write_bytes(b"{}\n" * 3)  # of an attempt before
    watcher = Lookout(cast(Peek, eyes), ledger, "M01-2", seen.append)
    watcher.start()
    for number in range(1, requests + 1):
        with ledger.open("ab") as file:
            file.write(b"{}\n")
        limit = time.monotonic() + 5
        while eyes.asked < number and watcher._thread.is_alive() and time.monotonic() < limit:
            time.sleep(0.005)
    watcher.stop()
    return seen


def test_a_look_after_every_request_and_one_at_the_end(tmp_path: Path) -> None:
    eyes = Eyes()
    seen = watch(eyes, tmp_path / "l", 3)
    assert [look.requests for look in seen] == [1, 2, 3, 3]
    assert {look.attempt for look in seen} == {"M01-2"}
    assert (seen[0].lines, seen[0].changes[0].path) == (2, "a")
    assert eyes.cleared


def test_nothing_was_asked_and_still_the_end_is_seen(tmp_path: Path) -> None:
    assert [look.requests for look in watch(Eyes(), tmp_path / "l", 0)] == [0]


def test_a_missed_look_is_on_record_and_the_next_one_is_made(tmp_path: Path) -> None:
    seen = watch(Eyes(LookMissed("the repository is gone")), tmp_path / "l", 2)
    assert [(look.tree is None, look.reason) for look in seen] == [
        (True, "the repository is gone"), (False, None), (False, None),
    ]  # fmt: skip


def test_when_the_engine_fails_it_stops_and_breaks_nothing(tmp_path: Path) -> None:
    failed = RigError("the engine is gone")
    eyes = Eyes(failed, failed, failed)
    assert watch(eyes, tmp_path / "l", 2) == []
    assert not eyes.cleared
