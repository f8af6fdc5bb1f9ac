"""Caps."""

from __future__ import annotations

import pytest

from runner.gateway.limits import Caps, Spent, exceeded
from runner.schema.ledger import Usage
from tests.unit.events.test_wire import line

SPENT = Spent(requests=3, input_tokens=100, output_tokens=20, usd=0.5)


@pytest.mark.parametrize(
    ("caps", "words"),
    [
        (Caps(), None),
        (Caps(requests=4, tokens=121, input_tokens=101, output_tokens=21, usd=0.51, wall_s=11), None),
        (Caps(requests=3), "3 requests"),
        (Caps(tokens=120), "120 tokens"),
        (Caps(input_tokens=100), "100 input tokens"),
        (Caps(output_tokens=20), "20 output tokens"),
        (Caps(usd=0.5), "0.5 USD"),
        (Caps(wall_s=10), "10 s"),
    ],
)
def test_a_cap_is_named(caps: Caps, words: str | None) -> None:
    assert exceeded(caps, SPENT, 10.0) == words


def test_the_cache_counts_as_input() -> None:
    spent = Spent()
    spent.add(Usage(uncached_input=1, cache_read=2, cache_write=4, output=8), None)
    assert (spent.input_tokens, spent.output_tokens, spent.tokens, spent.usd) == (7, 8, 15, 0.0)


def test_of_an_earlier_session_only_what_its_agent_asked_a_model_was_spent() -> None:
    used = {"usage": Usage(uncached_input=10, output=2), "price_usd": 0.5}
    spent = Spent()
    for more in (
        {"outcome": "answered", **used},
        {"outcome": "error"},
        {"outcome": "answered", "ours": True, **used},
        {"outcome": "refused"},
        {"outcome": "answered", "protocol": "egress"},
    ):
        spent.add_line(line(1, **more))
    assert (spent.requests, spent.tokens, spent.usd) == (2, 12, 0.5)
