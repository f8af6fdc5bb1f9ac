"""Requests over a socket as cheaply as Python can make them, so that what is measured is the other end."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import cast


@dataclass(frozen=True)
class Target:
    """Where one request goes: a port of loopback, or a unix socket."""

    request: bytes
    port: int = 0
    path: str | None = None


@dataclass
class Tally:
    """What a load did. Seconds."""

    done: int = 0
    failed: int = 0
    seconds: float = 0.0
    first_byte: list[float] = field(default_factory=list)


class _Connection(asyncio.Protocol):
    """One keep-alive connection: a request, its answer, the next."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._answer: asyncio.Future[tuple[float, bytes]] | None = None
        self._first = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.out = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if not self._data:
            self._first = time.perf_counter()
        self._data += data
        if self._answer is not None and not self._answer.done() and _whole(self._data):
            self._answer.set_result((self._first, bytes(self._data[:12])))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError("closed"))

    async def ask(self, request: bytes) -> tuple[float, bool]:
        """Seconds to the first byte, and whether the answer is a whole 200."""
        self._data.clear()
        self._answer = asyncio.get_running_loop().create_future()
        started = time.perf_counter()
        self.out.write(request)
        first, status = await self._answer
        return first - started, status == b"HTTP/1.1 200"


def _whole(data: bytearray) -> bool:
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return False
    head = bytes(data[:end]).lower()
    at = head.find(b"content-length:")
    if at >= 0:
        return len(data) >= end + 4 + int(head[at + 15 :].split(b"\r\n", 1)[0])
    return data.endswith(b"0\r\n\r\n")


async def connect(target: Target) -> _Connection:
    loop = asyncio.get_running_loop()
    if target.path is not None:
        return (await loop.create_unix_connection(_Connection, target.path))[1]
    return (await loop.create_connection(_Connection, "127.0.0.1", target.port))[1]


async def alternate(targets: list[Target], rounds: int, pause: float) -> list[Tally]:
    """Ask each target in turn, ``rounds`` times, one request at a time: what burdens one burdens the others."""
    links = [await connect(target) for target in targets]
    tallies = [Tally() for _ in targets]
    for _ in range(rounds):
        for target, link, tally in zip(targets, links, tallies, strict=True):
            seconds, ok = await link.ask(target.request)
            tally.first_byte.append(seconds)
            tally.done += ok
            tally.failed += not ok
        await asyncio.sleep(pause)
    for link in links:
        link.out.close()
    return tallies


async def storm(target: Target, connections: int, seconds: float) -> Tally:
    """As many requests as come back within ``seconds`` over ``connections`` at once."""
    tally = Tally()
    links = await asyncio.gather(*(connect(target) for _ in range(connections)))
    started = time.perf_counter()

    async def work(link: _Connection) -> None:
        while time.perf_counter() - started < seconds:
            _, ok = await link.ask(target.request)
            tally.done += ok
            tally.failed += not ok

    await asyncio.gather(*map(work, links))
    tally.seconds = time.perf_counter() - started
    for link in links:
        link.out.close()
    return tally
