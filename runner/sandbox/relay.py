"""Carries the pod's 127.0.0.1 port to the gateway's unix socket. Runs inside the holder, as its main process.

Shipped as source (``python3 -c``), so it imports nothing but the standard library. Arguments: port, path of the
socket, seconds until it ends by itself.
"""

from __future__ import annotations

import asyncio
import socket
import sys

_CHUNK = 1 << 16
_CONNECTIONS = 512


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass bytes on as they come; the end of one direction ends that direction only."""
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


class Relay:
    """One listener; every connection gets its own to the gateway."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._open = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._open >= _CONNECTIONS:
            writer.transport.abort()
            return
        self._open += 1
        try:
            await self._carry(reader, writer)
        except OSError:
            pass  # one side went away, or the gateway is not there: the other side sees its connection end
        finally:
            self._open -= 1
            writer.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        up_reader, up_writer = await asyncio.open_unix_connection(self._path)
        tasks = [asyncio.ensure_future(_pump(reader, up_writer)), asyncio.ensure_future(_pump(up_reader, writer))]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            up_writer.close()


async def run(port: int, path: str, seconds: float) -> None:
    """Listen on 127.0.0.1 until ``seconds`` have passed."""
    server = await asyncio.start_server(Relay(path).serve, "127.0.0.1", port, backlog=256)
    async with server:
        await asyncio.sleep(seconds)


if __name__ == "__main__":
    asyncio.run(run(int(sys.argv[1]), sys.argv[2], float(sys.argv[3])))
