"""Whose fault the end is: a contestant can provoke its provider, and must not be booked as the rig's failure for it."""

from __future__ import annotations

import http.client
import time
from contextlib import suppress

import pytest

from runner.gateway import witness
from runner.gateway.client import Gateway
from tests.integration.gateway.conftest import Agent, Open

POISON = {"messages": [{"role": "user", "content": "poison"}]}


@pytest.mark.parametrize(("scenario", "status", "fault"), [("fragile", 500, "HTTP 500"), ("strict", 429, "HTTP 429")])
def test_a_provoked_fault_is_not_the_providers(
    enter: Open, gateway: Gateway, scenario: str, status: int, fault: str
) -> None:
    agent = enter(scenario)
    assert agent.post().status == 200
    assert agent.post(**POISON).status == status
    totals = gateway.end_attempt(agent.run_id)
    assert (totals.provider_fault, totals.unconfirmed_fault) == (None, fault)
    ours = [line for line in agent.lines() if line.ours]
    assert (ours[0].outcome, ours[0].again) == ("answered", False)
    # The same body is refused once more; too many requests are not made more of.
    assert [(line.again, line.status) for line in ours[1:]] == ([] if status == 429 else [(True, status)])
    assert (totals.requests, totals.answered) == (2, 1)


def test_a_body_that_is_refused_in_a_later_attempt_is_the_contestants(enter: Open, gateway: Gateway) -> None:
    agent = enter("picky")
    agent.post()
    gateway.end_attempt(agent.run_id)
    gateway.begin_attempt(agent.run_id, "M01/2")
    assert agent.post(**POISON).status == 400
    totals = gateway.end_attempt(agent.run_id)
    assert (totals.provider_fault, totals.unconfirmed_fault) == (None, "HTTP 400 to every request")


def test_a_model_that_never_spoke_is_not_to_blame(enter: Open, gateway: Gateway) -> None:
    agent = enter("picky")
    agent.post(**POISON)
    totals = gateway.end_attempt(agent.run_id)
    assert totals.provider_fault == "HTTP 400 to every request"
    assert [line.ours for line in agent.lines()] == [False]


def test_an_outage_is_seen_while_it_lasts(enter: Open, gateway: Gateway) -> None:
    """The agent gives up during an outage that is over when the attempt ends: still the provider's."""
    agent = enter("broken_late")
    assert [agent.post().status for _ in range(2)] == [200, 500]
    _wait_for_ours(agent)
    assert gateway.end_attempt(agent.run_id).provider_fault == "HTTP 500"
    assert sum(line.ours for line in agent.lines()) == 1


@pytest.mark.parametrize(("scenario", "fault"), [("blip", "HTTP 503"), ("cut", "the answer was cut off")])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_an_outage_that_is_over_when_somebody_looks_is_the_providers(
    enter: Open, gateway: Gateway, scenario: str, fault: str, stream: bool
) -> None:
    """The agent gives up at once; a tenth of a second later the provider is well again."""
    agent = enter(scenario)
    assert agent.post(stream=stream).status == 200
    with suppress(OSError, http.client.HTTPException):
        assert agent.post(stream=stream).status == 503
    totals = gateway.end_attempt(agent.run_id)
    assert (totals.provider_fault, totals.unconfirmed_fault) == (fault, None)
    assert [line.again for line in agent.lines() if line.ours] == [False, True]
    assert (totals.requests, totals.answered) == (2, 1)


def test_trouble_that_is_soon_over_is_not_looked_into(enter: Open, gateway: Gateway) -> None:
    agent = enter("limited")
    assert [agent.post().status for _ in range(3)] == [200, 429, 200]
    time.sleep(witness.PATIENCE_S + 0.5)
    totals = gateway.end_attempt(agent.run_id)
    assert (totals.provider_fault, totals.recovered_faults) == (None, 1)
    assert not any(line.ours for line in agent.lines())


def _wait_for_ours(agent: Agent) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and not any(line.ours for line in agent.lines()):
        time.sleep(0.1)
