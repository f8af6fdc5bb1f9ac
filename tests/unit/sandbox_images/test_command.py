"""A followed command: its output as it comes, its end whatever happens."""

from __future__ import annotations

import os
import time

from runner.sandbox.command import follow


def sh(script: str, timeout_s: float = 20) -> tuple[list[str], object]:
    lines: list[str] = []
    return lines, follow(["sh", "-c", script], env=os.environ, log=lines.append, timeout_s=timeout_s)


def test_both_streams_and_the_code() -> None:
    lines, outcome = sh(r"echo one; echo two >&2; printf '\377\n'; echo 'ERROR: three'; exit 3")
    assert lines[:2] == ["one", "two"]
    assert (outcome.code, outcome.ok, outcome.reason) == (3, False, "ERROR: three")  # type: ignore[attr-defined]


def test_a_late_command_ends_with_its_children() -> None:
    began = time.monotonic()
    _, outcome = sh("sleep 60 & sleep 60", timeout_s=0.5)
    assert outcome.timed_out  # type: ignore[attr-defined]
    assert time.monotonic() - began < 10


def test_only_the_tail_is_kept() -> None:
    _, outcome = sh("seq 1000")
    assert len(outcome.tail) == 60  # type: ignore[attr-defined]
    assert outcome.tail[-1] == "1000"  # type: ignore[attr-defined]
