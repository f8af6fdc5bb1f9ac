"""What only pi is asked, in a pod without a network, against a scripted model."""

from __future__ import annotations

import pytest

from runner.harness.pi import Pi
from tests.integration.harness.conftest import Drive

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("word", ["none", "max"])
def test_the_effort_asked_for_is_the_effort_sent(drive: Drive, word: str) -> None:
    assert drive(Pi(), "talk", effort=word).totals.efforts_wire == [word]


@pytest.mark.parametrize("scenario", ["unauthorised", "other_model"])
def test_the_providers_fault_is_the_providers(drive: Drive, scenario: str) -> None:
    # Of a session of its own: a wrong model ends a run for good.
    assert drive(Pi(), scenario, about=scenario).totals.provider_fault


def test_a_model_that_never_answers_is_ended_with_the_agent(drive: Drive) -> None:
    done = drive(Pi(), "silent", timeout_s=5, about="silent")  # a run that has heard nothing yet
    assert done.result.timed_out
    assert done.totals.provider_fault
    assert done.totals.provider_fault.startswith("no answer in")
