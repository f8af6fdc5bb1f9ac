"""What is read of requests and answers, without a network."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.gateway.answers import AnswerReader
from runner.gateway.counts import canonical_usage
from runner.gateway.wire import UnreadableBody, is_context_error, read_request, route, with_fields
from runner.harness.claude_rows import usage_of
from runner.harness.mini_rows import usage_of as logged_usage
from runner.schema.ledger import Usage, Wire
from tests.support.stub_llm import Answer


@pytest.mark.parametrize(
    ("method", "path", "found"),
    [
        ("POST", "/v1/chat/completions", ("chat", "/chat/completions")),
        ("POST", "/chat/completions", ("chat", "/chat/completions")),
        ("POST", "/v1/messages/count_tokens", ("count_tokens", "/messages/count_tokens")),
        ("GET", "/v1/models/stub-model", ("models", "/models/stub-model")),
        ("GET", "/v1/chat/completions", None),
        ("POST", "/v1/files", None),
        ("GET", "/v1/models/../files", None),
        ("GET", "/v1evil", None),
    ],
)
def test_routes(method: str, path: str, found: tuple[str, str] | None) -> None:
    assert route(method, path) == found


def test_only_the_option_is_added() -> None:
    body = b'{ "stream": true,\n "model":"m", "n": 1.0}'
    changed = with_fields(body, json.loads(body), {"stream_options": {"include_usage": True}})
    assert changed == b'{"stream_options":{"include_usage":true}, "stream": true,\n "model":"m", "n": 1.0}'
    assert json.loads(changed)["n"] == 1.0


def test_an_option_that_was_given_is_kept() -> None:
    asked = read_request("chat", b'{"stream":true,"stream_options":{"x":1}}', None)
    assert json.loads(asked.body)["stream_options"] == {"x": 1, "include_usage": True}


@pytest.mark.parametrize(
    ("body", "encoding"),
    [(b"{", None), (b'{"a": ' + b"[" * 100_000, None), (b"[]", None), (b"{}", "gzip"), (b"{}", "br"),
     (gzip.compress(b"1"), "gzip")],
)  # fmt: skip
def test_what_cannot_be_read_is_not_passed(body: bytes, encoding: str | None) -> None:
    with pytest.raises(UnreadableBody):
        read_request("chat", body, encoding)


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
def test_a_stream_is_read_however_it_is_cut_up(wire: Wire, size: int) -> None:
    answer = Answer(wire, {"say": "one two \u2028 three", "tool": ("bash", {"command": "ls"})}, 2, "m", "r")
    raw = "".join(answer.events()).encode()
    reader = AnswerReader(wire)
    for start in range(0, len(raw), size):
        reader.feed(raw[start : start + size])
    facts = reader.finish()
    assert (facts.model, facts.response_id, facts.complete) == ("m", answer.id, True)
    assert facts.usage == Usage(
        uncached_input=1020, cache_read=800, output=62, reasoning=None if wire == "anthropic" else 16
    )


@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("before", ["", " \t", "\ufeff", "\n\n"])
def test_however_lines_end_and_whatever_stands_before(before: str, end: str, size: int) -> None:
    """A document, and an event whose data stand on several lines."""
    whole = {"id": "r", "model": "m", "usage": {"prompt_tokens": 7, "completion_tokens": 2}, "choices": []}
    text = json.dumps(whole, indent=1)
    for said in (text, "".join(f"data: {line}\n" for line in text.splitlines()) + "\n"):
        raw = (before + said).replace("\n", end).encode()
        reader = AnswerReader("chat")
        for at in range(0, len(raw), size):
            reader.feed(raw[at : at + size])
        assert reader.finish().usage == Usage(uncached_input=7, output=2)


@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
def test_a_stream_without_its_end_is_not_complete(wire: Wire) -> None:
    events = list(Answer(wire, {"say": "one two"}, 0, "m", "r").events())
    reader = AnswerReader(wire)
    reader.feed("".join(events[: len(events) // 2]).encode())
    assert not reader.finish().complete


@given(st.binary(max_size=300), st.sampled_from(["chat", "responses", "anthropic"]))
def test_rubbish_never_hurts(raw: bytes, wire: Wire) -> None:
    for data in (raw, b"data: " + raw + b"\n\n"):
        reader = AnswerReader(wire)
        reader.feed(data)
        reader.finish()


KEYS = (
    "usage message response choices error model id type input_tokens output_tokens prompt_tokens completion_tokens"
    " prompt_tokens_details cached_tokens cost finish_reason"
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=4),
    max_leaves=12,
)


@given(json_values, st.sampled_from(["chat", "responses", "anthropic"]))
def test_any_json_can_be_read(value: Any, wire: Wire) -> None:
    for streamed in (True, False):
        reader = AnswerReader(wire)
        text = json.dumps(value).encode()
        reader.feed(b"data: " + text + b"\n" if streamed else text)
        reader.finish()


def test_openai_counts_hold_the_cache_and_ours_do_not() -> None:
    raw = {"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 60}}
    assert canonical_usage("chat", raw) == Usage(uncached_input=40, cache_read=60, output=9)
    assert canonical_usage("chat", {**raw, "prompt_tokens": 50}) == Usage(uncached_input=0, cache_read=50, output=9)
    assert canonical_usage("chat", {"prompt_tokens": True, "completion_tokens": 1}) is None
    assert canonical_usage("chat", {"prompt_tokens": 1.5, "completion_tokens": 1}) is None


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ({"cached_tokens": 40}, Usage(uncached_input=60, cache_read=40, output=9)),
        ({"prompt_cache_hit_tokens": 40, "prompt_cache_miss_tokens": 60},
         Usage(uncached_input=60, cache_read=40, output=9)),
        ({"cache_read_input_tokens": 40, "cache_creation_input_tokens": 7,
          "prompt_tokens_details": {"cached_tokens": 40, "cache_creation_tokens": 7}},
         Usage(uncached_input=53, cache_read=40, cache_write=7, output=9)),
        ({"prompt_tokens_details": {"cached_tokens": 0, "cache_creation_input_tokens": 7}},
         Usage(uncached_input=93, cache_write=7, output=9)),
        ({"prompt_tokens_details": None, "cached_tokens": 400}, Usage(uncached_input=0, cache_read=100, output=9)),
        ({"prompt_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 90}},
         Usage(uncached_input=0, cache_read=40, cache_write=60, output=9)),
        ({"total_tokens": 203, "completion_tokens_details": {"reasoning_tokens": 94}},
         Usage(uncached_input=100, output=103, reasoning=94)),
        ({"total_tokens": 109, "completion_tokens_details": {"reasoning_tokens": 4}},
         Usage(uncached_input=100, output=9, reasoning=4)),
    ],
    ids=["moonshot", "deepseek", "litellm", "alibaba", "more than all", "more than the rest", "xai", "openai"],
)  # fmt: skip
def test_each_servers_own_places_for_its_counts(counts: dict[str, Any], found: Usage) -> None:
    """xAI's output is without its reasoning: only the total says so. What an agent logs of it counts alike."""
    raw = {"prompt_tokens": 100, "completion_tokens": 9, **counts}
    assert canonical_usage("chat", raw) == found
    assert logged_usage(raw) == found


@pytest.mark.parametrize("streamed", [False, True])
def test_an_error_may_stand_inside_the_choice(streamed: bool) -> None:
    choice = {"index": 0, "finish_reason": "error", "error": {"code": 502, "message": "upstream"}}
    text = json.dumps({"id": "c", "model": "m", "choices": [choice]}).encode()
    reader = AnswerReader("chat")
    reader.feed(b"data: " + text + b"\n\ndata: [DONE]\n\n" if streamed else text)
    assert reader.finish().error == "502"


SPLIT = {"ephemeral_5m_input_tokens": 7, "ephemeral_1h_input_tokens": 9}


@pytest.mark.parametrize("counts", [
    {"cache_creation": SPLIT},
    {"cache_creation": SPLIT, "cache_creation_input_tokens": 16},
    {"cache_creation": {**SPLIT, "service": "x"}, "cache_creation_input_tokens": 0},
])  # fmt: skip
def test_what_is_written_to_two_caches_is_written_once(counts: dict[str, Any]) -> None:
    """The wire and the agent's own log say the same of it."""
    raw = {"input_tokens": 10, "output_tokens": 5, **counts}
    found = Usage(uncached_input=10, cache_write=16, cache_write_1h=9, output=5)
    assert canonical_usage("anthropic", raw) == found
    assert usage_of(raw) == found


def test_a_later_zero_takes_nothing_back() -> None:
    """Some servers of the protocol end a stream with counts of nothing."""
    reader = AnswerReader("anthropic")
    reader.feed(b'data: {"type":"message_start","message":{"id":"m","model":"c","usage":'
                b'{"input_tokens":10,"cache_read_input_tokens":4,"output_tokens":1}}}\n\n'
                b'data: {"type":"message_delta","usage":'
                b'{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":50}}\n\n')  # fmt: skip
    assert reader.finish().usage == Usage(uncached_input=10, cache_read=4, output=50)


def test_an_error_in_a_stream_is_none_of_its_words() -> None:
    reader = AnswerReader("anthropic")
    reader.feed(b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"sk-secret"}}\n\n')
    facts = reader.finish()
    assert (facts.error, facts.complete) == ("overloaded_error", False)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ({"code": 429, "type": "rate_limit"}, "429"),
        ({"code": None, "type": "rate_limit", "status": "X"}, "rate_limit"),
        ({"status": "RESOURCE_EXHAUSTED", "message": "sk-secret"}, "RESOURCE_EXHAUSTED"),
        ({"code": "no key sk-1", "type": "auth"}, "auth"),
        ({"message": "sk-secret"}, "error in the answer"),
        ("sk-secret", "error in the answer"),
    ],
)
def test_an_error_is_called_by_its_name_alone(error: Any, words: str) -> None:
    reader = AnswerReader("chat")
    reader.feed(json.dumps({"error": error}).encode())
    assert reader.finish().error == words


@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
@given(words=st.text(max_size=60), spaced=st.booleans())
def test_words_of_an_answer_never_pass_for_facts(wire: Wire, words: str, spaced: bool) -> None:
    """Whatever the model says, also if it quotes the protocol, and however the server spaces its JSON."""
    said = words + ' "usage": {"prompt_tokens": 1} "type":"message_stop" "finish_reason":"stop" "error": {"x": 1}'
    events = list(Answer(wire, {"say": said}, 2, "m", "r").events())
    if not spaced:
        events = [_tight(event) for event in events]
    reader = AnswerReader(wire)
    for event in events:
        reader.feed(event.encode())
    facts = reader.finish()
    assert (facts.model, facts.complete, facts.error) == ("m", True, None)
    assert facts.usage is not None
    assert (facts.usage.uncached_input, facts.usage.output) == (1020, 62)


def _tight(event: str) -> str:
    head, _, data = event.partition("data: ")
    if data.startswith("[DONE]"):
        return event
    return f"{head}data: {json.dumps(json.loads(data), separators=(',', ':'))}\n\n"


@pytest.mark.parametrize(
    ("status", "words", "full"),
    [
        (400, "prompt is too long", True),
        (422, "prompt is too long", True),
        (500, "the request exceeds the available context size", True),
        (413, "Payload Too Large", True),
        (429, "prompt is too long", False),
        (503, "prompt is too long", False),
        (400, "no such model", False),
    ],
)
def test_a_full_context_is_told_by_the_status_and_the_words(status: int, words: str, full: bool) -> None:
    assert is_context_error(status, json.dumps({"error": {"message": words}}).encode()) is full
