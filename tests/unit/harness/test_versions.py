"""Older and other forms of the same agents' logs, written by hand from the agents' own documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.harness import claude_log, codex_log, mini_log, mini_rows, opencode_rows, pi_log
from runner.harness.onefile import read_file
from runner.harness.reading import summarise
from runner.harness.summary import LogError, Summary
from runner.harness.trace import Trace, loops
from tests.unit.harness.test_expected import LOGS, tokens


def lines(path: Path, *found: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in found))
    return path


def read(path: Path) -> Summary:
    return summarise(read_file(path))


# -- pi


def spoke(number: int, stop: str, *calls: tuple[str, str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    content = [{"type": "toolCall", "id": i, "name": name, "arguments": given} for i, name, given in calls]
    used = {"input": 100, "output": 10, "cacheRead": 5, "cacheWrite": 1}
    return {"role": "assistant", "content": content, "stopReason": stop, "usage": used, "model": "m",
            "provider": "p", "timestamp": 1_767_225_600_000 + number * 1000, **more}  # fmt: skip


def did(ident: str, words: str = "ok", *, bad: bool = False) -> dict[str, Any]:
    return {"role": "toolResult", "toolCallId": ident, "content": [{"type": "text", "text": words}], "isError": bad}


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}.000Z"


PI_1 = [
    {"type": "session", "id": "s", "timestamp": at(0), "cwd": "/r", "provider": "p", "modelId": "m",
     "thinkingLevel": "low"},
    {"type": "message", "timestamp": at(1), "message": {"role": "user", "content": "go", "timestamp": 1}},
    {"type": "message", "timestamp": at(2), "message": spoke(2, "toolUse", ("a", "bash", {"command": "ls"}))},
    {"type": "message", "timestamp": at(3), "message": did("a")},
    {"type": "compaction", "timestamp": at(4), "summary": "s", "firstKeptEntryIndex": 1, "tokensBefore": 9},
    {"type": "message", "timestamp": at(5), "message": spoke(5, "toolUse", ("b", "frob", {"x": 1}))},
    {"type": "message", "timestamp": at(6), "message": did("b", "Tool frob not found", bad=True)},
    {"type": "message", "timestamp": at(7), "message": spoke(7, "stop")},
]  # fmt: skip


@pytest.mark.parametrize("twice", [False, True])
def test_pis_first_version_has_no_ids(tmp_path: Path, twice: bool) -> None:
    """Lines that were written twice count once all the same: their times tell them apart."""
    log = [line for line in PI_1 for _ in range(1 + twice)]
    found = read(lines(tmp_path / "x.jsonl", *log))
    assert (found.turns, found.calls, found.malformed, found.compactions) == (3, 2, {"unknown_tool": 1}, 1)
    assert tokens(found.usage) == (300, 15, 3, 30)
    trace = read_file(tmp_path / "x.jsonl")
    assert (trace.schema, trace.effort.value if trace.effort else None) == ("pi/1", "low")


def pi_tree(version: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"type": "session", "version": version, "id": "s", "timestamp": at(0), "cwd": "/r"}]
    parent = None
    for number, line in enumerate(PI_1[1:], 1):
        found.append({**line, "id": f"e{number}", "parentId": parent})
        parent = f"e{number}"
    return found


def test_pis_second_version_reads_as_the_third(tmp_path: Path) -> None:
    two, three = (read(lines(tmp_path / f"{v}.jsonl", *pi_tree(v))) for v in (2, 3))
    assert two == three
    with pytest.raises(LogError, match="version 1 to 3"):
        read(lines(tmp_path / "4.jsonl", *pi_tree(4)))


def test_a_branch_of_pis_was_paid_for_and_a_fork_is_no_second_time(tmp_path: Path) -> None:
    whole = pi_tree(3)
    branch = {"type": "message", "id": "z", "parentId": "e4", "timestamp": at(9), "message": spoke(9, "stop")}
    lines(tmp_path / "1.jsonl", *whole, branch)
    plain = pi_log.read_summary(tmp_path)
    assert (plain.turns, plain.calls, plain.compactions) == (4, 2, 1)
    head = {**whole[0], "id": "t", "parentSession": "1.jsonl"}
    more = {"type": "message", "id": "y", "parentId": "e7", "timestamp": at(10), "message": spoke(10, "stop")}
    lines(tmp_path / "2.jsonl", head, *whole[1:], more)
    forked = pi_log.read_summary(tmp_path)
    assert (forked.turns, forked.calls, forked.compactions) == (5, 2, 1)
    assert tokens(forked.usage) == (500, 25, 5, 50)


# -- codex


def codex(kind: str, second: int, **payload: Any) -> dict[str, Any]:
    return {"timestamp": at(second), "type": kind, "payload": payload}


def counted(second: int, total: int, last: int | None) -> dict[str, Any]:
    def used(number: int) -> dict[str, int]:
        return {"input_tokens": number, "cached_input_tokens": number // 2, "output_tokens": number // 10,
                "reasoning_output_tokens": 0, "total_tokens": number + number // 10}  # fmt: skip

    info = {"total_token_usage": used(total), **({"last_token_usage": used(last)} if last else {})}
    return codex("event_msg", second, type="token_count", info=info)


def ran(second: int, ident: str, command: str, code: int = 0) -> list[dict[str, Any]]:
    said = json.dumps({"output": "words", "metadata": {"exit_code": code, "duration_seconds": 0.1}})
    asked = json.dumps({"command": ["bash", "-lc", command]})
    return [
        codex("response_item", second, type="function_call", name="shell", call_id=ident, arguments=asked),
        codex("response_item", second + 1, type="function_call_output", call_id=ident, output=said),
    ]


OLD = [
    codex("session_meta", 0, id="t", cli_version="0.46.0", timestamp=at(0)),
    codex("turn_context", 1, model="gpt-5-codex", effort="medium"),
    *ran(2, "a", "ls"),
    counted(4, 100, 100),
    counted(4, 100, 100),
    codex("event_msg", 5, type="token_count", info=None, rate_limits={"primary": None}),
    *ran(6, "b", "false", 1),
    counted(8, 300, 200),
    counted(9, 300, 200),
    codex("event_msg", 10, type="agent_message", message="done"),
    codex("response_item", 10, type="message", role="assistant", content=[]),
    counted(11, 600, 300),
]


def test_older_codex_counts_cumulatively_and_twice(tmp_path: Path) -> None:
    found = read(lines(tmp_path / "x.jsonl", *OLD))
    assert (found.turns, found.calls, found.failed_tools) == (3, 2, 1)
    assert tokens(found.usage) == (300, 300, 0, 60)


def test_totals_alone_are_taken_apart_and_may_start_anew(tmp_path: Path) -> None:
    grown = [line for line in OLD if line["payload"].get("type") != "token_count"]
    log = [*grown, counted(20, 100, None), counted(21, 300, None), counted(22, 300, None), counted(23, 40, None)]
    assert tokens(read(lines(tmp_path / "x.jsonl", *log)).usage) == (170, 170, 0, 34)


def test_the_same_total_after_a_restart_is_another_answer(tmp_path: Path) -> None:
    log = [*OLD, counted(20, 100, 100), counted(21, 100, 100)]
    assert tokens(read(lines(tmp_path / "x.jsonl", *log)).usage) == (350, 350, 0, 70)


def test_a_forked_rollout_begins_with_copies(tmp_path: Path) -> None:
    log = [*OLD, codex("compacted", 12, message="summary"), codex("event_msg", 13, type="task_complete", turn_id="1",
           error={"message": "gone", "codex_error_info": "other"})]  # fmt: skip
    lines(tmp_path / "rollout-1.jsonl", *log)
    plain = codex_log.read_summary(tmp_path)
    assert (plain.compactions, plain.errors) == (1, 1)
    later = [{**line, "timestamp": "2026-01-02T00:00:00.000Z"} for line in log]
    lines(tmp_path / "rollout-2.jsonl", *later, counted(30, 1000, 400))
    forked = codex_log.read_summary(tmp_path)
    assert (forked.turns, forked.calls, forked.compactions, forked.errors) == (4, 2, 1, 1)
    assert tokens(forked.usage) == (500, 500, 0, 100)


def test_a_sub_agents_last_call_is_none_of_the_main_agents(tmp_path: Path) -> None:
    """A call whose answer was never billed was not run; files are looked at one by one."""
    helper = [codex("session_meta", 0, id="u", source={"subagent": "review"}), *OLD[1:4], counted(4, 7, 7)]
    cut = codex("response_item", 50, type="function_call", name="shell", call_id="cut", arguments="{}")
    lines(tmp_path / "rollout-1.jsonl", *helper, cut)
    lines(tmp_path / "rollout-2.jsonl", *OLD, *(codex("event_msg", 40, type="x") for _ in range(30)), counted(41, 9, 9))
    assert codex_log.read_summary(tmp_path).calls == 2  # both agents' ids are the same here: "a" and "b"


# -- mini-swe-agent


def test_minis_first_format(tmp_path: Path) -> None:
    def said(role: str, words: str, second: int, **extra: Any) -> dict[str, Any]:
        return {"role": role, "content": words, "timestamp": 1_767_225_600.0 + second, **extra}

    def answer(words: str, second: int) -> dict[str, Any]:
        used = {"prompt_tokens": 110, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 10}}
        made = {"id": f"c{second}", "model": "m", "usage": used, "choices": [{"finish_reason": "stop"}]}
        return said("assistant", words, second, extra={"response": made})

    document = {
        "info": {"exit_status": "Submitted", "submission": "", "mini_version": "1.17.5",
                 "config": {"model": {"model_name": "openai/m", "model_kwargs": {}}}},
        "messages": [
            said("system", "You are", 0), said("user", "Do it", 0),
            answer("THOUGHT\n\n```bash\nls\n```", 1),
            said("user", "<returncode>0</returncode>\n<output>\n</output>", 2),
            answer("```bash\nls\n```", 3), said("user", "<returncode>2</returncode>\n<output>\n</output>", 4),
            answer("```bash\na\n```\n```bash\nb\n```", 5),
            said("user", "Please always provide EXACTLY ONE action in triple backticks, found 2 actions.", 6),
            answer("```bash\nsleep 99\n```", 7),
            said("user", "The last command <command>sleep 99</command> timed out", 8),
            answer("```bash\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n```", 9), said("user", "", 10),
        ],
        "trajectory_format": "mini-swe-agent-1",
    }  # fmt: skip
    path = tmp_path / "x.traj.json"
    path.write_text(json.dumps(document, indent=2))
    found = read(path)
    assert (found.turns, found.calls, found.failed_tools, found.longest_run, found.stop) == (5, 4, 2, 2, "Submitted")
    assert tokens(found.usage) == (500, 50, 0, 50)
    assert mini_log.read_summary(tmp_path) == found
    document["info"] |= {"exit_status": "ContextWindowExceededError", "submission": "litellm: too long"}
    path.write_text(json.dumps(document))
    died = read(path)
    assert (died.context_errors, died.errors, died.context_death) == (1, 1, True)


@pytest.mark.parametrize(
    "used",
    [
        {"prompt_tokens": 130, "completion_tokens": 9, "cache_read_input_tokens": 20,
         "cache_creation_input_tokens": 10, "prompt_tokens_details": None},
        {"prompt_tokens": 130, "completion_tokens": 9,
         "prompt_tokens_details": {"cached_tokens": 20, "cache_creation_tokens": 10}},
        {"input_tokens": 130, "output_tokens": 9, "input_tokens_details": {"cached_tokens": 20,
         "cache_write_tokens": 10}},
        {"prompt_tokens": "130", "completion_tokens": 9.0,
         "prompt_tokens_details": {"cached_tokens": 20.0, "cache_write_tokens": "10"}},
    ],
)  # fmt: skip
def test_the_prompt_holds_the_cache_in_whichever_words(used: dict[str, Any]) -> None:
    assert tokens(mini_rows.usage_of(used)) == (100, 20, 10, 9)


# -- opencode


def test_an_export_reads_as_the_store_it_comes_from(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (LOGS / "opencode" / "unknown_tool.db.jsonl").read_text().splitlines()]
    messages = []
    for row in (r["row"] for r in rows if r["table"] == "message"):
        parts = [r["row"] for r in rows if r["table"] == "part" and r["row"]["message_id"] == row["id"]]
        info = {**row["data"], "id": row["id"], "sessionID": row["session_id"]}
        messages.append({"info": info, "parts": [{**p["data"], "id": p["id"], "messageID": row["id"]} for p in parts]})
    session = next(r["row"] for r in rows if r["table"] == "session")
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"info": {"id": session["id"], "version": session["version"]}, "messages": messages},
                               indent=2))  # fmt: skip
    found, plain = read(path), read(LOGS / "opencode" / "unknown_tool.db.jsonl")
    assert found == plain
    assert opencode_rows.is_export({"info": {}, "messages": []}) is False


# -- Claude Code


def block(ident: str, message: str, *, side: bool = False, parent: str | None = None, second: int = 0,
          call: str | None = None, command: str = "ls", used: int = 100) -> dict[str, Any]:  # fmt: skip
    content = [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}] if call else []
    usage = {"input_tokens": used, "output_tokens": 10, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    return {"type": "assistant", "uuid": ident, "parentUuid": parent, "isSidechain": side, "sessionId": "s",
            "timestamp": at(second), "message": {"id": message, "model": "m", "content": content, "usage": usage,
                                                 "stop_reason": "tool_use" if call else "end_turn"}}  # fmt: skip


def test_two_sub_agents_without_names_are_told_apart_by_their_chains(tmp_path: Path) -> None:
    """Both list the same folder three times, in turns: no one of them ran it six times."""
    log = []
    for turn in range(3):
        for agent in ("x", "y"):
            parent = f"{agent}{turn - 1}" if turn else None
            log.append(block(f"{agent}{turn}", f"m{agent}{turn}", side=True, parent=parent, call=f"c{agent}{turn}"))
    trace: Trace = read_file(lines(tmp_path / "x.jsonl", *log))
    assert {call.stream for call in trace.calls} == {"x0", "y0"}
    assert loops(trace.calls).run == 3
    alone = read_file(lines(tmp_path / "y.jsonl", *(line for line in log if line["uuid"].startswith("x"))))
    assert loops(alone.calls) == loops(trace.calls)


def test_a_resumed_session_that_copies_its_past_counts_it_once(tmp_path: Path) -> None:
    first = [block("a", "m1", call="c1"), block("b", "m1", call="c2"), block("c", "m2", second=3)]
    lines(tmp_path / "1.jsonl", *first)
    again = [{**line, "sessionId": "t"} for line in first]
    lines(tmp_path / "2.jsonl", *again, block("d", "m3", second=9))
    found = claude_log.read_summary(tmp_path)
    assert (found.turns, found.calls) == (3, 2)
    assert tokens(found.usage) == (300, 0, 0, 30)


def test_two_starts_of_claude_in_one_log_have_two_last_words(tmp_path: Path) -> None:
    def result(number: int) -> dict[str, Any]:
        used = {"input_tokens": 100 * number, "output_tokens": 10, "cache_read_input_tokens": 1}
        return {"type": "result", "uuid": f"r{number}", "session_id": "s", "is_error": False, "num_turns": number,
                "duration_ms": 1000 * number, "total_cost_usd": 0.5 * number, "usage": used,
                "stop_reason": "end_turn"}  # fmt: skip

    log = [result(1), result(1), result(2)]
    trace = read_file(lines(tmp_path / "x.jsonl", *log))
    assert tokens(summarise(trace).usage) == (300, 2, 0, 20)
    assert (trace.cost_usd, trace.duration_ms, trace.turns) == (1.5, 3000.0, 3)


# -- versions to come


@pytest.mark.parametrize(
    "log",
    [
        [{"type": "user", "sessionId": "s", "message": {"content": "go"}},
         {"type": "model-turn", "sessionId": "s", "turn": {"text": "hm"}}],
        [{"type": "session", "version": 3, "id": "s"}, {"type": "model_change", "provider": "p"},
         {"type": "message", "message": {"role": "user"}}, {"type": "turn", "answer": {}}],
        [codex("session_meta", 0, id="t"), codex("turn_context", 1), codex("answer_item", 2, text="hm")],
    ],
)  # fmt: skip
def test_a_log_in_which_the_answers_have_another_name_is_no_clean_one(
    tmp_path: Path, log: list[dict[str, Any]]
) -> None:
    with pytest.raises(LogError, match="no answer and no call, and 1 lines are of unknown kinds"):
        read(lines(tmp_path / "x.jsonl", *log))


def test_a_new_kind_of_call_of_codex_is_a_call(tmp_path: Path) -> None:
    log = [codex("session_meta", 0, id="t"),
           codex("response_item", 1, type="gadget_call", name="gadget", call_id="g", arguments="{}"),
           codex("response_item", 2, type="gadget_call_output", call_id="g", output="ok"),
           counted(3, 10, 10)]  # fmt: skip
    found = read(lines(tmp_path / "x.jsonl", *log))
    assert (found.turns, found.calls, found.failed_tools) == (1, 1, 0)


def test_sessions_of_claude_that_know_nothing_of_each_other_have_totals_of_their_own(tmp_path: Path) -> None:
    """One that goes on in a file of its own (a fork) has those of its past in its totals."""

    def totals(session: str, began: int, used: int) -> dict[str, Any]:
        model = {"inputTokens": used, "outputTokens": 10, "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0}
        return {"type": "cost-state", "sessionId": session, "startTime": began, "totalCostUSD": used / 1000,
                "modelUsage": {"m": model}}  # fmt: skip

    lines(tmp_path / "1.jsonl", block("a", "m1"), totals("s", 1, 150))
    lines(tmp_path / "2.jsonl", block("b", "m2", second=1), totals("t", 2, 130))
    lines(tmp_path / "3.jsonl", block("b", "m2", second=1), block("c", "m3", second=2), totals("u", 2, 270))
    trace = claude_log.read_trace(tmp_path)
    assert trace.side_usage is not None
    assert (trace.side_usage.uncached_input, trace.cost_usd) == (120, 0.42)
