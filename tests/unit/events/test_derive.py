"""The one event log: complete, joined, in order, and the same bytes whenever it is derived."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from runner.schema.look import Change, Look
from runner.schema.run import AttemptRecord
from runner.schema.run_events import RunEvent
from runner.stages.trail import log_events
from runner.store.files import append_line
from runner.store.rundir import RunDir
from tests.support.stored_run import stored_run


def attempts(*causes: str | None) -> list[AttemptRecord]:
    return [
        AttemptRecord(milestone="M01", number=n, counted=True, passed=cause is None, head="c", ended="done",
                      cause=cause, wall_s=1.0)  # type: ignore[arg-type]
        for n, cause in enumerate(causes, 1)
    ]  # fmt: skip


def events(run: RunDir, *causes: str | None) -> list[RunEvent]:
    log_events(run, run.lock(), attempts(*(causes or (None,))))
    return [RunEvent.model_validate_json(line) for line in run.events_file.read_bytes().splitlines()]


def of_kind(found: list[RunEvent], kind: str) -> list[dict[str, Any]]:
    return [event.data for event in found if event.kind == kind]


@pytest.mark.parametrize(("agent", "calls"), [("pi", 3), ("claude", 3), ("codex", 3), ("mini", 4)])
def test_every_answer_joins_its_line_of_the_ledger(tmp_path: Path, agent: str, calls: int) -> None:
    run = stored_run(tmp_path, agent, "happy")
    found = events(run)
    answers = of_kind(found, "answer")
    assert [answer["ledger_line"] for answer in answers] == [1, 2, 3, 4]
    assert all(answer["logged"] for answer in answers)
    assert len(of_kind(found, "tool_call")) == calls
    assert all(event.milestone == "M01" and event.attempt == 1 for event in found if event.kind != "run_start")


def test_only_the_wire_knows_how_long_a_cache_keeps_what_is_written(tmp_path: Path) -> None:
    """An agent that does not say so does not count otherwise."""
    run = stored_run(tmp_path, "codex", "happy")
    lines = run.ledger.read_text()
    run.ledger.write_text(lines.replace('"cache_write_1h":0', '"cache_write_1h":10'))
    assert run.ledger.read_text() != lines
    answers = of_kind(events(run), "answer")
    assert not any(answer.get("usage_wire") for answer in answers)
    assert answers[0]["logged"]


def with_one_id(run: RunDir) -> RunDir:
    for path in (run.ledger, *run.agent.rglob("*.jsonl")):
        path.write_text(re.sub(r"chatcmpl-[0-9a-f]+", "the-same", path.read_text()))
    return run


def test_answers_of_a_server_that_has_one_id_for_all_are_joined_in_their_order(tmp_path: Path) -> None:
    run = with_one_id(stored_run(tmp_path, "pi", "happy", "happy"))
    answers = of_kind(events(run, None, None), "answer")
    assert sorted(answer["ledger_line"] for answer in answers) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert not any("usage_wire" in answer for answer in answers)
    (run.agent / "M01-2" / "own" / "session.jsonl").unlink()
    (run.agent / "M01-2" / "stdout.jsonl").unlink()
    assert sorted(answer["logged"] for answer in of_kind(events(run, None, None), "answer")) == [False] * 4 + [True] * 4


def test_of_one_id_for_all_an_answer_is_joined_within_its_attempt(tmp_path: Path) -> None:
    run = with_one_id(stored_run(tmp_path, "pi", "happy", "happy"))
    for log in (run.agent / "M01-1").rglob("*.jsonl"):  # of the first attempt nothing is left
        log.unlink()
    answers = of_kind(events(run, None, None), "answer")
    assert [answer["ledger_line"] for answer in answers if answer["logged"]] == [5, 6, 7, 8]
    assert len(answers) == 8


def test_nor_is_it_joined_to_a_request_of_the_runners_own(tmp_path: Path) -> None:
    run = with_one_id(stored_run(tmp_path, "pi", "happy"))
    first, *others = run.ledger.read_text().splitlines(keepends=True)
    run.ledger.write_text(first.replace('"ours":false', '"ours":true') + first + "".join(others))
    answers = of_kind(events(run), "answer")
    assert [answer["ledger_line"] for answer in answers] == [2, 3, 4, 5]


def test_a_call_is_told_by_hash_and_size_never_by_its_words(tmp_path: Path) -> None:
    run = stored_run(tmp_path, "pi", "bad_json")
    first, second, _ = of_kind(events(run), "tool_call")
    assert first["malformed"] == "json"
    assert second["arguments_bytes"] == len('{"content":"print(\'hello from stub\')\\n","path":"/w/repo/hello.py"}')
    assert second["duration_ms"] == 4
    assert len(second["arguments_sha256"]) == 64
    assert b"hello from stub" not in run.events_file.read_bytes()


def test_what_the_agent_did_not_log_stands_there_from_the_wire(tmp_path: Path) -> None:
    found = events(stored_run(tmp_path / "pi", "pi", "trunc"))
    (cut,) = [answer for answer in of_kind(found, "answer") if not answer["whole"]]
    assert (cut["usage"]["output"], cut["usage_wire"]["output"]) == (0, 61)
    found = events(stored_run(tmp_path / "codex", "codex", "trunc"))
    unlogged = [answer for answer in of_kind(found, "answer") if not answer["logged"]]
    assert [(answer["outcome"], answer["usage"]["output"]) for answer in unlogged] == [("cut", 61)]
    (freeze,) = of_kind(found, "freeze")
    assert (freeze["requests"], freeze["recovered"]) == (1, True)
    assert freeze["lost_ms"] > 0
    assert len(of_kind(found, "retry")) == 1


def test_a_compaction_and_its_own_request_are_told(tmp_path: Path) -> None:
    found = events(stored_run(tmp_path, "claude", "compact"))
    assert len(of_kind(found, "compaction")) == 1
    assert sorted(a["outcome"] for a in of_kind(found, "answer") if not a["logged"]) == ["answered", "error"]


def test_a_log_that_cannot_be_read_is_an_event(tmp_path: Path) -> None:
    run = stored_run(tmp_path, "pi", "happy", "loop")
    (run.agent / "M01-2" / "own" / "session.jsonl").write_text('{"type":"hello"}\n')
    found = events(run, None, None)
    (error,) = of_kind(found, "log_error")
    assert "no session of pi" in error["reason"]
    assert len(of_kind(found, "tool_call")) == 3


def test_markers_looks_and_causes_come_from_the_runner(tmp_path: Path) -> None:
    run = stored_run(tmp_path, "pi", "ctx_400")
    run.event("milestone_start", milestone="M01")
    run.event("attempt_start", milestone="M01", number=1)
    run.event("agent_end", milestone="M01", number=1, ended="context", detail="full")
    change = Change(path="a", before=None, content="c" * 40, added=1, taken=0)
    append_line(
        run.looks_file,
        Look(at="2026-11-29T15:31:00.000Z", attempt="M01-1", requests=1, tree="t" * 40, paths=1, lines=1,
             changes=[change], took_ms=3.0),
    )  # fmt: skip
    found = events(run, "context")
    assert of_kind(found, "agent_end") == [{"ended": "context", "detail": "full", "cause": "context"}]
    (look,) = of_kind(found, "snapshot")
    assert (look["tree"], look["changed"], look["lines"]) == ("t" * 40, ["a"], 1)
    assert [event.kind for event in found if event.kind.startswith(("segment", "attempt_s"))] == [
        "segment_start", "attempt_start",
    ]  # fmt: skip
    assert any(answer.get("context") for answer in of_kind(found, "answer"))


def test_it_is_in_order_and_derived_again_it_is_the_same_bytes(tmp_path: Path) -> None:
    run = stored_run(tmp_path, "claude", "r429", "parallel")
    found = events(run, None, None)
    before = run.events_file.read_bytes()
    assert [event.seq for event in found] == list(range(1, len(found) + 1))
    times = [event.at for event in found if event.at]
    assert times == sorted(times)
    assert {event.schema_ for event in found} == {"bench/run-event/1"}
    run.events_file.write_bytes(b"rubbish of an earlier time\n" * 10_000)
    events(run, None, None)
    assert run.events_file.read_bytes() == before
    assert all(json.loads(line)["schema_"] for line in before.splitlines())
