"""Logs that were torn, doubled, mixed up or made to harm: nothing of it crashes a reader or changes what it counts."""

from __future__ import annotations

import dataclasses
import json
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.harness import jsonl
from runner.harness.summary import LogError, Summary
from tests.unit.harness.test_expected import LOGS, READERS, lay

FILES = {"pi": "session.jsonl", "claude": "session.jsonl", "codex": "session.jsonl", "opencode": "db.jsonl"}
CASES = [("pi", "churn"), ("claude", "parallel"), ("codex", "tool_error"), ("opencode", "unknown_tool")]
QUICK = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def lines_of(agent: str, case: str) -> list[bytes]:
    return (LOGS / agent / f"{case}.{FILES[agent]}").read_bytes().splitlines()


def summary(folder: Path, agent: str, lines: list[bytes]) -> Summary:
    (folder / "own").mkdir(exist_ok=True)
    (folder / "own" / FILES[agent]).write_bytes(b"\n".join(lines) + b"\n")
    found: Summary = READERS[agent].read_summary(folder)
    return found


def facts(found: Summary) -> Summary:
    """Everything but the counts of lines that could not be used."""
    return dataclasses.replace(found, torn_lines=0, unknown_lines=0)


@pytest.mark.parametrize(("agent", "case"), CASES)
@QUICK
@given(data=st.data())
def test_lines_written_twice_count_once(tmp_path: Path, agent: str, case: str, data: st.DataObject) -> None:
    lines = lines_of(agent, case)
    plain = summary(tmp_path, agent, lines)
    doubled = list(lines)
    for index in data.draw(st.lists(st.integers(0, len(lines) - 1), max_size=6)):
        at = doubled.index(lines[index])
        doubled.insert(data.draw(st.integers(at, len(doubled))), lines[index])
    assert facts(summary(tmp_path, agent, doubled)) == facts(plain)


@pytest.mark.parametrize(("agent", "case"), CASES)
@QUICK
@given(data=st.data())
def test_strange_lines_change_nothing_else(tmp_path: Path, agent: str, case: str, data: st.DataObject) -> None:
    lines = lines_of(agent, case)
    plain = summary(tmp_path, agent, lines)
    strange = st.binary(min_size=1, max_size=30).map(lambda raw: b"\xff" + raw.replace(b"\n", b""))
    foreign = JSON.map(lambda value: json.dumps({"kind": value}).encode())
    mixed = list(lines)
    for extra in data.draw(st.lists(strange | foreign, max_size=5)):
        mixed.insert(data.draw(st.integers(1, len(mixed))), extra)
    found = summary(tmp_path, agent, mixed)
    assert facts(found) == facts(plain)
    assert found.torn_lines + found.unknown_lines == len(mixed) - len(lines) + plain.unknown_lines


@pytest.mark.parametrize(("agent", "case"), CASES)
@QUICK
@given(data=st.data())
def test_a_line_broken_by_another_writer_is_lost_alone(
    tmp_path: Path, agent: str, case: str, data: st.DataObject
) -> None:
    lines = lines_of(agent, case)
    victim = data.draw(st.integers(1, len(lines) - 1))
    cut = data.draw(st.integers(1, len(lines[victim]) - 1))
    broken = [*lines[:victim], lines[victim][:cut] + b'{"other', b'": 1}' + lines[victim][cut:], *lines[victim + 1 :]]
    found = summary(tmp_path, agent, broken)
    plain = summary(tmp_path, agent, lines)
    assert found.turns in (plain.turns, plain.turns - 1)
    assert found.calls <= plain.calls
    assert found.usage.total <= plain.usage.total


@pytest.mark.parametrize(("agent", "case"), CASES)
@QUICK
@given(data=st.data())
def test_a_torn_end_is_read_as_far_as_it_goes(tmp_path: Path, agent: str, case: str, data: st.DataObject) -> None:
    whole = b"\n".join(lines_of(agent, case))
    keep = data.draw(st.integers(0, len(whole)))
    plain = summary(tmp_path, agent, whole.splitlines())
    (tmp_path / "own" / FILES[agent]).write_bytes(whole[:keep])
    try:
        found: Summary = READERS[agent].read_summary(tmp_path)
    except LogError:
        return
    assert found.turns <= plain.turns
    assert found.calls <= plain.calls
    assert found.usage.total <= plain.usage.total
    assert found.torn_lines <= 1


@pytest.mark.parametrize(("agent", "case"), CASES)
@QUICK
@given(data=st.data())
def test_any_value_in_any_place_is_survived(tmp_path: Path, agent: str, case: str, data: st.DataObject) -> None:
    lines = [json.loads(line) for line in lines_of(agent, case)]
    for _ in range(4):
        spot = data.draw(st.sampled_from(lines[1:]))
        while isinstance(spot, (dict, list)) and spot:
            key = data.draw(st.sampled_from(sorted(spot))) if isinstance(spot, dict) else 0
            if not isinstance(spot[key], (dict, list)) or data.draw(st.booleans()):
                spot[key] = data.draw(JSON)
                break
            spot = spot[key]
    try:
        found = summary(tmp_path, agent, [json.dumps(line).encode() for line in lines])
    except LogError:
        return
    assert found.turns >= 0


@pytest.mark.parametrize(("agent", "case"), [*CASES, ("mini", "parallel")])
def test_deep_nesting_is_no_way_to_crash_a_reader(tmp_path: Path, agent: str, case: str) -> None:
    deep = b'{"type":"assistant","a":' + b"[" * 900 + b"]" * 900 + b"}"
    if agent == "mini":
        (tmp_path / "traj.json").write_bytes(deep)
        with pytest.raises(LogError, match="no JSON document"):
            READERS[agent].read_summary(tmp_path)
        return
    lines = lines_of(agent, case)
    assert summary(tmp_path, agent, [*lines, deep]).torn_lines == 1


def test_a_gigantic_line_is_one_torn_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "MAX_LINE_BYTES", 5_000)
    lines = lines_of("claude", "parallel")
    plain = summary(tmp_path, "claude", lines)
    huge = b'{"type": "assistant", "message": "' + b"x" * 12_000 + b'"}'
    found = summary(tmp_path, "claude", [*lines, huge, b'{"type":"last-prompt"}'])
    assert facts(found) == facts(plain)
    assert found.torn_lines == 1


@pytest.mark.parametrize("agent", ["claude", "codex", "opencode", "mini"])
@pytest.mark.parametrize(
    "content", [b"", b"not json\n", b'{"type":"hello"}\n' * 5, b'{"type":"session","version":3}\n']
)
def test_a_log_in_which_nothing_is_known_is_an_error(tmp_path: Path, agent: str, content: bytes) -> None:
    (tmp_path / ("traj.json" if agent == "mini" else "x.jsonl")).write_bytes(content)
    with pytest.raises(LogError):
        READERS[agent].read_summary(tmp_path)


def test_kinds_of_lines_that_claude_adds_are_skipped(tmp_path: Path) -> None:
    lines = lines_of("claude", "unknown_tool")
    plain = summary(tmp_path, "claude", lines)
    more = [json.dumps({"type": "future-kind", "sessionId": "s", "n": n}).encode() for n in range(200)]
    found = summary(tmp_path, "claude", more + lines)
    assert facts(found) == facts(plain)
    assert found.unknown_lines == 200


def test_another_agents_log_is_an_error(tmp_path: Path) -> None:
    for agent in ("pi", "claude", "codex", "opencode"):
        for other in ("pi", "claude", "codex"):
            if agent != other:
                folder = tmp_path / f"{agent}-{other}"
                folder.mkdir()
                with pytest.raises(LogError):
                    READERS[agent].read_summary(lay(folder, other, "happy"))


@pytest.mark.parametrize(("agent", "case"), [("mini", "parallel")])
@QUICK
@given(keep=st.integers(0, 8_000))
def test_a_document_that_was_cut_is_an_error(tmp_path: Path, agent: str, case: str, keep: int) -> None:
    whole = (LOGS / agent / f"{case}.traj.json").read_bytes()
    (tmp_path / "traj.json").write_bytes(whole[: min(keep, len(whole) - 2)])
    with pytest.raises(LogError):
        READERS[agent].read_summary(tmp_path)


def test_one_answer_of_many_calls_under_one_id_is_read_in_time(tmp_path: Path) -> None:
    """Each is asked whether it was written twice."""
    many = range(2_000)
    asked = [{"type": "tool_use", "id": "call_0", "name": "Bash", "input": {"command": f"ls {n}"}} for n in many]
    ended = [{"type": "tool_result", "tool_use_id": "call_0"} for _ in many]
    lines = [{"type": "assistant", "sessionId": "s", "message": {"id": "m", "content": asked}},
             {"type": "user", "sessionId": "s", "message": {"content": ended}}]  # fmt: skip
    (tmp_path / "1.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    started = time.process_time()
    calls = READERS["claude"].read_trace(tmp_path).calls
    assert sum(call.answered for call in calls) == len(many)
    assert time.process_time() - started < 5


@pytest.mark.parametrize("agent", ["pi", "mini", "codex", "claude"])
def test_a_log_of_many_lines_is_read_in_time(tmp_path: Path, agent: str) -> None:
    """Errors, calls and answers in an order that nobody expects: what the contestant writes may not hang the runner."""
    many = 10_000
    folder = tmp_path / "own"
    folder.mkdir()
    lines: list[dict[str, object]] = []
    if agent == "pi":
        lines = [{"type": "session", "version": 3, "id": "s"}]
        lines += [{"type": "message", "id": f"{n}", "message": {"role": "assistant", "stopReason": "error",
                   "errorMessage": "busy", "timestamp": n}} for n in range(many)]  # fmt: skip
    elif agent == "codex":
        lines = [{"type": "session_meta", "payload": {}}]
        lines += [{"type": "response_item", "payload": {"type": "function_call", "call_id": f"{n}", "name": "x",
                   "arguments": "{}"}} for n in range(many)]  # fmt: skip
        lines += [{"type": "response_item", "payload": {"type": "function_call_output", "call_id": f"{n}",
                   "output": ""}} for n in reversed(range(many))]  # fmt: skip
    elif agent == "claude":
        lines = [{"type": "assistant", "uuid": f"{n}", "parentUuid": f"{n - 1}", "isSidechain": True, "sessionId": "s",
                  "message": {"id": f"{n}", "content": []}} for n in range(many)]  # fmt: skip
    if agent == "mini":
        asked = [{"id": f"{n}", "function": {"name": "bash", "arguments": '{"command": "x"}'}} for n in range(many)]
        messages: list[dict[str, object]] = [{"role": "assistant", "tool_calls": asked}]
        messages += [
            {"role": "tool", "tool_call_id": f"{n}", "extra": {"returncode": 0}} for n in reversed(range(many))
        ]
        document = {"trajectory_format": "mini-swe-agent-1.1", "messages": messages}
        (folder / "traj.json").write_text(json.dumps(document))
    else:
        (folder / "rollout-x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    started = time.process_time()
    READERS[agent].read_summary(tmp_path)
    assert time.process_time() - started < 10
