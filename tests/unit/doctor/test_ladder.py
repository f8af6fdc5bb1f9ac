"""Which levels are one, from what an agent was seen to send."""

from __future__ import annotations

from typing import Any

import pytest

from runner.doctor.ladder import levels, rungs
from runner.errors import UsageError
from runner.gateway.providers import Provider
from runner.harness.codex import Codex
from runner.schema.cassette import TapedExchange

TOOLS = [{"type": "function", "function": {"name": "bash"}}]
ID = "01a22b8a-c481-7851-8400-1bef4af234f{}"


def sent(effort: str, number: int = 0, system: str = "You work.", **more: Any) -> TapedExchange:
    messages = [{"role": "system", "content": f"{system} Session {ID.format(number)}, 2026-11-{number + 10}."},
                {"role": "user", "content": "hi"}]  # fmt: skip
    request = {"model": "m", "messages": messages, "prompt_cache_key": str(number), "tools": TOOLS, **more}
    return TapedExchange(at_ms=number, attempt=effort, protocol="chat", path="/v1/chat/completions", request=request,
                         status=200, headers={}, streamed=False, cut=False, answer="", sizes=[])  # fmt: skip


def test_levels_that_send_the_same_but_for_ids_and_dates_are_one() -> None:
    tape = [
        sent("unknown", 0),
        sent("high", 1, reasoning_effort="minimal", tools=[]),  # a title
        sent("high", 2, reasoning_effort="high"),
        sent("xhigh", 3, reasoning_effort="high"),
    ]
    found = rungs(dict.fromkeys(["unknown", "high", "xhigh", "max"], "no such level here"), tape)
    assert [(rung.effort, rung.sent, rung.same_as) for rung in found] == [
        ("unknown", {}, None),
        ("high", {"reasoning_effort": "high"}, None),
        ("xhigh", {"reasoning_effort": "high"}, "high"),
        ("max", {}, None),
    ]
    assert found[-1].problem == "the agent sent nothing: no such level here"


@pytest.mark.parametrize(
    ("other", "unlike"),
    [
        ({"system": "You delegate."}, "max, in messages"),
        ({"tools": [*TOOLS, {"type": "function", "function": {"name": "spawn"}}]}, "max, in tools"),
        ({"thinking": {"budget_tokens": 8191}}, None),
        ({"text": {"verbosity": "low"}}, None),
    ],
)
def test_the_same_word_beside_something_else_is_another_level(other: dict[str, Any], unlike: str | None) -> None:
    tape = [sent("max", 0, reasoning_effort="max"), sent("ultra", 1, **{"reasoning_effort": "max", **other})]
    rung = rungs({"max": "", "ultra": ""}, tape)[1]
    assert (rung.same_as, rung.unlike) == (None, unlike)


@pytest.mark.parametrize(
    ("one", "other"), [("You coordinate.", "You cooperate."), ("Ask 2 helpers.", "Ask 4 helpers.")]
)
def test_words_that_are_no_id_and_no_date_count(one: str, other: str) -> None:
    tape = [sent("max", 0, one, reasoning_effort="max"), sent("ultra", 1, other, reasoning_effort="max")]
    assert rungs({"max": "", "ultra": ""}, tape)[1].unlike == "max, in messages"


def test_a_level_that_sent_nothing_is_no_other_levels_twin() -> None:
    failed, silent, bare = rungs({"minimal": "it crashed", "unknown": "", "none": ""}, [sent("unknown"), sent("none")])
    assert failed.problem == "the agent sent nothing: it crashed"
    assert (silent.same_as, bare.same_as) == (None, "unknown")


def test_an_agent_that_the_provider_cannot_serve_is_said_to_be_so() -> None:
    with pytest.raises(UsageError, match="codex speaks responses only"):
        levels(Codex(), Provider(name="x", base_url="http://h/v1", protocols=["chat"]), "m")
