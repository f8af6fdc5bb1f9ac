"""Whoever computes any part of an answer is noticed, however the rest of it is called."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.gateway.answers import AnswerReader
from runner.gateway.wire import PATHS
from runner.schema.ledger import Wire
from tests.support.stub_llm import Answer
from tests.unit.gateway.test_door import MODEL, TOKEN, Talk, answering, ask, run, slowly

OTHER = "somebody-else"
WRONG = f"wrong model served: {OTHER} instead of {MODEL}"
ROUTED: dict[str, Any] = {"routing": {"only": ["deepinfra"]}, "dialect": "openrouter"}


def said(wire: Wire, model: str = MODEL, **step: Any) -> list[str]:
    return list(Answer(wire, {"say": "one two three four", **step}, 0, model, "r").events())


def asking(wire: Wire) -> bytes:
    body = json.dumps({"model": MODEL, "stream": True}).encode()
    head = f"POST /v1{PATHS[wire]} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body


def twice(wire: Wire) -> tuple[Talk, list[bytes]]:
    """The same request a second time: a run whose model was another one is over."""
    got: list[bytes] = []

    async def talk(socket: str, door: object) -> None:
        got.extend([await ask(socket, asking(wire)), await ask(socket, asking(wire))])

    return talk, got


def named(wire: Wire, name: str, *, deep: bool) -> str:
    """An event that names a model where the protocol has it, or (also) at its top."""
    places: dict[str, dict[str, Any]] = {
        "chat": {"id": "r", "model": name, "choices": [{"index": 0, "delta": {"content": "x"}}]},
        "responses": {"type": "response.in_progress", "response": {"id": "r", "model": name}},
        "anthropic": {"type": "message_start", "message": {"id": "r", "model": name, "usage": {}}},
    }
    event = places[wire]
    if not deep:
        event = {"type": "response.output_text.delta", "delta": "x", "choices": [], "model": name}
    return f"data: {json.dumps(event)}\n\n"


@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
@pytest.mark.parametrize("deep", [True, False])
@pytest.mark.parametrize("place", [0, 1, 3, -2])
@pytest.mark.parametrize("tight", [True, False])
def test_another_model_in_any_event_ends_the_run(
    tmp_path: Path, wire: Wire, deep: bool, place: int, tight: bool
) -> None:
    events = said(wire)
    other = named(wire, OTHER, deep=deep)
    events.insert(place if place >= 0 else len(events) + place, other.replace('": "', '":"') if tight else other)
    talk, got = twice(wire)
    first, second = run(tmp_path, slowly("".join(events).encode(), 50), talk)
    assert (first.outcome, first.fault, second.refused) == ("answered", WRONG, "wrong_model")
    assert first.model_served == OTHER
    assert b"four" in got[0]


@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
def test_the_right_one_named_again_and_again_is_right(tmp_path: Path, wire: Wire) -> None:
    events = said(wire)
    for place in range(len(events) - 1, 0, -1):
        events.insert(place, named(wire, MODEL, deep=place % 2 == 0))
    words: dict[str, Any] = {
        "choices": [],
        "type": "x",
        "delta": f'"model": "{OTHER}"',
        "item": {"model": OTHER},
        "model": None,
    }
    talk, _ = twice(wire)
    lines = run(
        tmp_path, answering("".join([*events[:2], f"data: {json.dumps(words)}\n\n", *events[2:]]).encode()), talk
    )
    assert [(line.outcome, line.fault, line.model_served) for line in lines] == [("answered", None, MODEL)] * 2


def test_a_model_that_stands_deeper_hides_none_at_the_top(tmp_path: Path) -> None:
    """Two events that hold the same names, in other places."""
    events = said("chat")
    for model, deeper in ((MODEL, OTHER), (OTHER, MODEL), (MODEL, OTHER)):
        events.insert(2, f"data: {json.dumps({'x': {'model': deeper}, 'model': model, 'choices': []})}\n\n")
    talk, _ = twice("chat")
    assert run(tmp_path, answering("".join(events).encode()), talk)[0].fault == WRONG


def test_where_the_first_name_counts_it_is_the_first_of_the_answer_too(tmp_path: Path) -> None:
    """A local server calls its model as it likes, but by one name."""
    events = said("chat", "local.gguf")
    events[2:2] = said("chat", OTHER)[1:2]
    talk, _ = twice("chat")
    first, second = run(tmp_path, answering("".join(events).encode()), talk, served="first")
    assert (first.fault, second.refused) == (f"wrong model served: {OTHER} instead of local.gguf", "wrong_model")


@pytest.mark.parametrize("echo", [0, 1, 3])
def test_the_name_that_was_asked_for_is_no_second_model(tmp_path: Path, echo: int) -> None:
    """A proxy calls the model as it was asked in some events, and in others as its own server does."""
    events = said("chat", "snapshot")
    events.insert(echo, named("chat", MODEL, deep=True))
    del events[1 if echo == 0 else 0]
    talk, _ = twice("chat")
    lines = run(tmp_path, answering("".join(events).encode()), talk, served="first")
    assert [(line.outcome, line.fault, line.model_served) for line in lines] == [("answered", None, "snapshot")] * 2


@pytest.mark.parametrize("names", [("snapshot", OTHER), (MODEL, "snapshot", OTHER), ("snapshot", MODEL, OTHER)])
def test_two_names_that_nobody_asked_for_are_two_models(tmp_path: Path, names: tuple[str, ...]) -> None:
    events = [named("chat", name, deep=True) for name in names] + said("chat")[-2:]
    talk, _ = twice("chat")
    first, second = run(tmp_path, answering("".join(events).encode()), talk, served="first")
    assert (first.fault, second.refused) == (f"wrong model served: {OTHER} instead of snapshot", "wrong_model")


def test_another_host_in_the_middle_is_another_host(tmp_path: Path) -> None:
    events = said("chat", provider="DeepInfra")
    events[2:2] = said("chat", provider="Cheaper")[1:2]
    talk, _ = twice("chat")
    first, second = run(tmp_path, answering("".join(events).encode()), talk, **ROUTED)
    assert (first.fault, second.refused) == ("wrong host served: Cheaper instead of deepinfra", "wrong_model")
    assert first.host_served == "Cheaper"


def test_an_agent_that_leaves_before_the_end_takes_no_wrong_model_with_it(tmp_path: Path) -> None:
    events = [*said("chat")[:2], *said("chat", OTHER)[1:2], *said("chat")[1:3]]

    async def script(asked: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n" + "".join(events).encode())
        await writer.drain()
        await asyncio.sleep(0.2)
        writer.close()

    async def talk(socket: str, door: object) -> None:
        reader, writer = await asyncio.open_unix_connection(socket)
        writer.write(asking("chat"))
        await reader.readuntil(b"two ")
        writer.close()
        await asyncio.sleep(0.1)
        await ask(socket, asking("chat"))

    first, second = run(tmp_path, script, talk)
    assert (first.outcome, first.fault, second.refused) == ("abandoned", WRONG, "wrong_model")


def test_a_wrong_model_whose_answer_ends_in_an_error_is_wrong(tmp_path: Path) -> None:
    """Also where the error is that the conversation no longer fits: it was somebody else's conversation."""
    error = {"error": {"code": "context_length_exceeded", "message": "prompt is too long"}}
    talk, _ = twice("chat")
    events = [*said("chat", OTHER)[:3], f"data: {json.dumps(error)}\n\n"]
    first, second = run(tmp_path, answering("".join(events).encode()), talk)
    assert (first.outcome, first.fault, second.refused) == ("error", WRONG, "wrong_model")


FAILURES: dict[Wire, dict[str, Any]] = {
    "chat": {
        "id": "r", "model": "short-name", "provider": "openai", "error": {"code": "server_error"},
        "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
    },
    "responses": {
        "type": "response.failed",
        "response": {"id": "r", "model": "short-name", "provider": "openai", "error": {"code": "server_error"}},
    },
    "anthropic": {"type": "error", "model": "short-name", "provider": "openai", "error": {"type": "server_error"}},
}  # fmt: skip


@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
@pytest.mark.parametrize("begun", [3, 0])
def test_whoever_an_error_names_has_computed_nothing(tmp_path: Path, wire: Wire, begun: int) -> None:
    """OpenRouter documents such errors in streams: the model without its maker, the host by another name."""
    events = [*said(wire)[:begun], f"data: {json.dumps(FAILURES[wire])}\n\n"]
    talk, _ = twice(wire)
    lines = run(tmp_path, answering("".join(events).encode()), talk, **ROUTED)
    named = (MODEL, None) if begun else ("short-name", "openai")
    assert [(line.outcome, line.fault) for line in lines] == [("error", "error: server_error")] * 2
    assert lines[0].model_served == named[0]


def test_an_error_that_came_whole_names_nobody_either() -> None:
    reader = AnswerReader("chat")
    reader.feed(json.dumps(FAILURES["chat"]).encode())
    facts = reader.finish()
    assert (facts.error, facts.models, facts.hosts) == ("server_error", [], [])


def test_no_request_passes_while_a_broker_is_asked_about_a_wrong_answer(tmp_path: Path) -> None:
    """Its line waits for the broker's books; what it says of the run does not."""

    async def script(asked: bytes, writer: asyncio.StreamWriter) -> None:
        if asked.startswith(b"GET"):
            writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            return
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n" + "".join(said("chat", OTHER)[:3]).encode())
        writer.close()

    talk, _ = twice("chat")
    lines = run(tmp_path, script, talk, accounting="generation", dialect="openrouter")
    assert {(line.outcome, line.fault, line.refused) for line in lines} == {
        ("cut", WRONG, None), ("refused", None, "wrong_model")
    }  # fmt: skip


@pytest.mark.parametrize(("host", "fault"), [
    ("Cheaper", "wrong host served: Cheaper instead of deepinfra"), ("DeepInfra", "the answer was cut off"),
])  # fmt: skip
def test_a_host_that_only_the_brokers_books_name_is_judged_as_well(tmp_path: Path, host: str, fault: str) -> None:
    async def script(asked: bytes, writer: asyncio.StreamWriter) -> None:
        if asked.startswith(b"GET"):
            books = json.dumps({"data": {"provider_name": host, "total_cost": 0.5}}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(books) + books)
            return
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n" + "".join(said("chat")[:3]).encode())
        writer.close()

    async def talk(socket: str, door: object) -> None:
        await ask(socket, asking("chat"))

    (line,) = run(tmp_path, script, talk, accounting="generation", **ROUTED)
    assert (line.outcome, line.host_served, line.fault) == ("cut", host, fault)


NAMES = st.sampled_from(["a", "b", "model", 'q"model": "b', "\u00e9", None, {"model": "b"}])
EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "model": NAMES, "provider": NAMES, "x": NAMES, "id": NAMES, "delta": NAMES, "type": NAMES,
        "message": st.fixed_dictionaries({}, optional={"model": NAMES}),
    },
)  # fmt: skip


@given(st.lists(EVENTS, max_size=6), st.booleans(), st.booleans(), st.integers(1, 40))
def test_what_is_read_in_passing_is_what_is_said(
    said: list[dict[str, Any]], tight: bool, ascii_only: bool, size: int
) -> None:
    """Most events are not parsed at all: no name must stand in one of those alone."""
    spaced = (",", ":") if tight else (", ", ": ")
    said = [{"id": "r"}, *said]  # until an answer has an id, all of it is read
    events = [json.dumps(event, separators=spaced, ensure_ascii=ascii_only).encode() for event in said]
    raw = b"".join(b"data: " + event + b"\n\n" for event in events)
    reader = AnswerReader("chat")
    for at in range(0, len(raw), size):
        reader.feed(raw[at : at + size])
    facts = reader.finish()
    for key, found in (("model", facts.models), ("provider", facts.hosts)):
        names = [event[key] for event in said if isinstance(event.get(key), str) and event[key]]
        assert found == list(dict.fromkeys(names))


def test_a_stream_of_many_names_stays_small() -> None:
    reader = AnswerReader("chat")
    for number in range(5000):
        reader.feed(named("chat", f"model-{number}", deep=True).encode())
    assert reader.finish().model == "model-4999"
    assert len(reader.facts.models) <= 100
