"""What a command prints is the command's: it makes no input malformed and no success a failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.gateway.overflow import overflows
from runner.gateway.wire import is_context_error
from runner.harness.onefile import read_file
from runner.harness.reading import summarise
from tests.unit.harness.test_versions import at, block, codex, did, lines, spoke

PRINTED = [
    "TypeError: x is not a function",
    "InputValidationError: something of the program's own, as JSON",
    "No such tool available",
    "unsupported call: it",
    "unknown tool: it",
    "Script error:\nSyntaxError: Unexpected token",
    "Validation failed for tool",
    "Tool hammer not found\n\nCommand exited with code 1",
    "did not match the expected schema",
]


def codex_new(words: str, code: int) -> list[dict[str, Any]]:
    said = f"Chunk ID: a\nWall time: 0.1 seconds\nProcess exited with code {code}\nOutput:\n{words}"
    return [
        codex("session_meta", 0, id="t"),
        codex("response_item", 1, type="function_call", name="exec_command", call_id="c", arguments='{"cmd": "x"}'),
        codex("response_item", 2, type="function_call_output", call_id="c", output=said),
    ]


def codex_old(words: str, code: int) -> list[dict[str, Any]]:
    head, call, output = codex_new(words, code)
    output["payload"]["output"] = json.dumps({"output": words, "metadata": {"exit_code": code}})
    call["payload"]["name"] = "shell"
    return [head, call, output]


def codex_script(words: str, code: int) -> list[dict[str, Any]]:
    """A script is whole whatever its commands did."""
    output = [{"type": "input_text", "text": "Script completed\nWall time 0.1 seconds\nOutput:\n"},
              {"type": "input_text", "text": words}]  # fmt: skip
    ran = {"type": "CommandExecution", "id": "n", "command": "x", "exit_code": code, "aggregated_output": words}
    return [
        codex("session_meta", 0, id="t"),
        codex("response_item", 1, type="custom_tool_call", name="exec", call_id="c", input="tools.exec_command()"),
        codex("event_msg", 2, type="item_completed", item=ran),
        codex("response_item", 3, type="custom_tool_call_output", call_id="c", output=output),
    ]  # fmt: skip


def claude(words: str, code: int) -> list[dict[str, Any]]:
    said = f"Exit code {code}\n{words}" if code else words
    result = {"type": "tool_result", "tool_use_id": "c", "is_error": bool(code), "content": said}
    return [
        block("a", "m", call="c"),
        {"type": "user", "uuid": "u", "sessionId": "s", "timestamp": at(2), "message": {"content": [result]}},
    ]


def pi(words: str, code: int) -> list[dict[str, Any]]:
    said = f"{words}\n\nCommand exited with code {code}" if code else words
    return [
        {"type": "session", "version": 3, "id": "s"},
        {"type": "message", "id": "1", "message": spoke(1, "toolUse", ("c", "bash", {"command": "x"}))},
        {"type": "message", "id": "2", "message": did("c", said, bad=bool(code))},
    ]


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize("write", [codex_new, codex_old, codex_script, claude, pi])
def test_printed_words_change_nothing(tmp_path: Path, write: Any, code: int) -> None:
    for words in PRINTED:
        if write is pi and code and words.startswith("Validation failed"):
            continue  # pi's own sentence, at its own place: nothing tells them apart
        if write is codex_old and words.startswith(("unsupported", "unknown")):
            continue  # as above
        found = summarise(read_file(lines(tmp_path / "x.jsonl", *write(words, code))))
        assert (words, found.calls, found.malformed, found.failed_tools) == (words, 1, {}, code)


def test_lines_of_an_output_that_sound_like_failure_are_none(tmp_path: Path) -> None:
    for words in ("Failed to fetch, trying again\nok", "aborted 0 jobs\nfine", "Exit code: 1 of the inner program"):
        for write in (codex_new, codex_old, codex_script):
            assert summarise(read_file(lines(tmp_path / "x.jsonl", *write(words, 0)))).failed_tools == 0


def test_a_tool_that_a_script_asks_for_in_vain_is_unknown(tmp_path: Path) -> None:
    log = codex_script("", 0)
    for words, kind in (
        ("Script error:\nTypeError: tools.frobnicate is not a function", {"unknown_tool": 1}),
        ("Script error:\nSyntaxError: Unexpected token", {"json": 1}),
        ("Script error:\nTypeError: mine is not a function", {}),
    ):
        log[-1]["payload"]["output"] = [{"type": "input_text", "text": "Script failed\nWall time\nOutput:\n"},
                                        {"type": "input_text", "text": words}]  # fmt: skip
        found = summarise(read_file(lines(tmp_path / "x.jsonl", *log)))
        assert (found.malformed, found.failed_tools) == (kind, 0 if kind else 1)


@pytest.mark.parametrize(
    ("words", "context"),
    [
        ("Your input exceeds the context window of this model.", True),
        ("prompt is too long: 210000 tokens > 200000 maximum", True),
        ("This model's maximum context length is 128000 tokens.", True),
        ("the request exceeds the available context size", True),
        ("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000", True),
        ("This model's maximum prompt length is 131072 but the request contains 537812 tokens", True),
        ("Input is too long for requested model.", True),
        ("prompt token count of 135000 exceeds the limit of 128000", True),
        ("Your request exceeded model token limit: 262144 (requested: 300000)", True),
        ("Prompt exceeds max length", True),
        ("Range of input length should be [1, 30720]", True),
        ("Input length (265330) exceeds model's maximum context length (262144).", True),
        ("Please reduce the length of the messages or completion.", True),
        ("litellm.ContextWindowExceededError: too much", True),
        ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens", True),
        ("context_length_exceeded", True),
        ("the context window is full", True),
        ("out of context-size", True),
        ("ContextOverflowError", True),
        ("context limit reached", True),
        ("the maximum context is 8192", True),
        ("max input length: 8192", True),
        ("prompt too long", True),
        ("input too long", True),
        ("request_too_large", True),
        ("the input token count (9000) is above 8192", True),
        ("too many tokens in the messages", True),
        ("reduce the length", True),
        ("it ran out of room", True),
        ("it would exceed the model's context", True),
        ("it exceeds the allowed number of tokens", True),
        ("it exceeds the allowed input", True),
        ("above the maximum allowed prompt", True),
        ("above the maximum allowed input", True),
        ("a prompt of 9000 exceeds 8192 tokens", True),
        ("a request of 9000 exceeded 8192 tokens", True),
        ("token limit exceeded", True),
        ("Input tokens exceed the configured limit of 272000 tokens.", True),
        ("The engine prompt length 1327246 exceeds the max_model_len 32768.", True),
        ("The decoder prompt (length 40000) is longer than the maximum model length of 32768.", True),
        ("the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model", True),
        ("prompt length 4000 should not exceed max_num_tokens 2048", True),
        ("The input (40000 tokens) is longer than the model's context length (32768 tokens).", True),
        ("Requested token count exceeds the model's maximum context length of 32768 tokens.", True),
        ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", True),
        ("Input length 5000 exceeds maximum allowed token size of 4096", True),
        ("context_window_exceeded", True),
        ("model_context_window_exceeded", True),
        ("Your prompt has 9000 tokens and exceeds the limit of tokens per minute", False),
        ("Requests must not exceed 20 images", False),
        ("This request exceeds your token balance", False),
        ("The prompt exceeds the tokens that your credits can pay for", False),
        ("Conversation too long. Press esc twice to go up a few messages and try again.", True),
        ("This request would exceed your organization's rate limit of 40,000 input tokens per minute.", False),
        ("too many tokens: rate-limit", False),
        ("too many tokens, too many requests", False),
        ("too many tokens per day", False),
        ("too many tokens per hour", False),
        ("too many tokens for your quota", False),
        ("too many tokens: throttled", False),
        ("Your request exceeds the rate limit of 40000 tokens per minute", False),
        ("You exceeded your current quota, please check your plan and billing details", False),
        ("Too many tokens, please wait before trying again.", False),
        ("too many tokens per minute", False),
        ("rate limit of 40,000 input tokens per minute reached", False),
        ("the server is overloaded", False),
        ("max_tokens is too large: 200000", False),
    ],
)
def test_a_limit_on_the_rate_is_no_end_of_the_context(words: str, context: bool) -> None:
    assert (overflows(words), is_context_error(400, words.encode())) == (context, context)
