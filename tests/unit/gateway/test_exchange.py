"""However an exchange ends, who answered is looked at."""

from __future__ import annotations

import pytest

from runner.gateway.answers import AnswerReader
from runner.gateway.exchange import Exchange
from runner.gateway.providers import Provider
from runner.gateway.wire import Asked

WRONG = "wrong model served: other instead of asked"
WHOLE = [b'data: {"id":"1","model":"other","choices":[{"delta":{},"finish_reason":"stop"}]}\n\n', b"data: [DONE]\n\n"]


def exchange(*chunks: bytes) -> Exchange:
    provider = Provider(name="p", base_url="http://127.0.0.1:1/v1", free=True)
    found = Exchange("run", provider, "asked", "M01-1", "POST", "/v1/chat/completions")
    found.wire, found.asked = "chat", Asked("asked", True, None, b"")
    found.reader = AnswerReader("chat")
    found.judge = lambda facts: WRONG if facts.model == "other" else None
    for chunk in chunks:
        found.reader.feed(chunk)
    return found


HALF = [WHOLE[0].replace(b'"finish_reason":"stop"', b'"finish_reason":null')]


@pytest.mark.parametrize(
    ("chunks", "outcome"), [(WHOLE, "answered"), (WHOLE[:1], "answered"), (HALF, "abandoned"), ([], "abandoned")]
)
def test_an_agent_that_leaves_hides_nothing(chunks: list[bytes], outcome: str) -> None:
    line = exchange(*chunks).abandoned()
    assert (line.outcome, line.fault) == (outcome, WRONG if chunks else None)


def test_nor_does_an_answer_that_breaks_off() -> None:
    assert exchange(*HALF).failed("gone").fault == WRONG
    assert exchange().failed("gone").fault == "the answer was cut off"


def test_an_error_inside_the_answer_counts_although_the_agent_left() -> None:
    line = exchange(b'data: {"error":{"message":"overloaded"}}\n\n').abandoned()
    assert line.outcome == "error"
    assert line.fault == "error: error in the answer"
