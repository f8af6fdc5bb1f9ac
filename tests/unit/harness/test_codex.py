"""Codex's rollouts line by line: files in any order, forks, turns that ended and turns that began."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.harness import codex_log
from runner.harness.summary import LogError
from tests.unit.harness.test_versions import OLD, codex, counted, lines, ran

HEAD = codex("session_meta", 0, id="t")
USED = {"input_tokens": 10, "output_tokens": 1}


def begins(second: int, turn: str, kind: str = "task_started") -> dict[str, Any]:
    return codex("event_msg", second, type=kind, turn_id=turn)


def ends(second: int, turn: str, kind: str = "task_complete", **error: Any) -> dict[str, Any]:
    return codex("event_msg", second, type=kind, turn_id=turn, **({"error": error} if error else {}))


def answered(second: int, **more: Any) -> dict[str, Any]:
    return codex("token_usage_record", second, usage=USED, **more)


def test_a_rollout_that_lost_its_head_is_known_by_its_name(tmp_path: Path) -> None:
    lines(tmp_path / "named" / "rollout-1.jsonl", *OLD[1:])
    assert codex_log.read_summary(tmp_path / "named").calls == 2
    for name in ("x.jsonl", "stdout.jsonl"):
        lines(tmp_path / name / name, *(OLD[1:] if name == "x.jsonl" else OLD))
        with pytest.raises(LogError, match="left no rollout"):
            codex_log.read_summary(tmp_path / name)


def test_a_folder_that_is_called_as_a_log_is_none(tmp_path: Path) -> None:
    lines(tmp_path / "rollout-1.jsonl", *OLD)
    (tmp_path / "rollout-2.jsonl").mkdir()
    assert codex_log.read_summary(tmp_path).calls == 2


def test_older_rollouts_stand_in_the_order_of_time(tmp_path: Path) -> None:
    full = ends(12, "1", message="full", codex_error_info="context_window_exceeded")
    lines(tmp_path / "rollout-b.jsonl", *OLD, full)
    lines(tmp_path / "rollout-a.jsonl", codex("session_meta", 20, id="u"), *ran(21, "z", "ls -l"), counted(23, 70, 70))
    found = codex_log.read_summary(tmp_path)
    assert (found.turns, found.context_errors, found.context_death) == (4, 1, False)


def test_what_has_no_id_is_no_copy(tmp_path: Path) -> None:
    """Some servers name neither calls nor answers: the same command and the same count may come again."""
    for number in (1, 2):
        said = codex("response_item", 10 * number + 3, type="message", role="assistant")
        log = [*ran(10 * number, "", "ls"), answered(10 * number + 2), said, answered(10 * number + 4)]
        lines(tmp_path / f"rollout-{number}.jsonl", HEAD, *log)
    found = codex_log.read_summary(tmp_path)
    assert (found.turns, found.calls, found.usage.output) == (4, 2, 4)


@pytest.mark.parametrize(("begin", "end"), [("task_started", "task_complete"), ("turn_started", "turn_complete")])
def test_a_turn_that_began_has_no_end_yet(tmp_path: Path, begin: str, end: str) -> None:
    log = [HEAD, begins(1, "1", begin), answered(2), ends(3, "1", end, message="gone"), begins(4, "2", begin)]
    for last, stop, error in ((4, "error", "gone"), (5, None, None)):
        lines(tmp_path / "rollout-1.jsonl", *log[:last])
        trace = codex_log.read_trace(tmp_path)
        assert (trace.stop, trace.error) == (stop, error)


@pytest.mark.parametrize(
    "head",
    [
        [codex("session_meta", 20, id="u", source={"subagent": "review"}), begins(21, "2"), answered(22)],
        [codex("session_meta", 20, id="u"), begins(21, "1"), answered(22, response_id="r"), ends(23, "1")],
    ],
    ids=["helper", "fork"],
)
def test_neither_a_helper_nor_a_copy_begins_the_runs_last_turn(tmp_path: Path, head: list[dict[str, Any]]) -> None:
    lines(tmp_path / "rollout-1.jsonl", HEAD, begins(1, "1"), answered(2, response_id="r"), ends(3, "1"))
    lines(tmp_path / "rollout-2.jsonl", *head)
    assert codex_log.read_trace(tmp_path).stop == "stop"


@pytest.mark.parametrize("helper", [True, False])
@pytest.mark.parametrize("recorded", [True, False])
def test_what_looks_the_same_in_another_turn_is_no_copy(tmp_path: Path, recorded: bool, helper: bool) -> None:
    """A server that counts from 1 at every start gives the same ids, and a short task takes as much each time."""
    source = {"source": {"subagent": "review"}} if helper else {}
    call = {"type": "function_call", "name": "shell", "call_id": "call_1", "arguments": '{"cmd": "ls"}'}
    for turn in (1, 2):
        at = 10 * turn
        used = answered(at + 3, response_id="resp_1", turn_id=str(turn)) if recorded else (
            codex("event_msg", at + 3, type="token_count", info={"total_token_usage": USED})
        )  # fmt: skip
        said = codex("response_item", at + 4, type="function_call_output", call_id="call_1", output="Exit code: 0")
        meta = codex("session_meta", at, id=str(turn), **(source if turn == 2 else {}))
        lines(tmp_path / f"rollout-{turn}.jsonl", meta, begins(at + 1, str(turn)),
              codex("response_item", at + 2, **call), used, said, codex("compacted", at + 5, message=""),
              ends(at + 6, str(turn)))  # fmt: skip
    found = codex_log.read_summary(tmp_path)
    assert (found.turns, found.calls, found.compactions, found.usage.total) == (2, 2, 2, 22)


FULL = {"message": "Codex ran out of room in the model's context window."}


@pytest.mark.parametrize(
    ("rollout", "stream"),
    [
        ([codex("event_msg", 3, type="error", **FULL), ends(4, "1")], []),
        ([codex("event_msg", 3, type="error", **FULL)], []),
        ([codex("event_msg", 3, type="error", **FULL), ends(4, "1", **FULL)], []),
        ([ends(4, "1")], [{"type": "turn.started"}, {"type": "turn.failed", "error": FULL}]),
        ([ends(4, "1", **FULL)], [{"type": "turn.started"}, {"type": "turn.failed", "error": FULL}]),
    ],
    ids=["event", "killed", "both", "stream", "stream too"],
)
def test_an_end_by_an_error_is_told_once_wherever_it_stands(
    tmp_path: Path, rollout: list[dict[str, Any]], stream: list[dict[str, Any]]
) -> None:
    lines(tmp_path / "rollout-1.jsonl", HEAD, begins(1, "1"), answered(2), *rollout)
    lines(tmp_path / "stdout.jsonl", *stream)
    found = codex_log.read_summary(tmp_path)
    assert (found.stop, found.errors, found.context_death) == ("error", 1, True)


def test_an_error_after_which_it_goes_on_is_no_end(tmp_path: Path) -> None:
    error = codex("event_msg", 3, type="error", message="gone")
    said = codex("event_msg", 4, type="agent_message", message="done")
    lines(tmp_path / "rollout-1.jsonl", HEAD, begins(1, "1"), answered(2), error, said, answered(5), ends(6, "1"))
    trace = codex_log.read_trace(tmp_path)
    assert (trace.stop, trace.error, sum(answer.error is not None for answer in trace.answers)) == ("stop", None, 1)


@pytest.mark.parametrize(
    ("error", "context"),
    [
        ({"message": "prompt is too long: 9"}, True),
        ({"message": "prompt is too long: 9", "codex_error_info": "other"}, False),
        ({"message": "gone", "codex_error_info": "context_window_exceeded"}, True),
        ({"message": "gone"}, False),
    ],
)
def test_a_full_context_is_told_by_its_name_or_else_by_its_words(
    tmp_path: Path, error: dict[str, Any], context: bool
) -> None:
    lines(tmp_path / "rollout-1.jsonl", HEAD, answered(2), ends(3, "1", **error))
    found = codex_log.read_summary(tmp_path)
    assert (found.errors, found.context_death) == (1, context)


@pytest.mark.parametrize(
    ("item", "calls"),
    [
        ({"type": "local_shell_call", "id": "x", "action": {"command": ["ls"]}}, 1),
        ({"type": "gadget_call", "call_id": "x"}, 1),  # a version's new kind
        ({"type": "web_search_call", "id": "x"}, 0),  # the provider made it
    ],
)
def test_a_call_is_of_a_known_kind_or_has_a_calls_id(tmp_path: Path, item: dict[str, Any], calls: int) -> None:
    lines(tmp_path / "rollout-1.jsonl", HEAD, codex("response_item", 1, **item), answered(2))
    assert codex_log.read_summary(tmp_path).calls == calls


FAR = "words\n" * 400


@pytest.mark.parametrize(
    ("tool", "output", "failed", "malformed"),
    [
        ("shell", "Exit code: 1\nOutput:\n", 1, {}),
        ("shell", "Exit code: 0\nFailed to warm up\nOutput:\n", 0, {}),
        ("shell", "Exit code: 0\nOutput:\nFailed to run", 0, {}),
        ("shell", '{"metadata": {"exit_code": 3}, "output": "boo"}', 1, {}),
        ("shell", '{"metadata": {"exit_code": 3}, "output": "boo", "of": "a tool\'s own"}', 0, {}),
        ("shell", f"{FAR}Exit code: 1", 0, {}),  # what stands so far behind is the command's own
        ("shell", {"content": "Exit code: 0", "success": False}, 1, {}),
        ("shell", {"content": "Exit code: 1", "success": True}, 0, {}),
        ("exec", "Script failed\nScript error:\nSyntaxError: x", 0, {"json": 1}),
        ("exec", f"Script failed\n{FAR}Script error:\nSyntaxError: x", 1, {}),
        ("shell", "Script failed\nScript error:\nSyntaxError: x", 1, {}),  # a script of the contestant's
    ],
)
def test_codexs_own_words_say_how_a_command_ended(
    tmp_path: Path, tool: str, output: Any, failed: int, malformed: dict[str, int]
) -> None:
    call = codex("response_item", 1, type="function_call", name=tool, call_id="x", arguments="{}")
    said = codex("response_item", 2, type="function_call_output", call_id="x", output=output)
    lines(tmp_path / "rollout-1.jsonl", HEAD, call, said, answered(3))
    found = codex_log.read_summary(tmp_path)
    assert (found.failed_tools, found.malformed) == (failed, malformed)


@pytest.mark.parametrize("rollout", [OLD, [HEAD, answered(2)]], ids=["older", "newer"])
def test_only_what_the_stream_calls_an_error_is_a_retry(tmp_path: Path, rollout: list[dict[str, Any]]) -> None:
    lines(tmp_path / "rollout-1.jsonl", *rollout)
    words = {"message": "Reconnecting... 1/5 (stream closed)"}
    lines(tmp_path / "stdout.jsonl", {"type": "error", **words}, {"type": "note", **words})
    assert [retry.reason for retry in codex_log.read_trace(tmp_path).retries] == ["stream closed"]
