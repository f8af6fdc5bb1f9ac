"""An agent that was started again on what it had: the last start says how it ended, and a new prompt is no retry.

Shaped as the agents of today wrote it when they were resumed, and killed, against a stub of ours.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.harness import claude_log, codex_log, opencode_log, pi_log
from runner.harness.onefile import read_file
from runner.harness.reading import summarise
from runner.harness.trace import Answer, Trace
from tests.unit.harness.test_expected import LOGS
from tests.unit.harness.test_more import MORE


def write(path: Path, *found: dict[str, Any]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in found))


def at(second: int) -> str:
    return f"2026-11-30T08:00:{second:02}.000Z"


# -- pi


def said(second: int, role: str, **fields: Any) -> dict[str, Any]:
    message = {"role": role, "content": [], "timestamp": 1796026000000 + second * 1000, **fields}
    return {"type": "message", "id": f"e{second}", "timestamp": at(second), "message": message}


def failed(second: int) -> dict[str, Any]:
    return said(second, "assistant", stopReason="error", errorMessage="500 overloaded")


def answered(second: int) -> dict[str, Any]:
    return said(second, "assistant", stopReason="stop", usage={"input": 1, "output": 1})


HEAD = {"type": "session", "version": 3, "id": "s", "timestamp": at(0)}


def test_an_error_after_which_a_person_speaks_was_not_asked_again(tmp_path: Path) -> None:
    tries = [said(1, "user"), failed(2), failed(3), failed(4), failed(5)]
    write(tmp_path / "1.jsonl", HEAD, *tries, said(6, "user"), answered(7))
    assert pi_log.read_summary(tmp_path).retries == 3


@pytest.mark.parametrize("first", [[said(7, "user")], []])
def test_a_session_is_no_retry_of_the_one_before(tmp_path: Path, first: list[dict[str, Any]]) -> None:
    write(tmp_path / "1.jsonl", HEAD, said(1, "user"), failed(2), failed(3))
    write(tmp_path / "2.jsonl", {**HEAD, "id": "t", "timestamp": at(6)}, *first, answered(8))
    found = pi_log.read_summary(tmp_path)
    assert (found.retries, found.errors, found.turns, found.stop) == (1, 2, 1, "stop")


def test_what_a_helper_tells_of_its_end_is_not_the_runs(tmp_path: Path) -> None:
    """In the stream, where a helper's events are tagged with its name."""
    start, end = {"type": "agent_start"}, {"type": "agent_settled"}
    mine = {"type": "message_end", "message": answered(1)["message"]}
    theirs = {"type": "message_end", "agent": "worker", "message": failed(2)["message"]}
    write(
        tmp_path / "stdout.jsonl", HEAD, start, mine, {**start, "agent": "worker"}, theirs, {**end, "agent": "worker"}
    )
    trace = pi_log.read_trace(tmp_path)
    assert (trace.settled, trace.stop, trace.error) == (False, "stop", None)
    write(tmp_path / "stdout.jsonl", HEAD, start, mine, end, start)
    assert pi_log.read_trace(tmp_path).settled is False
    write(tmp_path / "stdout.jsonl", HEAD, start, mine, end)
    assert pi_log.read_trace(tmp_path).settled is True


# -- opencode


@pytest.mark.parametrize("case", [LOGS / "opencode" / "happy.db.jsonl", MORE / "opencode" / "ctx_400_once.db.jsonl"])
def test_a_fork_adds_only_what_it_did_itself(tmp_path: Path, case: Path) -> None:
    """It copies all messages under ids of its own."""
    rows = [json.loads(line) for line in case.read_text().splitlines()]
    known = {row["row"]["id"] for row in rows}
    forked = json.loads(json.dumps(rows), object_hook=lambda found: {
        key: f"{value}-fork" if isinstance(value, str) and value in known else value for key, value in found.items()
    })  # fmt: skip
    assert not known & {row["row"]["id"] for row in forked}
    own = json.loads(json.dumps(next(row for row in forked if row["row"].get("data", {}).get("role") == "assistant")))
    own["row"]["id"], own["row"]["data"]["finish"] = "own", "stop"
    own["row"]["data"]["time"] = {"created": 1900000000000, "completed": 1900000001000}
    write(tmp_path / "plain.jsonl", *rows)
    write(tmp_path / "fork.jsonl", *rows, *forked, own)
    plain, fork = (summarise(read_file(tmp_path / name)) for name in ("plain.jsonl", "fork.jsonl"))
    assert (fork.turns, fork.calls, fork.compactions) == (plain.turns + 1, plain.calls, plain.compactions)
    assert fork.usage.total - plain.usage.total == own["row"]["data"]["tokens"]["total"]


def test_a_store_that_was_dumped_twice_is_counted_once(tmp_path: Path) -> None:
    """The first time while an answer was under way."""
    whole = [json.loads(line) for line in (LOGS / "opencode" / "happy.db.jsonl").read_text().splitlines()]
    early = json.loads(json.dumps(whole))
    last = next(row["row"]["data"] for row in reversed(early) if row["row"].get("data", {}).get("role") == "assistant")
    del last["finish"], last["time"]["completed"]
    write(tmp_path / "1.jsonl", *early)
    write(tmp_path / "2.jsonl", *whole)
    plain = tmp_path / "plain"
    plain.mkdir()
    write(plain / "1.jsonl", *whole)
    assert opencode_log.read_summary(tmp_path) == opencode_log.read_summary(plain)


def test_two_sessions_that_know_no_time_are_no_copies(tmp_path: Path) -> None:
    def session(name: str) -> list[dict[str, Any]]:
        data = {"role": "assistant", "modelID": "m", "tokens": {"input": 7, "output": 2}, "finish": "stop"}
        return [{"table": "session", "row": {"id": name, "model": {"id": "m", "variant": "bench-high"}}},
                {"table": "message", "row": {"id": f"m-{name}", "session_id": name, "data": data}}]  # fmt: skip

    write(tmp_path / "1.jsonl", *session("a"), *session("b"))
    trace = opencode_log.read_trace(tmp_path)
    found = summarise(trace)
    assert (found.turns, found.usage.total) == (2, 18)
    assert trace.effort is not None
    assert trace.effort.value == "high"  # as it was asked for: the runner's own variant is called after it


# -- all: the second start was killed


def pi(folder: Path, *, whole: bool) -> None:
    write(folder / "1.jsonl", HEAD, said(1, "user"), answered(2), said(3, "user"))
    start, end = {"type": "agent_start"}, {"type": "agent_settled"}
    write(folder / "stdout.jsonl", HEAD, start, end, HEAD, start, *([end] if whole else []))


def claude(folder: Path, *, whole: bool) -> None:
    message = {"id": "m", "model": "c", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}
    write(folder / "1.jsonl", {"type": "assistant", "uuid": "a", "sessionId": "s", "message": message})
    init, last = {"type": "system", "subtype": "init"}, {"type": "result", "subtype": "success"}
    write(folder / "stdout.jsonl", init, last, init, *([last] if whole else []))


def codex(folder: Path, *, whole: bool) -> None:
    def line(second: int, kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": at(second), "type": kind, "payload": payload}

    def turn(second: int, *, whole: bool) -> list[dict[str, Any]]:
        used = {"input_tokens": 10, "output_tokens": 1}
        end = [line(second + 2, "event_msg", type="task_complete", turn_id=f"t{second}")] if whole else []
        return [line(second, "event_msg", type="task_started", turn_id=f"t{second}"),
                line(second + 1, "token_usage_record", response_id=f"r{second}", usage=used), *end]  # fmt: skip

    write(folder / "rollout-1.jsonl", line(0, "session_meta", id="s"), *turn(1, whole=True), *turn(5, whole=whole))
    start, end = {"type": "turn.started"}, {"type": "turn.completed"}
    write(folder / "stdout.jsonl", start, end, start, *([end] if whole else []))


@pytest.mark.parametrize("whole", [True, False])
def test_the_last_start_says_how_it_ended(tmp_path: Path, whole: bool) -> None:
    for agent, write_log, read in (
        ("pi", pi, pi_log.read_trace), ("claude", claude, claude_log.read_trace), ("codex", codex, codex_log.read_trace)
    ):  # fmt: skip
        folder = tmp_path / agent
        folder.mkdir()
        write_log(folder, whole=whole)
        trace = read(folder)
        assert (agent, trace.settled) == (agent, whole)
        if agent == "codex":
            assert trace.stop == ("stop" if whole else None)
        else:
            (folder / "1.jsonl").unlink()  # the stream alone says the same
            assert (agent, read(folder).settled) == (agent, whole)


def test_what_ran_beside_is_not_the_end_and_a_helper_alone_is() -> None:
    def answer(**more: Any) -> Answer:
        return Answer(file="x", line=1, whole=True, **more)

    full = {"error": "prompt is too long", "context": True}
    beside = summarise(Trace("pi/3", [answer(), answer(side=True, **full)]))
    assert (beside.context_death, beside.error, beside.context_errors) == (False, None, 1)
    alone = summarise(Trace("pi/3", [answer(stream="helper", **full)]))
    assert (alone.context_death, alone.error) == (True, "prompt is too long")
