"""A cassette played back: structure decides, texts may differ."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.gateway.replay import Player, streams
from runner.gateway.structure import compare
from runner.schema.cassette import TapedExchange

BASH = {"type": "function", "function": {"name": "bash"}}


def taped(at: float, messages: list[dict[str, Any]], answer: str, **more: Any) -> TapedExchange:
    request = {"model": "m", "messages": messages, "tools": [BASH], **more}
    return TapedExchange(
        at_ms=at, attempt="M01-1", protocol="chat", path="POST /v1/chat/completions", request=request, status=200,
        headers={"content-type": "application/json"}, streamed=False, cut=False, answer=answer, sizes=[len(answer)],
    )  # fmt: skip


def say(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


MAIN = [say("system", "s"), say("user", "do it")]
MORE = [*MAIN, say("assistant", "ls"), say("tool", "took 12 ms")]
SIDE = [say("user", "a title, please")]


def tape() -> list[TapedExchange]:
    return [taped(1, MAIN, "one"), taped(2, SIDE, "title"), taped(3, MORE, "two"), taped(4, MORE, "again")]


def ask(player: Player, messages: list[dict[str, Any]], **more: Any) -> tuple[str | None, str | None]:
    played = player.answer("chat", {"model": "m", "messages": messages, "tools": [BASH], **more})
    return played.answer.body.decode() if played.answer else None, played.note


def test_conversations_are_told_apart_and_kept_in_order() -> None:
    assert [[one.answer for one in stream] for stream in streams(tape())] == [["one", "two", "again"], ["title"]]
    player = Player(tape())
    # The side question comes at another moment than it was recorded.
    assert [ask(player, m)[0] for m in (MAIN, MORE, SIDE, MORE)] == ["one", "two", "title", "again"]
    assert player.left == 0


def test_texts_may_differ_and_are_reported() -> None:
    player = Player(tape())
    ask(player, MAIN)
    other = copy.deepcopy(MORE)
    other[3]["content"] = "took 15 ms"
    assert ask(player, other) == ("two", "replayed; texts differ: messages[3].content")


@pytest.mark.parametrize(
    ("messages", "more", "where"),
    [
        ([*MAIN, say("assistant", "x")], {}, "messages: 2 entries were recorded, there are 3"),
        ([MAIN[0], say("assistant", "x")], {}, "messages[1].role: 'user' was recorded, this is 'assistant'"),
        (MAIN, {"temperature": 1.0}, "the body: 'temperature' is new"),
        (MAIN, {"tools": []}, "tools: 1 entries were recorded, there are 0"),
        (MAIN, {"tools": [{"type": "function", "function": {"name": "sh"}}]}, "tools[0].function.name: 'bash' was"),
        (MAIN, {"model": "n"}, "model: 'm' was recorded, this is 'n'"),
        ([MAIN[0], {"role": "user", "content": [{"type": "text"}]}], {}, "messages[1].content: 'do it' was recorded"),
    ],
)
def test_another_structure_is_a_divergence(messages: list[dict[str, Any]], more: dict[str, Any], where: str) -> None:
    answer, note = ask(Player(tape()[:1]), messages, **more)
    assert answer is None
    assert note is not None
    assert note.startswith(where)


def test_nothing_is_served_twice() -> None:
    player = Player(tape()[:1])
    assert ask(player, MAIN)[0] == "one"
    assert ask(player, MAIN) == (None, "the recording has no more requests of this protocol")


def test_two_equal_conversations_are_told_apart_by_their_texts() -> None:
    first, second = [say("user", "look at a")], [say("user", "look at b")]
    player = Player([taped(1, first, "a"), taped(2, second, "b")])
    assert [ask(player, second)[0], ask(player, first)[0]] == ["b", "a"]


def test_an_answer_named_by_its_id_goes_on() -> None:
    one = taped(1, MAIN, '{"id":"resp_1"}')
    two = taped(2, [say("user", "more")], "x", previous_response_id="resp_1")
    assert len(streams([one, two])) == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)


@given(json_values, json_values)
def test_comparing_says_so_exactly_where_two_differ(one: Any, other: Any) -> None:
    assert compare(one, copy.deepcopy(one)).structural is None
    assert compare(one, copy.deepcopy(one)).texts == []
    found = compare(one, other)
    assert (found.structural is None and not found.texts) == (one == other)
