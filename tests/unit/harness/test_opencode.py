"""opencode's rows one by one: errors, what it asked again, and helpers, which are sessions of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.harness import opencode_log
from tests.unit.harness.test_versions import lines


def row(table: str, ident: str, data: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {"table": table, "row": {"id": ident, **fields, "data": data}}


def said(ident: str, session: str = "s", at: int = 1, **data: Any) -> dict[str, Any]:
    return row("message", ident, {"role": "assistant", "time": {"created": at}, **data}, session_id=session)


@pytest.mark.parametrize(
    ("error", "words", "context"),
    [
        ({"name": "ContextOverflowError", "data": {"message": "too much"}}, "too much", True),
        ({"name": "APIError", "data": {"message": "prompt is too long: 9"}}, "prompt is too long: 9", True),
        ({"name": "APIError", "message": "gone"}, "gone", False),
        ({"name": "APIError"}, "APIError", False),
        ({"odd": 1}, "error", False),
    ],
)
def test_an_error_is_told_in_its_own_words(tmp_path: Path, error: dict[str, Any], words: str, context: bool) -> None:
    lines(tmp_path / "1.jsonl", row("session", "s"), said("m", error=error))
    found = opencode_log.read_summary(tmp_path)
    assert (found.turns, found.errors, found.error, found.context_death) == (0, 1, words, context)
    retried = row("part", "p", {"type": "retry", "error": error}, message_id="m")
    lines(tmp_path / "1.jsonl", row("session", "s"), said("m", finish="stop"), retried)
    trace = opencode_log.read_trace(tmp_path)
    assert ([retry.reason for retry in trace.retries], trace.stop) == ([words], "stop")


def test_a_helpers_end_is_not_the_runs(tmp_path: Path) -> None:
    sessions = [row("session", "s"), row("session", "h", parent_id="s")]
    lines(tmp_path / "1.jsonl", *sessions, said("a", finish="stop"), said("b", "h", 2, error={"message": "gone"}))
    found = opencode_log.read_summary(tmp_path)
    assert (found.turns, found.errors, found.stop, found.error, found.settled) == (1, 1, "stop", None, True)
