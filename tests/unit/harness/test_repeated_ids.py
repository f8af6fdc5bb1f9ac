"""What servers and folders do that no agent foresees: ids that repeat, sub-agents that die last, files in any order."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from runner.events.segments import of_log
from runner.harness.onefile import read_file
from runner.harness.reading import summarise
from runner.harness.summary import LogError, Summary
from tests.unit.harness.test_expected import LOGS
from tests.unit.harness.test_more import MORE, READER, own


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def written(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def calls_renamed(value: Any, new: str) -> Any:
    """Tool calls' ids alone: ids of messages and entries stay. What mini-swe-agent falls back on goes with them."""
    if isinstance(value, dict):
        names = CALL_IDS | {"id"} if value.get("type") in CALL_BLOCKS else CALL_IDS
        if new == "" and value.get("type") == "function_call":
            names = names | {"id"}
        return {
            key: new if key in names and isinstance(inner, str) else calls_renamed(inner, new)
            for key, inner in value.items()
        }
    return [calls_renamed(inner, new) for inner in value] if isinstance(value, list) else value


def case_file(agent: str, case: str) -> Path | None:
    return next((path for folder in (LOGS, MORE) if (path := own(folder, agent, case)).exists()), None)


CALL_IDS = frozenset(["toolCallId", "tool_use_id", "call_id", "callID", "tool_call_id"])
CALL_BLOCKS = frozenset(["toolCall", "tool_use", "function", "CommandExecution", "FileChange"])
AGENTS = ("pi", "claude", "codex", "opencode", "mini", "mini-responses")
IDS = [(agent, case, kind) for agent in AGENTS
       for case in ("tool_error", "unknown_tool", "loop", "loop_abab", "parallel")
       for kind in ("same", "empty") if case_file(agent, case)]  # fmt: skip


def read(folder: Path, agent: str) -> Summary:
    found: Summary = READER[agent].read_summary(folder)
    return found


@pytest.mark.parametrize(("agent", "case", "kind"), IDS, ids=["-".join(one) for one in IDS])
def test_call_ids_that_repeat_lose_no_call(tmp_path: Path, agent: str, case: str, kind: str) -> None:
    """Some local servers name every call ``call_0``, or not at all."""
    source = case_file(agent, case)
    assert source is not None
    plain, renamed = tmp_path / "plain", tmp_path / "renamed"
    for folder in (plain, renamed):
        folder.mkdir()
    shutil.copy(source, plain / source.name)
    new = "call_0" if kind == "same" else ""
    if agent.startswith("mini"):
        document = calls_renamed(json.loads(source.read_text()), new)
        (renamed / source.name).write_text(json.dumps(document))
    else:
        written(renamed / source.name, [calls_renamed(line, new) for line in lines_of(source)])
    assert read(renamed, agent) == read(plain, agent)
    found, expected = (READER[agent].read_trace(folder).all_calls for folder in (renamed, plain))
    ends = [[(call.output, call.answered, call.failed) for call in calls] for calls in (found, expected)]
    assert ends[0] == ends[1]


@pytest.mark.parametrize("case", ["parallel", "tool_error"])
def test_in_pis_stream_each_call_has_its_own_end_whatever_its_id(tmp_path: Path, case: str) -> None:
    """The end of each is told twice: by the tool's event, in the order of their ends, and by the result's message."""
    lines = lines_of(LOGS / "pi" / f"{case}.stdout.jsonl")

    def ends(log: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
        calls = READER["pi"].read_trace(written(tmp_path / "stdout.jsonl", log).parent).calls
        return [(call.text, call.output, call.failed, call.ended) for call in calls]

    assert ends([calls_renamed(line, "call_0") for line in lines]) == ends(lines)
    assert all(ended for *_, ended in ends(lines))


def one_answer_id(agent: str, line: dict[str, Any]) -> dict[str, Any]:
    """Every answer has the id of the first. Claude's transcripts name the request as well, where the server does."""
    message = line.get("message")
    if agent == "claude" and isinstance(message, dict) and "id" in message:
        return {**line, "requestId": f"req-{message['id']}", "message": {**message, "id": "msg_1"}}
    if agent == "pi" and isinstance(message, dict) and "responseId" in message:
        return {**line, "message": {**message, "responseId": "chatcmpl-1"}}
    payload = line.get("payload")
    if agent == "codex" and isinstance(payload, dict) and "response_id" in payload:
        return {**line, "payload": {**payload, "response_id": "chatcmpl-1"}}
    return line


@pytest.mark.parametrize(
    ("agent", "name"),
    [("pi", "session.jsonl"), ("pi", "stdout.jsonl"), ("codex", "session.jsonl"), ("claude", "session.jsonl")],
)
def test_answers_that_share_an_id_are_all_counted(tmp_path: Path, agent: str, name: str) -> None:
    """Some local servers give every answer the same id, or draw it from a thousand."""
    lines = lines_of(LOGS / agent / f"loop.{name}")
    written(tmp_path / name, lines)
    plain = read(tmp_path, agent)
    written(tmp_path / name, [one_answer_id(agent, line) for line in lines])
    found = read(tmp_path, agent)
    assert len(found.response_ids) == 1
    assert dataclasses.replace(found, response_ids=()) == dataclasses.replace(plain, response_ids=())


def test_a_sub_agent_that_dies_last_is_not_the_end_of_the_run(tmp_path: Path) -> None:
    """Claude's sub-agents have files of their own, which are read after the main one's."""

    def sidechain(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            {**line, "isSidechain": True, "agentId": "a1", "uuid": f"a1-{n}", "sessionId": "s"}
            for n, line in enumerate(lines)
        ]

    main, sub = lines_of(LOGS / "claude" / "happy.session.jsonl"), lines_of(LOGS / "claude" / "ctx_400.session.jsonl")
    written(tmp_path / "0.jsonl", main)
    written(tmp_path / "agent-a1.jsonl", sidechain(sub))
    found = read(tmp_path, "claude")
    assert (found.context_death, found.stop, found.error, found.context_errors) == (False, "end_turn", None, 1)
    # And the other way round: the main agent dies, whatever its helpers did after it.
    written(tmp_path / "0.jsonl", sub)
    written(tmp_path / "agent-a1.jsonl", sidechain(main))
    found = read(tmp_path, "claude")
    assert (found.context_death, found.stop) == (True, "error")


@pytest.mark.parametrize("agent", ["claude", "codex", "pi"])
def test_two_sessions_in_one_folder_are_read_in_the_order_of_time(tmp_path: Path, agent: str) -> None:
    """Names of files are chance: the one that was written last says how it ended."""
    first, last = lines_of(LOGS / agent / "ctx_400.session.jsonl"), lines_of(LOGS / agent / "happy.session.jsonl")
    later = [
        {**line, **({"timestamp": "2099" + line["timestamp"][4:]} if "timestamp" in line else {})} for line in last
    ]
    names = ("rollout-b.jsonl", "rollout-a.jsonl")
    written(tmp_path / names[0], first)
    written(tmp_path / names[1], later)
    found = read(tmp_path, agent)
    assert (found.context_death, found.stop) == (False, "end_turn" if agent == "claude" else "stop")


def test_two_trajectories_in_one_folder_are_both_read(tmp_path: Path) -> None:
    shutil.copy(LOGS / "mini" / "tool_error.traj.json", tmp_path / "a.traj.json")
    shutil.copy(LOGS / "mini" / "happy.traj.json", tmp_path / "b.traj.json")
    found = read(tmp_path, "mini")
    assert (found.turns, found.calls, found.failed_tools, found.stop) == (10, 10, 3, "Submitted")


PACKED = [("pi", "session.jsonl"), ("claude", "session.jsonl"), ("codex", "session.jsonl"), ("mini", "traj.json"),
          ("pi", "stdout.jsonl"), ("claude", "stdout.jsonl")]  # fmt: skip


@pytest.mark.parametrize(("agent", "name"), PACKED)
def test_a_packed_log_reads_as_it_does_unpacked(tmp_path: Path, agent: str, name: str) -> None:
    source = LOGS / agent / f"tool_error.{name}"
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    assert dataclasses.replace(summarise(read_file(packed)), settled=False) == dataclasses.replace(
        summarise(read_file(source)), settled=False
    )
    if "stdout" not in name:
        plain = tmp_path / "plain"
        plain.mkdir()
        shutil.copy(source, plain / name)
        expected = read(plain, agent)
        shutil.rmtree(plain)
        assert read(tmp_path, agent) == expected
    packed.write_bytes(packed.read_bytes()[:-40])
    with contextlib.suppress(LogError):
        assert summarise(read_file(packed)).turns <= 6


def test_a_byte_that_is_no_character_costs_no_line(tmp_path: Path) -> None:
    raw = (LOGS / "pi" / "tool_error.session.jsonl").read_bytes()
    (tmp_path / "a.jsonl").write_bytes(raw)
    plain = read(tmp_path, "pi")
    (tmp_path / "a.jsonl").write_bytes(raw.replace(b"missing.txt", b"missing\xff\xc3.txt"))
    assert read(tmp_path, "pi") == plain
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + raw.replace(b'"session"', b'"session", "of": "\xff"', 1))
    assert read(tmp_path, "pi") == plain


def test_a_marker_that_was_written_twice_begins_no_second_attempt(tmp_path: Path) -> None:
    mark = {"type": "run_segment", "event": "start", "segment": "M01", "timestamp": "2026-01-01T00:00:00Z"}
    events = lines_of(LOGS / "pi" / "happy.stdout.jsonl")
    end = {**mark, "event": "end", "timestamp": "2026-01-01T00:10:00Z"}
    (only,) = of_log(written(tmp_path / "log.ndjson", [mark, mark, *events[:5], mark, *events[5:], end, end]))
    assert only.trace is not None
    assert summarise(only.trace).turns == 4
    assert (only.label, only.number) == ("M01", 1)
