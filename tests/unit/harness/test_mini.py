"""mini-swe-agent's trajectories message by message: what one field of an answer, a result or a configuration says."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest

from runner.harness import mini_log
from runner.harness.summary import Summary
from runner.harness.trace import Trace

AT = 1_767_225_600


def asked(ident: str | None, command: str, **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": ident, "name": "bash", "arguments": json.dumps({"command": command}),
            **more}  # fmt: skip


def answer(*output: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One of the Responses protocol: a message of its own."""
    used = {"input_tokens": 9, "output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 2}}
    return {"object": "response", "id": "resp_1", "created_at": AT, "model": "m", "status": "completed", "usage": used,
            "output": list(output), **more}  # fmt: skip


def ended(ident: str, code: int, second: int = 3, **more: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": ident, "output": "said",
            "extra": {"returncode": code, "timestamp": AT + second}, **more}  # fmt: skip


def complaint(words: str, **extra: Any) -> dict[str, Any]:
    return {"role": "user", "content": words, "extra": {"interrupt_type": "FormatError", **extra}}


def wrote(path: Path, *messages: dict[str, Any], first: bool = False, **kwargs: Any) -> Path:
    """It ended as its file's first letter says."""
    info = {"config": {"model": {"model_name": "openai/m", "model_kwargs": kwargs}}, "exit_status": path.name[0]}
    known = "mini-swe-agent-1" if first else "mini-swe-agent-1.1"
    path.write_text(json.dumps({"trajectory_format": known, "info": info, "messages": messages}, indent=1))
    return path


def read(folder: Path, *messages: dict[str, Any]) -> tuple[Trace, Summary]:
    wrote(folder / "x.traj.json", *messages)
    return mini_log.read_trace(folder), mini_log.read_summary(folder)


def test_an_answer_without_a_time_of_its_own_was_made_when_its_server_says(tmp_path: Path) -> None:
    trace, found = read(tmp_path, answer(asked("a", "ls")), ended("a", 0))
    (call,) = trace.calls
    assert (call.at, call.ended, call.duration_ms) == ("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:03.000Z", 3000)
    assert (call.output, found.usage.reasoning, found.stop) == ("said", 2, "x")


def test_a_call_without_an_id_of_its_own_goes_by_that_of_its_item(tmp_path: Path) -> None:
    _, found = read(tmp_path, answer(asked(None, "ls", id="fc_1"), asked("b", "ls")), ended("fc_1", 1), ended("b", 0))
    assert (found.calls, found.failed_tools) == (2, 1)


@pytest.mark.parametrize(
    ("fields", "stop", "error", "context"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "max_output_tokens", None, 0),
        ({"status": "failed"}, "failed", "failed", 0),
        ({"status": "failed", "error": {"code": "server_error"}}, "failed", "server_error", 0),
        ({"status": "failed", "error": {"code": "x", "message": "prompt is too long: 9"}}, "failed",
         "prompt is too long: 9", 1),
    ],
)  # fmt: skip
def test_an_answer_says_how_it_ended(
    tmp_path: Path, fields: dict[str, Any], stop: str, error: str | None, context: int
) -> None:
    trace, found = read(tmp_path, answer(**fields))
    (one,) = trace.answers
    assert (one.stop, one.error, found.context_errors) == (stop, error, context)
    assert (found.turns, found.errors) == ((1, 0) if error is None else (0, 1))


def packed(own: str) -> str:
    return "resp_" + base64.b64encode(f"litellm:model_id:None;response_id:{own}".encode()).decode()


@pytest.mark.parametrize(
    ("logged", "own"),
    [
        *((packed(name), name) for name in ("r", "r1", "r12")),
        *((packed(name).rstrip("="), name) for name in ("r", "r1", "r12")),
        ("resp_68a1", "resp_68a1"),  # nobody packed it
        ("resp_aé!", "resp_aé!"),
        ("resp_////", "resp_////"),  # no characters
        ("", None),
    ],
)
def test_an_answers_id_is_the_servers(tmp_path: Path, logged: str, own: str | None) -> None:
    """As the gateway saw it: litellm packs it into one of its own. It stands in the file as it is packed."""
    trace, found = read(tmp_path, answer(asked("a", "ls")), answer(id=logged))
    assert found.response_ids == (("resp_1", own) if own else ("resp_1",))
    if logged.isascii() and logged:
        assert logged in (tmp_path / "x.traj.json").read_text().splitlines()[trace.answers[-1].line - 1]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Error parsing tool call arguments: x", "json"),
        ("Unknown tool 'frob'", "unknown_tool"),
        ("Missing 'command' argument in bash", "schema"),
    ],
)
def test_a_refused_answer_of_which_nothing_was_kept_is_a_turn_with_a_call(
    tmp_path: Path, words: str, kind: str
) -> None:
    _, found = read(tmp_path, complaint(words))
    assert (found.turns, found.calls, found.malformed) == (1, 1, {kind: 1})


def test_a_complaint_that_holds_an_answer_is_that_answer_whatever_it_is_called(tmp_path: Path) -> None:
    _, found = read(tmp_path, {"role": "user", "content": "no", "extra": {"response": answer(asked("a", "ls"))}})
    assert (found.turns, found.calls, found.usage.output) == (1, 1, 3)


@pytest.mark.parametrize("arguments", ['{"command": ', "[" * 200_000])
def test_arguments_that_nobody_can_read_are_malformed(tmp_path: Path, arguments: str) -> None:
    _, found = read(tmp_path, complaint("no", response=answer(asked("a", "ls", arguments=arguments))))
    assert (found.turns, found.malformed) == (1, {"json": 1})


@pytest.mark.parametrize(
    "kwargs",
    [
        {"reasoning_effort": "low"},
        {"extra_body": {"reasoning_effort": "low"}},
        {"extra_body": {"reasoning": {"effort": "low"}}},
        {"reasoning": {"effort": "low"}},
    ],
)
def test_the_effort_is_logged_wherever_it_was_put(tmp_path: Path, kwargs: dict[str, Any]) -> None:
    wrote(tmp_path / "x.traj.json", answer(), **kwargs)
    effort = mini_log.read_identity(tmp_path).logged_effort
    assert effort is not None
    assert effort.value == "low"


def test_of_several_trajectories_the_latest_says_how_it_ended(tmp_path: Path) -> None:
    strange = {"role": "oracle"}
    wrote(tmp_path / "a.traj.json", answer(created_at=AT + 60), strange)
    wrote(tmp_path / "b.traj.json", answer(), strange, strange)
    found = mini_log.read_summary(tmp_path)
    assert (found.turns, found.stop, found.unknown_lines) == (2, "a", 3)


def test_a_document_with_what_a_crash_of_the_machine_leaves_is_read(tmp_path: Path) -> None:
    path = wrote(tmp_path / "x.traj.json", answer(asked("a", "ls")), ended("a", 0))
    path.write_bytes(b"\0\0" + path.read_bytes() + b"\0")
    assert mini_log.read_summary(tmp_path).calls == 1


def test_a_persons_words_are_no_result(tmp_path: Path) -> None:
    """In the first format, where results are a user's words as well."""
    words = ["```bash\nls\n```", "please hurry", "<returncode>2</returncode>", "<returncode>3</returncode>"]
    said = [{"role": "user" if number else "assistant", "content": word} for number, word in enumerate(words)]
    wrote(tmp_path / "x.traj.json", *said, first=True)
    (call,) = mini_log.read_trace(tmp_path).calls
    assert (call.output, call.failed) == ("<returncode>2</returncode>", True)


def test_an_answer_of_fences_without_end_is_read_in_time(tmp_path: Path) -> None:
    """In the first format, where actions are cut out of the text."""
    wrote(tmp_path / "x.traj.json", {"role": "assistant", "content": "```bash\nls " * 20_000}, first=True)
    started = time.process_time()
    found = mini_log.read_summary(tmp_path)
    assert (found.turns, found.calls) == (1, 0)
    assert time.process_time() - started < 2
