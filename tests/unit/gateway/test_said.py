"""What a ledger line says of a request is what went over the wire, not what the agent wrote."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runner.gateway.exchange import Exchange
from runner.gateway.providers import Provider
from runner.gateway.said import options_of
from runner.gateway.wire import read_request
from runner.schema.ledger import LedgerLine

PROVIDER = Provider(name="x", base_url="http://h/v1")
PLAIN = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "temperature": 1, "reasoning_effort": "low"}


def line(body: dict[str, Any], pinned: dict[str, Any] | None = None) -> LedgerLine:
    exchange = Exchange("r", PROVIDER, "m", "M01-1", "POST", "/v1/chat/completions")
    exchange.wire = "chat"
    exchange.asked = read_request("chat", json.dumps(body).encode(), None, pinned)
    return exchange.refused(402, "cap", 0)


def test_a_pinned_option_is_what_was_sent() -> None:
    found = line(PLAIN, {"temperature": 0, "reasoning_effort": "high", "provider": {"only": ["a"]}})
    assert (found.effort_wire, found.sampling) == ("high", '{"temperature":0}')
    assert found.options_sha256 == line({**PLAIN, "temperature": 0, "reasoning_effort": "high",
                                         "provider": {"only": ["a"]}}).options_sha256  # fmt: skip
    assert line(PLAIN, {"system": "Be brief."}).system_sha256 == line({**PLAIN, "system": "Be brief."}).system_sha256


SESSION: dict[str, Any] = {
    "model": "dated", "metadata": {"id": 2}, "client_metadata": {"id": 2}, "prompt_cache_key": "k", "user": "u",
    "safety_identifier": "s", "stream": True, "stream_options": {"include_usage": True}, "store": False,
    "include": ["reasoning.encrypted_content"], "previous_response_id": "r", "input": "hi", "system": "Work.",
    "instructions": "Work.", "tools": [],
}  # fmt: skip


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ({"messages": [{"role": "user", "content": "more"}]}, True),
        *(({name: other}, True) for name, other in SESSION.items()),
        ({"thinking": {"budget_tokens": 9}}, False),
        ({"text": {"verbosity": "low"}}, False),
        ({"provider": {"only": ["another-host"]}}, False),
    ],
)
def test_options_are_all_but_the_conversation_and_the_session(other: dict[str, Any], same: bool) -> None:
    assert (line({**PLAIN, **other}).options_sha256 == line(PLAIN).options_sha256) is same
    assert (options_of({**PLAIN, **other}) == options_of(PLAIN)) is same


def test_a_pinned_option_lets_no_tool_of_the_providers_in() -> None:
    asked = read_request("chat", json.dumps(PLAIN).encode(), None, {"plugins": [{"id": "web"}], "provider": {}})
    assert asked.tools == ["web_search"]


@pytest.mark.parametrize("odd", [1 << 80, "\ud800", json.loads("[" * 400 + "]" * 400)])
def test_an_option_beyond_all_bounds_costs_no_line(odd: Any) -> None:
    assert line({**PLAIN, "odd": odd}).options_sha256 is None


def test_the_order_of_options_is_no_option() -> None:
    assert (
        line({**PLAIN, "thinking": {"a": 1, "b": 2}}).options_sha256
        == line({"thinking": {"b": 2, "a": 1}, **dict(reversed(PLAIN.items()))}).options_sha256
    )


def test_a_request_that_was_not_read_has_no_options() -> None:
    unread = Exchange("r", PROVIDER, "m", "M01-1", "POST", "/v1/chat/completions").refused(400, "body", 0)
    assert (unread.options_sha256, unread.system_sha256, unread.sampling) == (None, None, None)
