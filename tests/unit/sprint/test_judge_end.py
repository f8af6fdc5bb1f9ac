"""Whose failure an attempt is: provider and rig are never the model's."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from runner.sandbox.box import ExecResult
from runner.schema.entry import Limits
from runner.schema.ledger import LedgerTotals
from runner.sprint.agent import judge_end
from runner.sprint.worker import Task, time_for


def task(stopped: bool = False) -> Task:
    cancel = threading.Event()
    if stopped:
        cancel.set()
    nothing = cast(Any, None)
    return Task(nothing, nothing, nothing, 1, "", 60.0, Path("."), cancel)


def ended(code: int | None = 0, **more: bool) -> ExecResult:
    flags = {"stdout_truncated": False, "stderr_truncated": False, "timed_out": False, "oom": False} | more
    return ExecResult(exit_code=code, stdout=b"", stderr=b"", seconds=1.0, **flags)


@pytest.mark.parametrize(
    ("done", "totals", "spoke", "expected"),
    [
        (ended(), {"answered": 3}, True, ("done", True, None)),
        (ended(1), {"answered": 3}, True, ("done", True, None)),  # the CLI's exit code is no verdict
        (ended(), {"answered": 1, "provider_fault": "HTTP 500"}, True, ("provider", False, "provider")),
        (ended(), {"provider_fault": "401", "cap": "40 requests"}, False, ("provider", False, "provider")),
        (ended(), {"answered": 4, "cap": "4 requests"}, True, ("cap", True, "model")),
        (ended(1), {}, False, ("rig", False, "rig")),  # it asked nobody: nothing was measured
        (ended(None, timed_out=True), {"abandoned": 1}, False, ("provider", False, "provider")),
        (ended(None, timed_out=True), {"abandoned": 1}, True, ("timeout", True, "timeout")),
        (ended(None, timed_out=True), {"answered": 2}, True, ("timeout", True, "timeout")),
        (ended(137, oom=True), {"answered": 2}, True, ("killed", True, "model")),
        (ended(), {"answered": 2, "context_death": True}, True, ("context", True, "context")),
    ],
)
def test_who_is_to_blame(
    done: ExecResult, totals: dict[str, Any], spoke: bool, expected: tuple[str, bool, str]
) -> None:
    work = judge_end(done, LedgerTotals(**totals), task(), "last words", spoke=spoke)
    assert (work.ended, work.counted, work.cause) == expected


def test_a_stop_is_nobodys_failure() -> None:
    work = judge_end(ended(None, timed_out=True), LedgerTotals(provider_fault="x"), task(stopped=True), "", spoke=False)
    assert (work.ended, work.cause) == ("cancelled", "cancelled")


@pytest.mark.parametrize(
    ("totals", "words"),
    [
        ({}, "the agent asked no model (exit 1): last words"),
        ({"refused": 3}, "refused all of its 3 requests"),
        ({"refused": 3, "tools_refused": ["web_search"]}, "the provider would execute web_search"),
    ],
)
def test_an_agent_that_was_never_heard_is_told_why(totals: dict[str, Any], words: str) -> None:
    work = judge_end(ended(1), LedgerTotals(**totals), task(), "last words", spoke=False)
    assert (work.cause, words in work.detail) == ("rig", True)


@pytest.mark.parametrize(
    ("left_s", "words"),
    [
        (100.0, "stopped after 60 s (attempt_wall_s)"),
        (60.0, "stopped after 60 s (attempt_wall_s)"),
        (59.0, "stopped after 59 s (run_wall_s)"),
    ],
)
@pytest.mark.parametrize(("totals", "more"), [({"answered": 2}, ""), ({"abandoned": 1}, ", an answer under way")])
def test_the_limit_that_ended_it_is_named(left_s: float, words: str, totals: dict[str, Any], more: str) -> None:
    wall_s, limit = time_for(Limits(attempt_wall_s=60), left_s)
    late = replace(task(), wall_s=wall_s, limit=limit)
    work = judge_end(ended(None, timed_out=True), LedgerTotals(**totals), late, "", spoke=True)
    assert (work.ended, work.detail) == ("timeout", words + more)
