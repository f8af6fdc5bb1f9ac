"""A provider may say in many places of a 2xx answer that it failed; none of them passes for a good answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.gateway.answers import AnswerReader
from runner.schema.ledger import Wire
from tests.unit.gateway.test_door import DONE, HEAD, STOP, WORD, a_request, answering, event, one, run

WENT = {"code": 502, "message": "upstream"}
FULL = {"code": "context_length_exceeded", "message": "prompt is too long"}


def choices(*them: dict[str, Any]) -> dict[str, Any]:
    return {**HEAD, "choices": list(them)}


FAILED: list[tuple[Wire, dict[str, Any], str, bool]] = [
    ("chat", choices({"index": 0, "finish_reason": "error"}), "error in the answer", False),
    ("chat", choices({"index": 0, "finish_reason": "error", "error": WENT}), "502", False),
    ("chat", choices({"index": 0, "finish_reason": "error", "error": FULL}), "context_length_exceeded", True),
    ("chat", choices({"index": 0, "finish_reason": "stop"}, {"index": 1, "error": WENT}), "502", False),
    ("chat", choices({"index": 0, "finish_reason": "stop"}, {"index": 1, "finish_reason": "error"}),
     "error in the answer", False),
    ("chat", {"object": "error", "message": "out of memory", "type": "BadRequestError", "code": 400}, "400", False),
    ("chat", {"object": "error", "message": "prompt is too long", "type": "BadRequestError"}, "BadRequestError", True),
    ("chat", {**HEAD, "choices": [], "error": "gone"}, "error in the answer", False),
    ("responses", {"object": "error", "message": "out of memory", "code": 500}, "500", False),
    ("anthropic", {"type": "error", "error": {"type": "overloaded_error"}}, "overloaded_error", False),
]  # fmt: skip


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(("wire", "said", "words", "context"), FAILED)
def test_an_error_is_one_wherever_it_stands(
    wire: Wire, said: dict[str, Any], words: str, context: bool, streamed: bool
) -> None:
    """In a stream that began well, and goes on as if nothing had happened."""
    reader = AnswerReader(wire)
    begun = {"chat": WORD, "responses": {"type": "response.created", "response": {"id": "r", "model": "m"}},
             "anthropic": {"type": "message_start", "message": {"id": "r", "model": "m"}}}  # fmt: skip
    whole = json.dumps(said, separators=(",", ":")).encode()
    reader.feed(event(begun[wire]) + b"data: " + whole + b"\n\n" + DONE if streamed else whole)
    facts = reader.finish()
    assert (facts.error, facts.context) == (words, context)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"object": "response", "status": "failed", "error": WENT}, "502"),
        ({"object": "response", "status": "failed", "error": None}, "error in the answer"),
        ({"object": "response", "status": "completed", "error": None}, None),
        ({"object": "response", "status": "incomplete", "error": None}, None),
    ],
)
def test_a_response_that_came_whole_says_how_it_ended(said: dict[str, Any], words: str | None) -> None:
    reader = AnswerReader("responses")
    reader.feed(json.dumps({**said, "id": "r", "model": "m"}).encode())
    facts = reader.finish()
    assert (facts.error, facts.complete) == (words, words is None)


@pytest.mark.parametrize("ends", [True, False])
def test_a_stream_that_ends_by_an_error_alone_is_the_providers_fault(tmp_path: Path, ends: bool) -> None:
    failed = event(choices({"index": 0, "delta": {"content": ""}, "finish_reason": "error"}))
    talk, got = one(a_request())
    (line,) = run(tmp_path, answering(event(WORD) + failed + (DONE if ends else b"")), talk)
    assert (line.outcome, line.fault) == ("error", "error: error in the answer")
    assert failed in got[0]


def test_words_about_an_error_are_none() -> None:
    """What a model says, and a choice that ends as it should."""
    reader = AnswerReader("chat")
    word = {"index": 0, "delta": {"content": '"object":"error" "finish_reason":"error"'}}
    reader.feed(event(WORD) + event(choices({**word, "error": None})) + event({**STOP, "error": None}) + DONE)
    facts = reader.finish()
    assert (facts.error, facts.complete) == (None, True)
