"""The provider's side, against servers that write what they like, in whatever pieces."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.gateway import outbound
from runner.gateway.dial import Address, Unreachable
from runner.gateway.outbound import Cut, Outbound

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Talk = Callable[[Outbound], Awaitable[None]]

CHUNKED = (
    b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nX-Who: me\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n6\r\n words\r\n0\r\n\r\n"
)
SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfour"


def against(script: Script, talk: Talk, *, path: str = "") -> int:
    """Run ``talk`` against a server that does ``script`` on every connection; how many there were."""
    count = 0

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        try:
            await script(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        out = Outbound(Address.of(f"http://127.0.0.1:{port}{path}", None), ssl.create_default_context())
        try:
            await asyncio.wait_for(talk(out), 20)
        finally:
            out.close()
            server.close()

    asyncio.run(main())
    return count


def always(data: bytes, cuts: list[int] | None = None) -> Script:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            ends = sorted({*(cuts or []), len(data)})
            for start, end in zip([0, *ends], ends, strict=False):
                writer.write(data[start:end])
                await asyncio.sleep(0.001)

    return script


async def ask(out: Outbound, body: bytes | None = None) -> tuple[int, bytes]:
    answer = await out.ask("POST", "/x", {"a": "b"}, body)
    try:
        return answer.status, await answer.read(1 << 30)
    finally:
        answer.close()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, len(CHUNKED)), max_size=10))
def test_however_an_answer_is_cut_the_connection_is_kept(cuts: list[int]) -> None:
    async def talk(out: Outbound) -> None:
        assert [await ask(out) for _ in range(3)] == [(200, b"four words")] * 3

    assert against(always(CHUNKED, cuts), talk) == 1


def test_a_connection_that_was_idle_for_long_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbound, "KEEPALIVE_S", 0.05)

    async def talk(out: Outbound) -> None:
        for _ in range(2):
            await ask(out)
            await asyncio.sleep(0.15)
            assert not out._idle

    assert against(always(SIZED), talk) == 2


@pytest.mark.parametrize(
    "data",
    [
        SIZED.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"),
        SIZED + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged",
        SIZED.replace(b"1.1", b"1.0"),
    ],
)
def test_a_connection_that_ends_or_says_too_much_is_not_kept(data: bytes) -> None:
    async def talk(out: Outbound) -> None:
        assert [await ask(out) for _ in range(2)] == [(200, b"four")] * 2

    assert against(always(data), talk) == 2


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n",
        b"SSH-2.0-server\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * (outbound.MAX_HEAD + 9),
    ],
)
def test_an_answer_that_is_none_or_not_whole_is_cut(data: bytes) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(data)
        await writer.drain()

    async def talk(out: Outbound) -> None:
        with pytest.raises(Cut):
            await ask(out)
        assert not out._idle

    against(script, talk)


def test_an_answer_may_end_with_its_connection() -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nall of it")

    async def talk(out: Outbound) -> None:
        assert await ask(out) == (200, b"all of it")

    against(script, talk)


def test_a_body_of_megabytes_arrives_whole() -> None:
    body, seen = bytes(range(256)) * (5 << 12), []

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"POST /x HTTP/1.1\r\nhost: 127.0.0.1:")
        assert b"content-length: %d\r\n" % len(body) in head
        seen.append(await reader.readexactly(len(body)) == body)
        writer.write(SIZED)
        await reader.read()

    async def talk(out: Outbound) -> None:
        assert await ask(out, body) == (200, b"four")

    against(script, talk)
    assert seen == [True]


def test_a_slow_agent_makes_the_provider_wait() -> None:
    sent = 0

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (64 << 20))
        for _ in range(64):
            writer.write(bytes(1 << 20))
            await writer.drain()
            sent += 1

    async def talk(out: Outbound) -> None:
        answer = await out.ask("GET", "/", {})
        await asyncio.sleep(0.5)
        assert sent < 40
        assert answer._waiting < outbound.MOST_WAITING + (1 << 20)
        size = 0
        while piece := await answer.piece():
            size += len(piece)
        assert size == 64 << 20
        answer.close()

    against(script, talk)


def test_one_that_is_given_up_is_ended() -> None:
    gone = asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await reader.read()
        gone.set()

    async def talk(out: Outbound) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await out.ask("GET", "/", {})
        await gone.wait()

    against(script, talk)


def test_nobody_listens() -> None:
    async def main(name: str) -> None:
        await Outbound(Address.of(f"http://{name}:9/v1", None), ssl.create_default_context()).ask("GET", "/", {})

    for name in ("127.0.0.1", "localhost"):
        with pytest.raises(Unreachable, match=rf"^{name}:9 is unreachable \(Connection refused\)$"):
            asyncio.run(main(name))


def test_a_plain_address_is_asked_through_the_proxy_itself() -> None:
    seen = []

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(SIZED)

    async def main() -> None:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await script(reader, writer)
            writer.close()

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        proxy = f"http://user:pass%40word@127.0.0.1:{server.sockets[0].getsockname()[1]}"
        out = Outbound(Address.of("http://models.example:8080/v1", proxy), ssl.create_default_context())
        assert await ask(out) == (200, b"four")
        out.close()
        server.close()

    asyncio.run(main())
    assert seen[0].startswith(b"POST http://models.example:8080/x HTTP/1.1\r\nhost: models.example:8080\r\n")
    assert b"proxy-authorization: Basic dXNlcjpwYXNzQHdvcmQ=\r\n" in seen[0]
