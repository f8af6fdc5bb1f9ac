"""However an exchange ends, who answered is looked at."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from runner.gateway.answers import AnswerReader
from runner.gateway.exchange import Exchange
from runner.gateway.providers import Provider
from runner.gateway.wire import Asked
from runner.schema.ledger import LedgerLine

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


def priced(model: str, usage: dict[str, Any] | None, *, began: bool = True, served: str | None = None) -> LedgerLine:
    """An exchange whose agent left, after what ``usage`` says or after a word."""
    found = Exchange("run", Provider(name="p", base_url="http://h/v1", price="openai"), model, "M01-1", "POST", "/v1")
    found.wire, found.asked, found.reader = "chat", Asked(model, True, None, b""), AnswerReader("chat")
    if began:
        found.chunk_in(100)
        event = {"id": "1", "model": served or model, "usage": usage, "choices": []}
        found.reader.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
    return found.abandoned()


MILLION = {"prompt_tokens": 1_000_000, "completion_tokens": 0}


def test_what_was_begun_and_not_metered_has_no_price_and_what_never_began_costs_nothing() -> None:
    began, silent = priced("gpt-4o", None), priced("gpt-4o", None, began=False)
    assert (began.price_usd, began.price_source) == (None, "usage unknown")
    assert (silent.price_usd, silent.price_source) == (0.0, "nothing answered")


def test_the_price_is_that_of_the_model_that_answered() -> None:
    asked, dated = priced("gpt-4o", MILLION), priced("gpt-4o", MILLION, served="gpt-4o-2024-05-13")
    assert (asked.price_usd, dated.price_usd) == (2.5, 5.0)


def test_the_price_is_that_of_the_moment_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked on the last day of a price, answered on the first of the next."""
    moments = iter([datetime(2025, 5, 1, tzinfo=UTC)])

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return next(moments, datetime(2026, 6, 1, tzinfo=UTC))

    monkeypatch.setattr("runner.gateway.exchange.datetime", Clock)
    assert priced("o3", MILLION).price_usd == 10.0
    assert priced("o3", MILLION).price_usd == 2.0
