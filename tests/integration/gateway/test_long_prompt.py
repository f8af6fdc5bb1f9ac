"""A silently cut context is caught."""

from __future__ import annotations

import pytest

from runner.gateway.client import Gateway
from runner.gateway.probe import long_prompt
from tests.integration.gateway.conftest import MODEL, stub_provider
from tests.support.stub_llm import StubServer


@pytest.mark.parametrize(
    ("scenario", "verdict", "words"),
    [
        ("counts", "whole", "is read whole"),
        ("forgets", "cut", "to 4000 in silence"),
        ("full_at_last", "refused", "is refused, though 8192 are declared"),
        ("no_usage", "unknown", "does not say how many"),
    ],
)
def test_how_much_is_read(gateway: Gateway, stub: StubServer, scenario: str, verdict: str, words: str) -> None:
    provider = stub_provider(stub.url(scenario, f"long-{scenario}"), context_window=8192)
    found = long_prompt(provider, MODEL, gateway=gateway)
    assert found.verdict == verdict
    assert words in found.detail
    assert found.ok is (verdict in ("whole", "unknown"))
    if verdict in ("whole", "cut"):
        assert 0.7 * 8192 < found.expected < 0.8 * 8192


def test_a_server_that_says_it_holds_less_is_believed(gateway: Gateway, stub: StubServer) -> None:
    """The last quarter of the context is not tried."""
    provider = stub_provider(stub.url("counts", "long-small"), context_window=2048)
    assert long_prompt(provider, MODEL, holds=2048, gateway=gateway).verdict == "whole"
    found = long_prompt(provider, MODEL, holds=2000, gateway=gateway)
    assert (found.verdict, found.ok) == ("small", False)
