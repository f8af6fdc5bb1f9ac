"""What a request says of effort, in every spelling that a provider or a local server takes."""

from __future__ import annotations

from typing import Any

import pytest

from runner.events.identity import normalized
from runner.gateway.wire import effort_of


@pytest.mark.parametrize(
    ("asked", "effort", "level"),
    [
        ({"reasoning_effort": "high"}, "high", "high"),
        ({"reasoning": {"effort": "low"}}, "low", "low"),
        ({"reasoning": {"max_tokens": 2000}}, "max_tokens=2000", "unknown"),
        ({"reasoning": {"enabled": False}}, "enabled=false", "none"),
        ({"output_config": {"effort": "max"}}, "max", "max"),
        ({"thinking": {"type": "enabled", "budget_tokens": 31999}}, "budget_tokens=31999", "unknown"),
        ({"thinking": {"type": "disabled"}}, "thinking=disabled", "none"),
        ({"thinking": {}}, "thinking=None", "unknown"),
        ({"chat_template_kwargs": {"enable_thinking": False}}, "enable_thinking=false", "none"),
        ({"chat_template_kwargs": {"reasoning_effort": "high"}}, "high", "high"),
        ({"chat_template_kwargs": {"thinking": True}}, "thinking=true", "unknown"),
        ({"chat_template_kwargs": {"thinking": False}}, "thinking=false", "none"),
        ({"enable_thinking": True, "thinking_budget": 512}, "enable_thinking=true", "unknown"),
        ({"thinking_budget": 512}, "thinking_budget=512", "unknown"),
        ({"reasoning_budget": 0}, "reasoning_budget=0", "unknown"),
        ({"think": False}, "think=false", "none"),
        ({"chat_template_kwargs": {"x": 1}, "reasoning": None}, None, "unknown"),
        ({}, None, "unknown"),
    ],
)
def test_the_words_of_a_request(asked: dict[str, Any], effort: str | None, level: str) -> None:
    assert effort_of(asked) == effort
    assert normalized(effort) == level


def test_no_word_fills_the_ledger() -> None:
    nested: Any = "x"
    for _ in range(2000):
        nested = [nested]
    for asked in ({"reasoning_effort": "x" * 10_000}, {"think": nested}, {"thinking": {"type": nested}}):
        said = effort_of(asked)
        assert said is not None
        assert len(said) <= 100
