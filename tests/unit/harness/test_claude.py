"""Claude Code's lines one by one: written twice, without a start, with a cache that is told by its times alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.harness import claude_log
from tests.unit.harness.test_versions import block, lines


@pytest.mark.parametrize("named", [True, False])
def test_a_line_that_was_written_twice_holds_no_second_call(tmp_path: Path, named: bool) -> None:
    """Not every line has an id of its own: its answer's and its call's tell it as well."""
    line = block("a", "m1", call="c1")
    again = [line if named else {key: value for key, value in line.items() if key != "uuid"}] * 2
    lines(tmp_path / "1.jsonl", *again, block("b", "m2", call="c1"))
    found = claude_log.read_summary(tmp_path)
    assert (found.turns, found.calls) == (2, 2)


@pytest.mark.parametrize(("copied", "turns"), [(True, 2), (False, 4)])
def test_two_starts_may_name_their_answers_alike_and_one_that_goes_on_copies_them(
    tmp_path: Path, copied: bool, turns: int
) -> None:
    """A local server names no request; a copy has its time and its words, under ids of its own."""

    def start(day: int, session: str) -> list[dict[str, Any]]:
        said = [block(f"{session}{n}", f"msg_{n}", call="call_0") for n in (1, 2)]
        return [{**line, "sessionId": session, "timestamp": f"2026-11-{day}T10:00:00Z"} for line in said]

    lines(tmp_path / "1.jsonl", *start(28, "s"))
    lines(tmp_path / "2.jsonl", *start(28 if copied else 29, "t"))
    found = claude_log.read_summary(tmp_path)
    assert (found.turns, found.calls, found.usage.output) == (
        turns,
        turns,
        turns * block("a", "m1")["message"]["usage"]["output_tokens"],
    )


@pytest.mark.parametrize(
    ("requests", "turns"),
    [(["r", None], 1), ([None, "r"], 1), ([None, "r", None], 1), (["r", "q", None], 3), ([None, None], 1)],
)
def test_an_answers_line_that_lacks_its_requests_id_is_of_the_answer_that_has_it(
    tmp_path: Path, requests: list[str | None], turns: int
) -> None:
    """Where only one request got an answer of that id."""
    said = [block(f"u{n}", "m1", call=f"c{n}", second=n) for n in range(len(requests))]
    log = [line | ({"requestId": name} if name else {}) for line, name in zip(said, requests, strict=True)]
    lines(tmp_path / "1.jsonl", *log, {**block("x", "m2"), "requestId": "s"})
    found = claude_log.read_summary(tmp_path)
    assert (found.turns, found.calls, found.usage.output) == (turns + 1, len(requests), 10 * (turns + 1))


@pytest.mark.parametrize("whose", [{"isSidechain": True}, {"agentId": "a1"}, {"querySource": "agent:builtin:Explore"}])
def test_a_helpers_effort_is_not_the_runs(tmp_path: Path, whose: dict[str, Any]) -> None:
    def request(effort: str, **more: Any) -> dict[str, Any]:
        return {"type": "api-request", "sessionId": "s", "params": {"output_config": {"effort": effort}}, **more}

    helper = {"isSidechain": True, **whose} if "agentId" in whose else whose
    lines(tmp_path / "1.jsonl", request("high", querySource="sdk"), block("a", "m1"), request("low", **helper))
    effort = claude_log.read_trace(tmp_path).effort
    assert effort is not None
    assert effort.value == "high"


def test_what_was_written_to_the_cache_may_be_told_by_its_times_alone(tmp_path: Path) -> None:
    line = block("a", "m1")
    line["message"]["usage"] = {"cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4}}
    lines(tmp_path / "1.jsonl", line)
    used = claude_log.read_summary(tmp_path).usage
    assert (used.cache_write, used.cache_write_1h) == (7, 4)


def test_totals_without_a_start_are_their_sessions(tmp_path: Path) -> None:
    """The last of each session hold those before."""

    def totals(session: str, cost: float) -> dict[str, Any]:
        return {"type": "cost-state", "sessionId": session, "totalCostUSD": cost, "modelUsage": {}}

    lines(tmp_path / "1.jsonl", block("a", "m1"), totals("s", 0.25), totals("s", 0.5), totals("t", 1.0))
    assert claude_log.read_trace(tmp_path).cost_usd == 1.5


def test_a_result_is_for_the_last_answer_that_used_its_id(tmp_path: Path) -> None:
    """The first one's call never ended: it was cut."""
    said = {"type": "tool_result", "tool_use_id": "call_0", "is_error": True, "content": "no"}
    result = {"type": "user", "uuid": "c", "sessionId": "s", "message": {"content": [said]}}
    lines(tmp_path / "1.jsonl", block("a", "m1", call="call_0"), block("b", "m2", call="call_0"), result)
    assert [call.failed for call in claude_log.read_trace(tmp_path).calls] == [False, True]


def test_a_request_that_is_asked_again_is_no_end(tmp_path: Path) -> None:
    again = {"type": "system", "subtype": "api_error", "uuid": "b", "sessionId": "s", "error": {"message": "busy"}}
    lines(tmp_path / "1.jsonl", block("a", "m1"), again)
    found = claude_log.read_summary(tmp_path)
    assert (found.stop, found.error, found.retries) == ("end_turn", "busy", 1)


@pytest.mark.parametrize(
    "words", [{"terminal_reason": "prompt_too_long", "result": "no"}, {"result": "Prompt is too long"}]
)
@pytest.mark.parametrize("told", [True, False])
def test_a_stream_that_lost_all_but_its_last_word_knows_that_the_context_was_full(
    tmp_path: Path, words: dict[str, Any], told: bool
) -> None:
    said = {"id": "x", "model": "<synthetic>", "content": [{"type": "text", "text": "Prompt is too long"}]}
    spoken = {"type": "assistant", "session_id": "s", "message": said, "error": "invalid_request"}
    last = {"type": "result", "session_id": "s", "subtype": "success", "is_error": True, **words}
    lines(tmp_path / "stdout.jsonl", *([spoken] if told else []), last)
    found = claude_log.read_summary(tmp_path)
    assert (found.stop, found.errors, found.context_errors, found.context_death) == ("error", 1, 1, True)


def test_an_answer_before_an_error_was_cut_where_no_log_says_how_answers_end(tmp_path: Path) -> None:
    first, second = block("a", "m1", call="c1"), block("c", "m2")
    del first["message"]["stop_reason"], second["message"]["stop_reason"]
    again = {"type": "system", "subtype": "api_error", "uuid": "b", "sessionId": "s", "error": {"message": "busy"}}
    lines(tmp_path / "1.jsonl", first, again, second)
    found = claude_log.read_summary(tmp_path)
    assert (found.turns, found.calls, found.errors) == (1, 0, 1)


@pytest.mark.parametrize(
    ("fields", "stream"),
    [
        ({}, ""),
        ({"isSidechain": True, "agentId": "a1"}, "a1"),
        ({"isSidechain": True}, "x"),
        ({"parent_tool_use_id": "toolu_1"}, "toolu_1"),
        ({"agent": "worker"}, "worker"),
        ({"agent": "worker", "agentRun": 2}, "worker#2"),
    ],
)
def test_a_line_says_which_helper_it_is_of(tmp_path: Path, fields: dict[str, Any], stream: str) -> None:
    line = block("x", "m1", call="c1")
    line["message"]["usage"] = {"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}}
    lines(tmp_path / "1.jsonl", {**line, **fields})
    trace = claude_log.read_trace(tmp_path)
    assert [call.stream for call in trace.calls] == [stream]
    assert [answer.usage.reasoning for answer in trace.answers if answer.usage] == [4]
