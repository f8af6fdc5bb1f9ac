"""The agents' side of a door, over real sockets: however the bytes are cut, and however an agent behaves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.gateway import inbound
from runner.gateway.inbound import BodyTooLarge, Inbound, Reply, Request

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

THREE = (
    b"POST /v1/a%20b?q=1 HTTP/1.1\r\nHost: x\r\nX-Twice: 1\r\nX-Twice: 2\r\nContent-Length: 5\r\n\r\nfirst"
    b"POST /v1/b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nsec\r\n3;odd=1\r\nond\r\n0\r\nA: b\r\n\r\n"
    b"POST /v1/c HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 0\r\n\r\n"
    b"GET /v1/d HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
)


async def echo(request: Request) -> Reply:
    body = await request.read()
    await asyncio.sleep(0)
    seen = [request.method, request.path, request.query, request.headers.get("x-twice"), body.decode()]
    return Reply(200, json.dumps(seen).encode())


def serve(handle: inbound.Handle, talk: Talk) -> None:
    async def main() -> None:
        links: set[Inbound] = set()
        with TemporaryDirectory() as folder:
            path = str(Path(folder, "s"))
            server = await asyncio.get_running_loop().create_unix_server(lambda: Inbound(handle, links), path)
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                await asyncio.wait_for(talk(reader, writer), 20)
            finally:
                writer.close()
                server.close()
            for _ in range(100):
                if not links:
                    return
                await asyncio.sleep(0.01)
            raise AssertionError("a connection is left")

    asyncio.run(main())


async def answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    if "content-length" in headers:
        return int(head[0].split()[1]), headers, await reader.readexactly(int(headers["content-length"]))
    body = bytearray()
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return int(head[0].split()[1]), headers, bytes(body)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, len(THREE)), max_size=12))
def test_however_the_bytes_are_cut(cuts: list[int]) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = sorted({*cuts, len(THREE)})
        for start, end in zip([0, *ends], ends, strict=False):
            writer.write(THREE[start:end])
            await asyncio.sleep(0.001)
        seen = [json.loads((await answer(reader))[2]) for _ in range(4)]
        assert seen == [
            ["POST", "/v1/a b", "q=1", "1, 2", "first"],
            ["POST", "/v1/b", "", None, "second"],
            ["POST", "/v1/c", "", None, ""],
            ["GET", "/v1/d", "", None, ""],
        ]
        assert await reader.read() == b""

    serve(echo, talk)


def test_a_body_is_asked_for_only_where_it_is_wanted() -> None:
    async def handle(request: Request) -> Reply:
        return await echo(request) if request.path == "/read" else Reply(401)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = b"POST /%s HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
        writer.write(head % b"read")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"body")
        assert (await answer(reader))[2].endswith(b'"body"]')
        writer.write(head % b"refused")
        status, headers, _ = await answer(reader)
        assert (status, headers["connection"]) == (401, "close")
        writer.write(b"body")
        assert await reader.read() == b""

    serve(handle, talk)


def test_a_body_that_is_too_large_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbound, "MAX_BODY", 1 << 20)
    kept = []

    async def handle(request: Request) -> Reply:
        try:
            await request.read()
        except BodyTooLarge:
            kept.append(sum(map(len, request._parts)))
            return Reply(413)
        return Reply(200)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(40):
            writer.write(b"10000\r\n%b\r\n" % bytes(0x10000))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        assert (await answer(reader))[0] == 413
        assert await reader.read() == b""

    serve(handle, talk)
    assert kept == [0]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x16\x03\x01 nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nA: " + b"x" * (inbound.MAX_HEAD + 1), b"431"),
    ],
)
def test_what_is_no_request_ends_the_connection(sent: bytes, status: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        assert (await reader.read()).split()[1] == status

    serve(echo, talk)


def test_an_agent_that_leaves_cancels_its_request() -> None:
    ended = asyncio.Event()

    async def handle(request: Request) -> Reply:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.set()
            raise
        return Reply(200)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await asyncio.sleep(0.05)
        writer.close()
        await ended.wait()

    serve(handle, talk)


def test_an_agent_that_does_not_read_stops_the_answer() -> None:
    written = []

    async def handle(request: Request) -> None:
        request.start(200, {})
        for number in range(1000):
            request.write(bytes(1 << 14))
            written.append(number)
            await request.drain()
        request.end()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        agent = cast(asyncio.Transport, writer.transport)
        agent.pause_reading()
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await asyncio.sleep(0.2)
        assert 0 < len(written) < 200
        agent.resume_reading()
        assert len((await answer(reader))[2]) == 1000 << 14

    serve(handle, talk)


def test_an_answer_without_its_end_is_cut() -> None:
    async def handle(request: Request) -> None:
        request.start(200, {}, b"half")

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.read()).endswith(b"\r\n\r\n4\r\nhalf\r\n")

    serve(handle, talk)


def test_an_old_client_gets_no_chunks() -> None:
    async def handle(request: Request) -> None:
        request.start(200, {}, b"old ")
        request.write(b"words")
        request.end()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        assert (await reader.read()).endswith(b"\r\n\r\nold words")

    serve(handle, talk)


def test_a_tunnel_gets_every_byte() -> None:
    class Sink:
        def __init__(self) -> None:
            self.data = b""

        def feed(self, data: bytes) -> None:
            self.data += data

    sink = Sink()

    async def handle(request: Request) -> None:
        assert (request.target, request.path) == ("host.example:443", "")
        await asyncio.sleep(0.05)
        request.tunnel(sink).write(b"HTTP/1.1 200 OK\r\n\r\nback")
        await asyncio.sleep(0.1)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"CONNECT host.example:443 HTTP/1.1\r\nHost: host.example:443\r\n\r\n\x16early")
        await asyncio.sleep(0.02)
        writer.write(b" late")
        assert (await reader.read()).endswith(b"back")
        assert sink.data == b"\x16early late"

    serve(handle, talk)
