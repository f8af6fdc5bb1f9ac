"""How a run ended, by what its log says last: copies say nothing new, and the last word may stand in many places."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.harness import claude_log, codex_log, mini_log, opencode_log, pi_log
from tests.unit.harness.test_codex import FULL, HEAD, answered, begins, ends
from tests.unit.harness.test_mini import answer, asked, ended, wrote
from tests.unit.harness.test_opencode import row, said
from tests.unit.harness.test_versions import block, codex, lines, ran

# -- Codex


def turn(second: int, name: str, *last: dict[str, Any]) -> list[dict[str, Any]]:
    said = codex("event_msg", second + 3, type="agent_message", message="so")
    return [begins(second, name), *ran(second + 1, f"call-{name}", "ls"), said,
            answered(second + 3, response_id=f"r-{name}"), *last]  # fmt: skip


def again(second: int, log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As a fork has it: under new times."""
    return [{**line, "timestamp": f"2026-01-01T00:00:{second:02}.000Z"} for line in log]


@pytest.mark.parametrize(
    "last",
    [
        [codex("event_msg", 9, type="error", **FULL)],
        [codex("event_msg", 9, type="error", **FULL), ends(9, "1")],
        [ends(9, "1", **FULL)],
    ],
)
def test_a_fork_that_only_holds_copies_ends_as_what_it_was_forked_from(
    tmp_path: Path, last: list[dict[str, Any]]
) -> None:
    log = turn(1, "1", *last)
    lines(tmp_path / "rollout-1.jsonl", HEAD, *log)
    lines(tmp_path / "rollout-2.jsonl", codex("session_meta", 20, id="u"), *again(21, log))
    found = codex_log.read_summary(tmp_path)
    assert (found.stop, found.turns, found.calls, found.errors, found.context_death) == ("error", 1, 1, 1, True)


def test_a_fork_that_goes_on_ends_as_it_does(tmp_path: Path) -> None:
    log = turn(1, "1", ends(9, "1", **FULL))
    lines(tmp_path / "rollout-1.jsonl", HEAD, *log)
    lines(
        tmp_path / "rollout-2.jsonl", codex("session_meta", 20, id="u"), *again(21, log), *turn(30, "2", ends(39, "2"))
    )
    found = codex_log.read_summary(tmp_path)
    assert (found.stop, found.turns, found.calls, found.errors, found.context_death) == ("stop", 2, 2, 1, False)


def test_what_a_fork_says_first_is_a_turn_of_the_work(tmp_path: Path) -> None:
    """And an answer in it that says nothing is none, whatever the copies before it said."""
    log = turn(1, "1", ends(9, "1"))
    lines(tmp_path / "rollout-1.jsonl", HEAD, *log)
    quiet = [begins(30, "2"), answered(31, response_id="r-2"), codex("compacted", 32, message="")]
    lines(tmp_path / "rollout-2.jsonl", codex("session_meta", 20, id="u"), *again(21, log), *quiet)
    assert [item.side for item in codex_log.read_trace(tmp_path).answers] == [False, True]


@pytest.mark.parametrize(
    ("more", "stop", "errors"),
    [
        ([], "error", 1),
        ([{"type": "turn.failed", "error": FULL}], "error", 1),
        ([{"type": "item.completed", "item": {}}], None, 0),
        ([{"type": "item.completed", "item": {}}, {"type": "turn.completed"}], None, 0),
        ([{"type": "turn.completed"}], None, 0),
        ([{"type": "turn.started"}], None, 0),
    ],
)
def test_a_stream_that_stops_at_an_error_ended_by_it(
    tmp_path: Path, more: list[dict[str, Any]], stop: str | None, errors: int
) -> None:
    lines(tmp_path / "rollout-1.jsonl", HEAD, *turn(1, "1"))
    lines(tmp_path / "stdout.jsonl", {"type": "turn.started"}, {"type": "error", **FULL}, *more)
    found = codex_log.read_summary(tmp_path)
    assert (found.stop, found.errors, found.context_death, found.retries) == (stop, errors, errors == 1, 0)


def test_an_output_is_for_the_call_of_its_own_turn(tmp_path: Path) -> None:
    """A server that counts from 1 at every start; the first start was ended before its call was answered."""
    call, output = ran(5, "call_1", "ls", 1)
    lines(tmp_path / "rollout-1.jsonl", HEAD, begins(1, "1"), call, answered(6, response_id="a"))
    lines(tmp_path / "rollout-2.jsonl", codex("session_meta", 20, id="u"), begins(21, "2"),
          *again(22, [call, output]), answered(23, response_id="b"))  # fmt: skip
    calls = codex_log.read_trace(tmp_path).calls
    assert [(call.file, call.answered, call.failed) for call in calls] == [
        ("rollout-1.jsonl", False, False), ("rollout-2.jsonl", True, True)
    ]  # fmt: skip


@pytest.mark.parametrize(("anew", "stop"), [([], "stop"), ([{"type": "thread.started"}], "error"),
                                            ([{"type": "turn.started"}], "error")])  # fmt: skip
def test_an_error_after_the_last_turn_ends_none(tmp_path: Path, anew: list[dict[str, Any]], stop: str) -> None:
    """Something went wrong while it shut down: unless it had begun anew."""
    lines(tmp_path / "rollout-1.jsonl", HEAD, *turn(1, "1", ends(9, "1")))
    lines(tmp_path / "stdout.jsonl", {"type": "turn.started"}, {"type": "turn.completed"}, *anew,
          {"type": "error", "message": "no such server"})  # fmt: skip
    found = codex_log.read_summary(tmp_path)
    assert (found.stop, found.errors) == (stop, int(stop == "error"))


@pytest.mark.parametrize("between", [[], [{"type": "turn.started"}]])
def test_a_stream_that_fails_twice_fails_as_it_did_last(tmp_path: Path, between: list[dict[str, Any]]) -> None:
    failed = [{"type": "turn.failed", "error": {"message": "gone"}}, *between, {"type": "turn.failed", "error": FULL}]
    lines(tmp_path / "rollout-1.jsonl", HEAD, *turn(1, "1"))
    lines(tmp_path / "stdout.jsonl", {"type": "turn.started"}, *failed)
    found = codex_log.read_summary(tmp_path)
    assert (found.stop, found.errors, found.context_death, found.settled) == ("error", 1, True, False)


# -- Claude Code


def last_word(**more: Any) -> dict[str, Any]:
    return {"type": "result", "session_id": "s", **more}


@pytest.mark.parametrize(
    ("word", "error", "context"),
    [
        ({"subtype": "error_during_execution", "is_error": True, "errors": ["Prompt is too long"]},
         "Prompt is too long", True),
        ({"subtype": "error_during_execution", "errors": ["gone", "Prompt is too long"]},
         "gone; Prompt is too long", True),
        ({"subtype": "success", "terminal_reason": "prompt_too_long", "result": "Prompt is too long"},
         "Prompt is too long", True),
        ({"subtype": "error_during_execution", "is_error": True, "errors": ["Prompt is too long", "gone"]},
         "Prompt is too long; gone", False),
        ({"subtype": "error_during_execution", "is_error": True, "errors": ["x" * 2000, "Prompt is too long", None]},
         "x" * 300, True),
        ({"subtype": "error_during_execution", "is_error": True, "errors": ["no input", "exceeded a limit of tokens"]},
         "no input; exceeded a limit of tokens", False),
        ({"subtype": "error_during_execution", "is_error": True, "errors": [7, None]}, None, False),
        ({"subtype": "error_during_execution", "is_error": True, "result": "gone", "errors": []}, "gone", False),
    ],
)  # fmt: skip
def test_claudes_last_word_is_an_error_however_it_says_so(
    tmp_path: Path, word: dict[str, Any], error: str | None, context: bool
) -> None:
    lines(tmp_path / "stdout.jsonl", last_word(**word))
    found = claude_log.read_summary(tmp_path)
    assert (found.stop, found.error, found.context_death) == ("error", error, context)


@pytest.mark.parametrize("word", [
    {"subtype": "success", "is_error": False, "stop_reason": "end_turn", "result": "The prompt is too long, I said."},
    {"subtype": "error_max_turns", "is_error": False, "stop_reason": "end_turn"},
])  # fmt: skip
def test_claudes_words_about_a_full_context_are_none(tmp_path: Path, word: dict[str, Any]) -> None:
    lines(tmp_path / "stdout.jsonl", last_word(**word))
    found = claude_log.read_summary(tmp_path)
    assert (found.stop, found.error, found.context_errors, found.context_death) == ("end_turn", None, 0, False)


def test_what_a_session_that_goes_on_copies_happened_once(tmp_path: Path) -> None:
    """A compaction and a retry as well as an answer: under ids of its own, at the same time."""

    def session(name: str, *more: dict[str, Any]) -> list[dict[str, Any]]:
        log = [
            block("a", "m1", call="c1"),
            {"type": "user", "uuid": "u", "timestamp": "2026-01-01T00:00:01.000Z",
             "message": {"content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]}},
            {"type": "system", "subtype": "api_error", "uuid": "b", "timestamp": "2026-01-01T00:00:02.000Z",
             "retryAttempt": 1, "error": {"message": "busy"}},
            {"type": "system", "subtype": "compact_boundary", "uuid": "c", "timestamp": "2026-01-01T00:00:03.000Z",
             "compactMetadata": {"trigger": "auto"}},
            *more,
        ]  # fmt: skip
        return [{**line, "uuid": f"{name}-{line['uuid']}", "parentUuid": name, "sessionId": name} for line in log]

    second = {"type": "system", "subtype": "api_error", "uuid": "d", "timestamp": "2026-01-01T00:00:02.000Z",
              "retryAttempt": 2, "error": {"message": "busy"}}  # fmt: skip
    lines(tmp_path / "1.jsonl", *session("s"))
    lines(tmp_path / "2.jsonl", *session("t", second))
    found = claude_log.read_summary(tmp_path)
    assert (found.turns, found.calls, found.retries, found.errors, found.compactions) == (1, 1, 2, 2, 1)


@pytest.mark.parametrize("told", [True, False])
def test_claudes_last_word_may_be_that_an_answer_filled_the_window(tmp_path: Path, told: bool) -> None:
    """On the stream an answer's own line has no reason to stop."""
    said = {"id": "m", "model": "x", "content": [], "stop_reason": "model_context_window_exceeded" if told else None}
    word = last_word(subtype="success", is_error=False, stop_reason="model_context_window_exceeded", result="so")
    lines(tmp_path / "stdout.jsonl", {"type": "assistant", "session_id": "s", "message": said}, word)
    found = claude_log.read_summary(tmp_path)
    assert (found.turns, found.stop, found.errors) == (1, "model_context_window_exceeded", 0)
    assert (found.context_errors, found.context_death) == (1, True)


# -- a run that was ended before its first answer


def test_claude_names_the_model_that_it_asked(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"type": "api-request", "sessionId": "s", "querySource": "sdk", "params": {"model": "m"}}
    title = {**asked, "querySource": "generate_session_title", "params": {"model": "small"}}
    for log in ([title, asked], [asked, title]):
        lines(tmp_path / "1.jsonl", *log, {"type": "user", "sessionId": "s", "message": {"content": "go"}})
        model = claude_log.read_identity(tmp_path).logged_model
        assert model is not None
        assert (model.value, model.line) == ("m", log.index(asked) + 1)
    lines(tmp_path / "1.jsonl", title, asked, {**block("a", "m1"), "message": {"id": "m1", "model": "served"}})
    model = claude_log.read_identity(tmp_path).logged_model
    assert model is not None
    assert model.value == "served"


@pytest.mark.parametrize("where", ["session", "message"])
def test_opencode_names_the_model_that_was_chosen(tmp_path: Path, where: str) -> None:
    chosen = {"id": "m", "providerID": "p"} if where == "session" else None
    user = {
        "role": "user",
        "time": {"created": 1},
        **({"model": {"modelID": "m", "providerID": "p"}} if not chosen else {}),
    }
    log = [row("session", "s", model=chosen), row("session", "h", parent_id="s", model={"id": "x", "providerID": "x"}),
           row("message", "u", user, session_id="s")]  # fmt: skip
    for more, model in (([], ("m", "p")), ([said("a", at=2, finish="stop", modelID="n", providerID="q")], ("n", "q"))):
        lines(tmp_path / "1.jsonl", *log, *more)
        found = opencode_log.read_identity(tmp_path)
        assert found.logged_model is not None
        assert found.logged_provider is not None
        assert (found.logged_model.value, found.logged_provider.value) == model


# -- pi


@pytest.mark.parametrize("spoke", [True, False])
def test_of_two_models_chosen_before_any_answer_the_later_is_the_runs(tmp_path: Path, spoke: bool) -> None:
    """Its own default first, then the one that was asked for."""
    change = [{"type": "model_change", "id": i, "provider": i, "modelId": i} for i in ("a", "b")]
    said = {"type": "message", "id": "m", "message": {"role": "assistant", "model": "c", "content": []}}
    log = [*change, {"type": "message", "id": "u", "message": {"role": "user", "content": "go"}}]
    lines(tmp_path / "s.jsonl", {"type": "session", "version": 3, "id": "s"}, *log, *([said] if spoke else []))
    found = pi_log.read_identity(tmp_path)
    assert found.logged_model is not None
    assert found.logged_provider is not None
    assert (found.logged_model.value, found.logged_provider.value) == ("c" if spoke else "b", "b")


def test_a_model_that_is_chosen_after_the_last_answer_has_not_run(tmp_path: Path) -> None:
    said = {"type": "message", "id": "m", "message": {"role": "assistant", "model": "a", "content": []}}
    change = {"type": "model_change", "id": "x", "provider": "b", "modelId": "b"}
    lines(tmp_path / "s.jsonl", {"type": "session", "version": 3, "id": "s"}, said, change)
    found = pi_log.read_identity(tmp_path)
    assert found.logged_model is not None
    assert found.logged_model.value == "a"


# -- mini-swe-agent


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("status", "errors", "context"),
    [("ContextWindowExceededError", 1, True), ("RateLimitError", 1, False), ("Submitted", 0, False),
     ("LimitsExceeded", 0, False), (None, 0, False)],
)  # fmt: skip
def test_minis_end_is_told_by_its_head_where_its_last_message_is_missing(
    tmp_path: Path, status: str | None, errors: int, context: bool, first: bool
) -> None:
    path = wrote(tmp_path / "x.traj.json", answer(asked("a", "ls")), ended("a", 0), first=first)
    document = json.loads(path.read_text())
    document["info"]["exit_status"] = status
    for last in ([], [{"role": "exit", "content": "", "extra": {"exit_status": status, "exception_str": "full"}}]):
        path.write_text(json.dumps({**document, "messages": [*document["messages"], *(last if errors else [])]}))
        found = mini_log.read_summary(tmp_path)
        assert (found.stop, found.errors, found.context_death) == (status, errors, context)


@pytest.mark.parametrize("before", [b"\0\0", b"\0\0\xef\xbb\xbf", b"\xef\xbb\xbf", b""])
@pytest.mark.parametrize("after", [b"\0", b"\0\0\n", b"\n\0\0", b" \0\r\n\0", b""])
def test_a_document_between_what_a_crash_leaves_is_read_line_by_line(
    tmp_path: Path, before: bytes, after: bytes
) -> None:
    path = wrote(tmp_path / "x.traj.json", answer(asked("a", "ls")), ended("a", 0))
    plain = mini_log.read_trace(tmp_path)
    path.write_bytes(before + path.read_bytes() + after)
    trace = mini_log.read_trace(tmp_path)
    assert [(step.line, step.file) for step in trace.steps] == [(step.line, step.file) for step in plain.steps]
