"""A last look that sees nothing is no sign that nothing is there."""

from __future__ import annotations

from typing import Any

import pytest

from runner.lab import survivors
from runner.sandbox.box import BoxDead


class Blind:
    """A box in which something runs until it cannot be seen into from outside, for it has ended."""

    def __init__(self) -> None:
        self.looks: list[list[str] | None] = [["sleep"]] * survivors._TRIES + [None]

    def outside(self) -> Blind:
        return self

    def processes(self, uid: int) -> list[str] | None:
        return self.looks.pop(0)

    def exec(self, argv: list[str], **more: Any) -> None:
        raise BoxDead("the box has ended")


def test_a_box_that_ended_under_the_last_look_is_not_called_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survivors, "_PAUSE_S", 0)
    box: Any = Blind()
    assert survivors.end_survivors(box, "1000:1000") == ("(cannot be ended)",)
