"""A key that an answer quotes does not reach the contestant, wherever the network cuts it; nothing else waits."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path

import pytest

from runner.gateway.door import Door
from runner.schema.ledger import Usage
from tests.unit.gateway.test_door import (
    COUNTED,
    DONE,
    HEAD,
    KEY,
    SPENT,
    STOP,
    STREAM,
    USAGE,
    WORD,
    Script,
    a_request,
    event,
    one,
    run,
    slowly,
)

FORMS = [KEY, KEY.encode().hex().upper(), base64.b64encode(f" {KEY} ".encode()).decode()]


def unframed(answer: bytes) -> bytes:
    """The body of an answer."""
    head, _, rest = answer.partition(b"\r\n\r\n")
    body = b""
    if b"content-length" in head:
        return rest
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        body, rest = body + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    return body


def kept(tmp_path: Path) -> list[bytes]:
    return [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("size", [1, 7, 64])
@pytest.mark.parametrize("quoted", FORMS)
def test_a_key_in_pieces_is_scrubbed(tmp_path: Path, streamed: bool, size: int, quoted: str) -> None:
    said = {**HEAD, "id": f"you said {quoted} twice: {quoted}", "usage": USAGE, "choices": [{"finish_reason": "stop"}]}
    raw = event(WORD) + event(said) + DONE if streamed else json.dumps(said).encode()
    talk, got = one(a_request())
    (line,) = run(tmp_path, slowly(raw, size), talk)
    assert (line.outcome, line.usage) == ("answered", COUNTED)
    body = unframed(got[0])
    assert body.count(b"[key]") == 2
    digits = quoted.encode()[3:-6]  # base64 at the ends is its neighbours' as well
    assert not any(digits.lower() in place.lower() for place in [body, *kept(tmp_path)])


@pytest.mark.parametrize("size", [1, 3, 11, 10_000])
def test_what_only_begins_like_it_comes_through_whole(tmp_path: Path, size: int) -> None:
    words = f"{KEY[:-1]} {KEY[:5]}{KEY[:5]} {KEY.encode().hex()[:-1]} s"
    raw = event({**WORD, "words": words}) + STREAM + KEY[:9].encode()
    talk, got = one(a_request())
    (line,) = run(tmp_path, slowly(raw, size), talk)
    assert (line.outcome, line.usage, unframed(got[0])) == ("answered", COUNTED, raw)


def torn(raw: bytes, size: int) -> Script:
    """A stream whose connection ends too early."""

    async def script(asked: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
        for at in range(0, len(raw), size):
            writer.write(raw[at : at + size])
            await writer.drain()
            await asyncio.sleep(0.002)
        writer.close()

    return script


def test_a_stream_that_breaks_off_ends_with_its_last_byte(tmp_path: Path) -> None:
    raw = event(WORD) + event(SPENT) + b"data: " + KEY[:3].encode()
    talk, got = one(a_request())
    (line,) = run(tmp_path, torn(raw, 100), talk)
    assert (line.outcome, line.usage) == ("cut", COUNTED)
    assert unframed(got[0]) == raw


def test_a_piece_is_not_held_for_the_next(tmp_path: Path) -> None:
    """Each event is there before the next one is sent, also where it looks like a key at its end."""
    arrived: asyncio.Queue[bytes] = asyncio.Queue()

    async def script(asked: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        for piece in (event({**WORD, "n": KEY[:20]}), event(WORD), event(SPENT), event(STOP), DONE):
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
            assert await asyncio.wait_for(arrived.get(), 5) == piece
        writer.write(b"0\r\n\r\n")

    async def talk(socket: str, door: Door) -> None:
        reader, writer = await asyncio.open_unix_connection(socket)
        writer.write(a_request())
        await reader.readuntil(b"\r\n\r\n")
        while size := int(await reader.readline(), 16):
            arrived.put_nowait(await reader.readexactly(size))
            await reader.readexactly(2)
        writer.close()

    (line,) = run(tmp_path, script, talk)
    assert (line.outcome, line.usage) == ("answered", COUNTED)


@pytest.mark.parametrize("key", ["ollama", "sk-", "Password", "placeholder", "lm-studio", "no-key-required"])
def test_a_placeholder_is_no_secret(tmp_path: Path, key: str) -> None:
    """What a local server takes for a key may be a word of the language: it is not taken out of what a model says."""
    raw = event({**WORD, "words": f"<input {key.lower()}='{key}'> sk-"}) + STREAM
    talk, got = one(a_request())
    (line,) = run(tmp_path, slowly(raw, 5), talk, key=key.lower())
    assert (line.usage, unframed(got[0])) == (Usage(uncached_input=60, cache_read=40, output=5), raw)


@pytest.mark.parametrize("key", ["passw0rd", "passWord", "one-two-three-four-five", "pass word", "p\u00e4ssword"])
def test_what_may_be_a_secret_is_one(tmp_path: Path, key: str) -> None:
    raw = event({**WORD, "words": f"I got {key}"}) + STREAM
    talk, got = one(a_request())
    run(tmp_path, slowly(raw, 5), talk, key=key)
    assert b"I got [key]" in unframed(got[0])
