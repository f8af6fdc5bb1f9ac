"""One door between an agent and a provider, over real sockets: each answer is booked once, whatever happens."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import json
import re
import ssl
import zlib
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from runner.errors import RigError
from runner.gateway.cassette import read_cassette
from runner.gateway.door import Door, DoorSpec
from runner.gateway.egress import Egress
from runner.gateway.limits import Caps
from runner.gateway.providers import Provider
from runner.gateway.totals import read_ledger
from runner.gateway.upstream import Upstream
from runner.schema.ledger import LedgerLine, Usage

Script = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]
Talk = Callable[[str, Door], Awaitable[None]]

KEY, TOKEN, MODEL = "sk-the-real-key-000000000000", "run-token-0000000000000000", "gpt-4o"
HEAD = {"id": "answer-1", "model": MODEL, "object": "chat.completion.chunk"}
PART = {"prompt_tokens": 1, "completion_tokens": 1}
USAGE = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 40}}
COUNTED = Usage(uncached_input=60, cache_read=40, output=5)
WORD = {**HEAD, "choices": [{"index": 0, "delta": {"content": "hé"}}]}
STOP = {**HEAD, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
SPENT = {**HEAD, "choices": [], "usage": USAGE}


def event(data: dict[str, Any], indent: int | None = None) -> bytes:
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    return "".join(f"data: {line}\n" for line in text.splitlines()).encode() + b"\n"


DONE = b"data: [DONE]\n\n"
STREAM = event(WORD) + event(STOP) + event(SPENT) + DONE


def a_request(size: int = 0, *, given: bytes = b"", headers: str = "") -> bytes:
    body = json.dumps({"model": MODEL, "messages": [{"role": "user", "content": "x" * size}], "stream": True}).encode()
    body = body[:-1] + b"," + given + b"}" if given else body
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n{headers}"
    return head.encode() + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body


def answering(raw: bytes, kind: str = "text/event-stream", more: str = "", wait_s: float = 0.0) -> Script:
    async def script(asked: bytes, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(wait_s)
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\n{more}content-length: {len(raw)}\r\n\r\n"
        writer.write(head.encode("latin-1") + raw)

    return script


def slowly(raw: bytes, size: int) -> Script:
    """An answer in pieces of ``size`` bytes."""

    async def script(asked: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(raw))
        for at in range(0, len(raw), size):
            writer.write(raw[at : at + size])
            await writer.drain()
            await asyncio.sleep(0.002)

    return script


def run(
    tmp_path: Path,
    script: Script,
    talk: Talk,
    *,
    caps: Caps | None = None,
    hosts: Iterable[str] = (),
    key: str = KEY,
    **fields: Any,
) -> list[LedgerLine]:
    """The ledger of one door, whose provider answers by ``script``."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                size = re.search(rb"content-length: (\d+)", head)
                await script(head + (await reader.readexactly(int(size[1])) if size else b""), writer)
                await writer.drain()
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        provider = Provider.model_validate(
            {"name": "p", "base_url": url, "key_env": "K", "price": "openai", **fields}
        )  # fmt: skip
        trust = ssl.create_default_context()
        spec = DoorSpec(
            "run", TOKEN, provider, MODEL, Upstream(url, key), caps or Caps(), ledger, tmp_path / "gw.sock",
            cassette=tmp_path / "tape", egress=frozenset(hosts),
        )  # fmt: skip
        door = Door(spec, trust, Egress({}, trust), lambda *said: None)
        await door.open()
        await door.begin("M01-1")
        try:
            await asyncio.wait_for(talk(str(spec.socket), door), 20)
        finally:
            await door.close()
            server.close()

    ledger = tmp_path / "gateway.jsonl"
    asyncio.run(main())
    return read_ledger(ledger)


async def ask(socket: str, data: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(socket)
    writer.write(data)
    answer = await reader.read()
    writer.close()
    return answer


def one(data: bytes) -> tuple[Talk, list[bytes]]:
    """A talk of one request, and what was answered."""
    got: list[bytes] = []

    async def talk(socket: str, door: Door) -> None:
        got.append(await ask(socket, data))

    return talk, got


def raw_deflate(plain: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(plain) + packer.flush()


HALVES = gzip.compress(STREAM[:50]) + gzip.compress(STREAM[50:])


@pytest.mark.parametrize(
    "script",
    [
        answering(STREAM),
        answering(STREAM.replace(b"\n", b"\r\n")),
        answering(STREAM.replace(b"\n", b"\r")),
        answering(b"\xef\xbb\xbf: hello\n\n" + STREAM),
        answering(b"\xef\xbb\xbf" + event({**STOP, "usage": USAGE}) + DONE),
        answering((event(WORD) + event(STOP) + event(SPENT)).rstrip()),
        answering(STREAM, "text/plain"),
        answering(STREAM, "application/json"),
        answering(event(WORD) + event(STOP) + event(SPENT, 1) + DONE),
        answering(STREAM.replace(b"\n\n", b"\n")),
        answering(event(WORD) + event(SPENT) + event(STOP) + event({**SPENT, "usage": {"prompt_tokens": 0}}) + DONE),
        answering(event({**STOP, "choices": [{"index": 0, "finish_reason": "stop", "usage": USAGE}]}) + DONE),
        answering(event({**STOP, "x_groq": {"id": "req", "usage": USAGE}}) + DONE),
        answering(event({**STOP, "x_groq": {"usage": PART}, "usage": USAGE}) + DONE),
        answering(event({**STOP, "choices": [{"finish_reason": "stop", "usage": PART}], "usage": USAGE}) + DONE),
        answering(event(SPENT) + event(SPENT) + event(STOP) + DONE),
        answering(event({**SPENT, "usage": {**USAGE, "prompt_tokens": 100.0, "cost": 1e400}}) + event(STOP)),
        answering(HALVES, more="content-encoding: gzip\r\n"),
        answering(zlib.compress(STREAM), more="content-encoding: deflate\r\n"),
        answering(raw_deflate(STREAM), more="content-encoding: deflate\r\n"),
        answering(b'data: {"usage":' + b"[" * 100_000 + b"\n\n" + STREAM),
        answering(json.dumps({**HEAD, "choices": [], "usage": USAGE}).encode(), "text/event-stream"),
    ],
)
def test_however_an_answer_is_written_it_is_whole_and_counted(tmp_path: Path, script: Script) -> None:
    talk, got = one(a_request())
    (line,) = run(tmp_path, script, talk)
    assert (line.outcome, line.usage, line.response_id, line.price_usd) == ("answered", COUNTED, "answer-1", 0.00025)
    assert got[0].endswith(b"0\r\n\r\n") or b"content-length" in got[0]


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (b"{" + b" " * 1500 + json.dumps({**HEAD, "usage": USAGE}).encode()[1:], True),
        (b"{" + b" " * 2500 + json.dumps({**HEAD, "usage": USAGE}).encode()[1:], False),
        (event(WORD) * 20 + STREAM, True),
        (event(STOP) + event({**SPENT, "more": "x" * 1500}) + DONE, False),
    ],
)
def test_what_is_too_large_to_read_is_passed_on_and_its_tokens_are_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, kept: bool
) -> None:
    """The size of a document, or of one event of a stream."""
    monkeypatch.setattr("runner.gateway.answers.MAX_PLAIN_BYTES", 2000)
    monkeypatch.setattr("runner.gateway.answers.MAX_EVENT_BYTES", 1000)
    talk, got = one(a_request())
    (line,) = run(tmp_path, slowly(answer, 100), talk)
    assert (line.outcome, line.usage) == ("answered", COUNTED if kept else None)
    assert line.usage_reason == (None if kept else "the answer is too large to read")
    assert len(got[0]) > len(answer)


def test_an_error_under_the_name_of_a_stream_is_an_error(tmp_path: Path) -> None:
    talk, got = one(a_request())
    (line,) = run(tmp_path, answering(b'{"error": {"code": 429, "message": "slow down"}}'), talk)
    assert (line.outcome, line.fault) == ("error", "error: 429")
    assert b"slow down" in got[0]
    assert got[0].endswith(b"0\r\n\r\n") or b"content-length" in got[0]
    assert [taped.cut for taped in read_cassette(tmp_path / "tape")] == [False]


@pytest.mark.parametrize("said", [b"[]", b'{"object": "list"}'])
@pytest.mark.parametrize("size", [1, 100])
def test_a_list_of_models_is_whole_whatever_it_says(tmp_path: Path, said: bytes, size: int) -> None:
    talk, got = one(f"GET /v1/models HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n".encode())
    (line,) = run(tmp_path, slowly(said, size), talk)
    assert (line.outcome, line.usage_reason, line.price_usd) == ("answered", "no model was asked", None)
    assert got[0].endswith(b"0\r\n\r\n") or b"content-length" in got[0]


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
@pytest.mark.parametrize("field", ["message", "code"])
def test_an_error_in_an_answer_that_quotes_the_key_is_scrubbed(tmp_path: Path, kind: str, field: str) -> None:
    error = json.dumps({"error": {"type": "auth", field: f"no such key: Bearer {KEY}"}}).encode()
    talk, got = one(a_request())
    raw = error if kind == "application/json" else event(WORD) + b"data: " + error + b"\n\n"
    (line,) = run(tmp_path, answering(raw, kind), talk)
    assert (line.outcome, line.fault) == ("error", "error: auth")
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(KEY.encode() in place for place in [*got, *kept])
    assert b"no such key: Bearer [key]" in got[0]
    assert got[0].endswith(b"0\r\n\r\n") or b"content-length" in got[0]


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("quoted", [KEY, KEY.encode().hex(), base64.b64encode(f" {KEY} ".encode()).decode()])
def test_a_good_answer_that_quotes_the_key_is_scrubbed(tmp_path: Path, streamed: bool, quoted: str) -> None:
    """Whatever a broken provider says: the contestant must not learn the key from it."""
    said = f"you said Bearer {quoted}"
    whole = json.dumps({**HEAD, "usage": USAGE, "choices": [{"message": {"content": said}, "finish_reason": "stop"}]})
    raw = STREAM.replace(b"answer-1", said.encode()) if streamed else whole.encode()
    talk, got = one(a_request())
    (line,) = run(tmp_path, answering(raw, "text/event-stream" if streamed else "application/json"), talk)
    assert (line.outcome, line.usage) == ("answered", COUNTED)
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(quoted.encode() in place for place in [*got, *kept])
    assert re.search(rb"you said Bearer .{0,2}\[key\]", got[0])


def test_a_provider_that_would_pack_an_answer_is_not_asked_to(tmp_path: Path) -> None:
    """Packed, the key that it quotes could not be taken out in passing."""
    said = json.dumps({"error": {"message": f"no such key: Bearer {KEY}"}}).encode()

    async def script(asked: bytes, writer: asyncio.StreamWriter) -> None:
        wish = re.search(rb"accept-encoding: (.*)\r\n", asked)
        packed = wish is not None and b"gzip" in wish[1]
        more = "content-encoding: gzip\r\n" if packed else ""
        await answering(gzip.compress(said) if packed else said, "application/json", more)(asked, writer)

    talk, got = one(a_request(headers="Accept-Encoding: gzip, br\r\n"))
    run(tmp_path, script, talk)
    assert b"no such key: Bearer [key]" in got[0]


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        (b'"reasoning_effort": "hi\\ud83dgh"', STREAM),
        (b"", STREAM.replace(b"answer-1", b"answer-1\\ud83d")),
        (b"", b'data: {"provider": "\\ud83d"}\n\n' + STREAM),
    ],
)
def test_half_a_character_keeps_nothing_out_of_the_ledger(tmp_path: Path, given: bytes, answer: bytes) -> None:
    """JSON may hold what no text can: a contestant could ask for it, and be answered unseen."""
    talk, _ = one(a_request(given=given))
    (line,) = run(tmp_path, answering(answer), talk)
    assert (line.outcome, line.usage) == ("answered", COUNTED)


@pytest.mark.parametrize("name", ["models", "fallbacks"])
def test_no_other_model_may_step_in(tmp_path: Path, name: str) -> None:
    """A broker would ask the next one where the first refuses."""
    talk, got = one(a_request(given=f'"{name}": ["{MODEL}", "better/model"]'.encode()))
    (line,) = run(tmp_path, answering(STREAM), talk)
    assert (line.refused, got[0].split()[1]) == ("model", b"403")
    for nobody_else in (f'["{MODEL}"]', "[]", "null"):
        talk, got = one(a_request(given=f'"{name}": {nobody_else}'.encode()))
        assert run(tmp_path, answering(STREAM), talk)[-1].outcome == "answered"


def test_a_model_that_is_half_a_character_is_refused_and_booked(tmp_path: Path) -> None:
    body = b'{"model": "\\ud83d"}'
    talk, got = one(a_request().split(b"Content-Length")[0] + b"Content-Length: %d\r\nConnection: close\r\n\r\n"
                    % len(body) + body)  # fmt: skip
    (line,) = run(tmp_path, answering(STREAM), talk)
    assert (line.refused, got[0].split()[1]) == ("model", b"403")


@pytest.mark.parametrize("size", [100_000, 140_000, 200_000, 1_000_000])
def test_a_long_conversation_is_no_long_head(tmp_path: Path, size: int) -> None:
    """However much of it comes in one read."""
    talk, got = one(a_request(size))
    (line,) = run(tmp_path, answering(STREAM, wait_s=0.05), talk)
    assert line.outcome == "answered"
    assert got[0].endswith(b"0\r\n\r\n")


def test_nor_is_the_last_of_it_that_comes_late(tmp_path: Path) -> None:
    asked = a_request(200_000)

    async def talk(socket: str, door: Door) -> None:
        reader, writer = await asyncio.open_unix_connection(socket)
        for part in (asked[:50_000], asked[50_000:]):
            writer.write(part)
            await asyncio.sleep(0.05)
        assert (await reader.read()).endswith(b"0\r\n\r\n")
        writer.close()

    assert run(tmp_path, answering(STREAM, wait_s=0.05), talk)[0].outcome == "answered"


def test_what_stands_behind_a_body_is_no_header(tmp_path: Path) -> None:
    """Neither of the next request, nor of the next answer."""
    seen: list[bytes] = []

    async def script(asked: bytes, writer: asyncio.StreamWriter) -> None:
        seen.append(asked)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        writer.write(b"%x\r\n%b\r\n0\r\nx-behind: theirs\r\n\r\n" % (len(STREAM), STREAM))

    chunked = a_request().replace(b"Connection: close\r\n", b"").partition(b"\r\n\r\n")
    head = re.sub(rb"Content-Length: \d+", b"Transfer-Encoding: chunked", chunked[0])
    first = head + b"\r\n\r\n%x\r\n%b\r\n0\r\nX-Behind: ours\r\n\r\n" % (len(chunked[2]), chunked[2])
    talk, got = one(first + a_request())
    assert [line.outcome for line in run(tmp_path, script, talk)] == ["answered"] * 2
    assert len(seen) == 2
    assert b"behind" not in b"".join(seen).lower()
    assert b"behind" not in got[0].lower()


def test_a_provider_with_odd_headers_is_kept_on_tape(tmp_path: Path) -> None:
    talk, _ = one(a_request())
    run(tmp_path, answering(STREAM, more="x-host: caf\xe9\r\n"), talk)
    (taped,) = read_cassette(tmp_path / "tape")
    assert taped.answer == STREAM.decode()


def test_what_cannot_be_kept_makes_the_tape_incomplete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.gateway.cassette.gzip.compress", lambda *_, **__: (_ for _ in ()).throw(OSError()))
    talk, _ = one(a_request())
    run(tmp_path, answering(STREAM), talk)
    with pytest.raises(RigError, match="incomplete"):
        read_cassette(tmp_path / "tape")


@pytest.mark.parametrize("depth", [300, 900])
def test_what_is_nested_too_deeply_to_be_kept_is_asked_all_the_same(tmp_path: Path, depth: int) -> None:
    talk, _ = one(a_request(given=b'"odd": ' + b"[" * depth + b"]" * depth))
    assert run(tmp_path, answering(STREAM), talk)[0].usage == COUNTED
    with pytest.raises(RigError, match="incomplete"):
        read_cassette(tmp_path / "tape")


def test_a_name_that_leads_into_the_hosts_own_network_is_not_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("127.0.0.1", 443))])
    talk, got = one(f"CONNECT inner.example:443 HTTP/1.1\r\nProxy-Authorization: Bearer {TOKEN}\r\n\r\n".encode())
    (line,) = run(tmp_path, answering(STREAM), talk, hosts=["inner.example"])
    assert b"its name leads to no public address" in got[0]
    assert (line.protocol, line.note) == ("egress", "inner.example: its name leads to no public address")


def booked_later(stream_s: float, booked: str | None = None) -> Script:
    """A broker whose books know an answer that nobody heard to its end."""

    async def script(asked: bytes, writer: asyncio.StreamWriter) -> None:
        if b"/generation" in asked:
            data = {"total_cost": 0.5, "native_tokens_prompt": 70, "native_tokens_completion": 9}
            body = (booked or json.dumps({"data": data})).encode()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
            return
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + event(WORD))
        await asyncio.sleep(stream_s)
        writer.close()

    return script


@pytest.mark.parametrize("leaves", [True, False])
def test_a_broker_is_asked_about_an_answer_whose_agent_left_or_was_ended(tmp_path: Path, leaves: bool) -> None:
    async def talk(socket: str, door: Door) -> None:
        reader, writer = await asyncio.open_unix_connection(socket)
        writer.write(a_request())
        await reader.readuntil(b"delta")
        if leaves:
            writer.close()
            await asyncio.sleep(0.1)
        totals = await door.end()
        assert (totals.abandoned, totals.unmetered, totals.price_usd) == (1, 0, 0.5)

    (line,) = run(tmp_path, booked_later(3.0), talk, dialect="openrouter", accounting="generation")
    assert (line.outcome, line.usage) == ("abandoned", Usage(uncached_input=70, output=9))


def test_a_broker_whose_books_cannot_be_read_costs_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.gateway.generations.TRIES", 1)
    talk, _ = one(a_request())
    books = booked_later(0.0, "[" * 100_000)
    (line,) = run(tmp_path, books, talk, dialect="openrouter", accounting="generation")
    assert (line.outcome, line.usage, line.price_usd) == ("cut", None, None)


@pytest.mark.parametrize("caps", [Caps(requests=10), Caps(attempt=Caps(requests=10))])
def test_of_many_at_once_no_more_than_the_cap_pass(tmp_path: Path, caps: Caps) -> None:
    asked = 0

    async def script(request: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        await answering(STREAM, wait_s=0.05)(request, writer)

    async def talk(socket: str, door: Door) -> None:
        answers = await asyncio.gather(*(ask(socket, a_request()) for _ in range(64)))
        assert sorted(answer.split()[1] for answer in answers) == [b"200"] * 10 + [b"402"] * 54
        totals = door.totals("M01-1")
        assert (totals.answered, totals.refused, totals.usage.output) == (10, 54, 50)

    run(tmp_path, script, talk, caps=caps)
    assert asked == 10


@pytest.mark.parametrize(
    ("cap", "words"),
    [({"requests": 1}, "1 requests"), ({"tokens": 105}, "105 tokens"), ({"input_tokens": 100}, "100 input tokens"),
     ({"output_tokens": 5}, "5 output tokens"), ({"usd": 0.00025}, "0.00025 USD")],
)  # fmt: skip
@pytest.mark.parametrize("each", [True, False])
def test_a_cap_holds_for_the_run_or_for_each_attempt(
    tmp_path: Path, cap: dict[str, Any], words: str, each: bool
) -> None:
    async def talk(socket: str, door: Door) -> None:
        codes = []
        for attempt in ("M01-1", "M01-2"):
            await door.begin(attempt)
            codes += [(await ask(socket, a_request())).split()[1] for _ in range(2)]
        assert codes == ([b"200", b"402"] * 2 if each else [b"200", b"402", b"402", b"402"])
        assert door.totals("M01-1").cap == (f"{words} an attempt" if each else words)

    caps = Caps(attempt=Caps(**cap)) if each else Caps(**cap)
    lines = run(tmp_path, answering(STREAM), talk, caps=caps)
    assert [line.outcome for line in lines[:2]] == ["answered", "refused"]
