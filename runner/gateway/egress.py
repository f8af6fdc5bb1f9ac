"""The one other way out of a pod: a tunnel to a host that the benchmark names. CONNECT only, port 443 only.

Default none. It is for benchmarks that need a package registry; what a contestant says through it is not looked at,
only how much it was stands in the ledger.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from runner.gateway.dial import Unreachable, through
from runner.gateway.exchange import Exchange
from runner.gateway.inbound import Reply, Request
from runner.gateway.proxy import proxy_for
from runner.schema.ledger import LedgerLine

PORT = 443
CONNECT_S = 20.0
MOST = 32
CHUNK = 1 << 16
MAX_BUFFER = 1 << 20
_NAME = re.compile(r"(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]")

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_UNICAST = ipaddress.IPv6Network("2000::/3")
"""All that is handed out of version 6; what lies beside it leads to a network of somebody's own, if anywhere."""


class Refused(Exception):
    """The host cannot be reached; the words are for the agent."""


class Egress:
    """All tunnels of one gateway. ``env`` names the company's proxy, ``context`` whom to trust on the way to it."""

    def __init__(self, env: Mapping[str, str], context: ssl.SSLContext) -> None:
        self._env, self._context = env, context
        self._open = 0

    def allowed(self, target: str, hosts: Iterable[str]) -> str | None:
        """The host of ``name:443`` if it is one of ``hosts``, by exact name; addresses are never allowed."""
        name, _, port = target.rpartition(":")
        name = name.lower().removesuffix(".")
        return name if port == str(PORT) and is_host_name(name) and name in hosts else None

    async def tunnel(
        self, request: Request, exchange: Exchange, host: str, write: Callable[[LedgerLine], LedgerLine]
    ) -> Reply | None:
        """Carry bytes until either side ends it; writes the ledger line."""
        if self._open >= MOST:
            write(exchange.refused(429, f"busy: {MOST} tunnels", 0))
            return Reply(429)
        self._open += 1
        try:
            try:
                async with asyncio.timeout(CONNECT_S):
                    reader, writer = await self._reach(host)
            except (OSError, TimeoutError, Refused, Unreachable) as error:
                why = str(error) if isinstance(error, Refused | Unreachable) else "it cannot be reached"
                write(exchange.failed(f"{host}: {why}").model_copy(update={"fault": None, "note": f"{host}: {why}"}))
                return Reply(502, f"{host}: {why}\n".encode(), {"content-type": "text/plain"})
            await _carry(request, exchange, reader, writer, write)
            return None
        finally:
            self._open -= 1

    async def _reach(self, host: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        proxy = proxy_for(f"https://{host}", self._env)
        if proxy is not None:
            return _streams(await through(proxy, f"{host}:{PORT}", self._context))
        addresses = await asyncio.get_running_loop().getaddrinfo(host, PORT, type=socket.SOCK_STREAM)
        # A name that leads into the host's own network would open what the pod is closed against.
        public = [where[4][0] for where in addresses if is_public(str(where[4][0]))]
        if not public:
            raise Refused("its name leads to no public address")
        return await asyncio.open_connection(str(public[0]), PORT)


def is_host_name(name: str) -> bool:
    """Whether ``name`` is a full host name in small letters, and no address."""
    return _NAME.fullmatch(name) is not None


def is_public(address: str) -> bool:
    """Whether an address is everybody's: also the one of version 4 that a gateway would read out of a longer one."""
    found = ipaddress.ip_address(address)
    if isinstance(found, ipaddress.IPv6Address):
        inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF) if found in _NAT64 else found.sixtofour
        if found not in _UNICAST if inner is None else not is_public(str(inner)):
            return False
    return found.is_global and not found.is_multicast


def _streams(transport: asyncio.Transport) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=CHUNK, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


class _Up:
    """What the agent sends, once its connection is a tunnel."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.source: asyncio.Transport | None = None
        self.size = 0
        self._draining: asyncio.Task[None] | None = None

    def feed(self, data: bytes) -> None:
        self.size += len(data)
        self._writer.write(data)
        if self._writer.transport.get_write_buffer_size() > MAX_BUFFER and self._draining is None:
            self._draining = asyncio.create_task(self._drain())

    async def _drain(self) -> None:
        source = self.source
        if source is not None:
            source.pause_reading()
        try:
            await self._writer.drain()
        except OSError:
            return  # the other end is gone; reading from it says so
        self._draining = None
        if source is not None and not source.is_closing():
            source.resume_reading()


async def _carry(
    request: Request,
    exchange: Exchange,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    write: Callable[[LedgerLine], LedgerLine],
) -> None:
    """Until either side ends it: an agent that leaves cancels this task."""
    up, received = _Up(writer), 0
    try:
        with suppress(OSError):  # either side may go away: that is how tunnels end
            up.source = transport = request.tunnel(up)
            transport.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            while data := await reader.read(CHUNK):
                received += len(data)
                transport.write(data)
                await request.drain()
    finally:
        write(exchange.tunnelled(up.size, received, None))
        writer.close()
