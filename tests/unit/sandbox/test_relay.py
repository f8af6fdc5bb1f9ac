"""The relay on this host's loopback."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

from runner.sandbox.relay import run

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Client = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def with_relay(
    path: Path,
    handler: Handler | None,
    client: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]],
) -> bytes:
    port = free_port()
    relay = asyncio.create_task(run(port, str(path), 60))
    server = await asyncio.start_unix_server(handler, path) if handler else None
    try:
        for _ in range(100):
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                break
            except OSError:
                await asyncio.sleep(0.01)
        answer = await asyncio.wait_for(client(reader, writer), 20)
        writer.close()
        return answer
    finally:
        relay.cancel()
        if server:
            server.close()


def test_half_close_both_ways_and_large_bodies(tmp_path: Path) -> None:
    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = await reader.read()
        writer.write(str(len(body)).encode() + b":" + body[:5_000_000])
        await writer.drain()
        writer.close()

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(b"x" * 5_000_000)
        writer.write_eof()
        return await reader.read()

    answer = asyncio.run(with_relay(tmp_path / "s", count, client))
    assert answer == b"5000000:" + b"x" * 5_000_000


def test_a_slow_stream_comes_chunk_by_chunk(tmp_path: Path) -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number in range(3):
            writer.write(b"%d" % number)
            await reader.readexactly(1)  # the next one only once the last one has arrived
        writer.close()

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        seen = b""
        while piece := await reader.read(10):
            seen += piece
            writer.write(b"k")
        return seen

    assert asyncio.run(with_relay(tmp_path / "s", drip, client)) == b"012"


def test_no_gateway_ends_the_connection(tmp_path: Path) -> None:
    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        return await reader.read()

    assert asyncio.run(with_relay(tmp_path / "absent", None, client)) == b""


def test_it_ends_by_itself(tmp_path: Path) -> None:
    asyncio.run(asyncio.wait_for(run(free_port(), str(tmp_path / "s"), 0.05), 5))
