"""The ladder of efforts, drawn with real agents: which of their levels are one."""

from __future__ import annotations

import pytest

from runner.doctor.ladder import draw
from runner.gateway.providers import Protocol, Provider
from runner.harness.known import harness
from runner.lab.prepare import agent_image
from runner.sandbox.engine import Engine

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("agent", "wire", "model", "efforts", "expected"),
    [
        # Claude Code knows no xhigh for this model; Codex's ultra is max, and leave to delegate.
        ("claude-code", "anthropic", "claude-opus-4-6", ["high", "xhigh"], [(None, None), ("high", None)]),
        ("codex", "responses", "gpt-5.6-sol", ["max", "ultra"], [(None, None), (None, "max, in input")]),
    ],
)  # fmt: skip
def test_a_real_agents_ladder(
    engine: Engine, agent: str, wire: Protocol, model: str, efforts: list[str], expected: list[tuple[str, str]]
) -> None:
    provider = Provider(name="stub", base_url="http://nowhere.invalid/v1", key_env="NOT_SET", protocols=[wire])
    one = harness(agent)
    assert one.layer
    image, trusted = agent_image(engine, one.layer, print)
    found = draw(engine, image, trusted, one, provider, model, efforts)
    assert [(rung.same_as, rung.unlike) for rung in found] == expected, found
