"""The one other way out of a pod: a tunnel to a host that the benchmark names. CONNECT only, port 443 only.

Default none. It is for benchmarks that need a package registry; what a contestant says through it is not looked at,
only how much it was stands in the ledger.
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import re
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import unquote, urlsplit

from aiohttp import web

from runner.gateway.exchange import Exchange
from runner.gateway.proxy import proxy_for
from runner.schema.ledger import LedgerLine

PORT = 443
CONNECT_S = 20.0
MOST = 32
CHUNK = 1 << 16
MAX_BUFFER = 1 << 20
_NAME = re.compile(r"(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]")


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
        self, request: web.BaseRequest, exchange: Exchange, host: str, write: Callable[[LedgerLine], LedgerLine]
    ) -> web.StreamResponse:
        """Carry bytes until either side ends it; writes the ledger line."""
        if self._open >= MOST:
            write(exchange.refused(429, f"busy: {MOST} tunnels", 0))
            return web.Response(status=429)
        self._open += 1
        try:
            try:
                async with asyncio.timeout(CONNECT_S):
                    reader, writer = await self._reach(host)
            except (OSError, TimeoutError, Refused, asyncio.IncompleteReadError) as error:
                why = str(error) if isinstance(error, Refused) else "it cannot be reached"
                write(exchange.failed(f"{host}: {why}").model_copy(update={"fault": None, "note": f"{host}: {why}"}))
                return web.Response(status=502, text=f"{host}: {why}\n")
            return await _carry(request, exchange, reader, writer, write)
        finally:
            self._open -= 1

    async def _reach(self, host: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        proxy = proxy_for(f"https://{host}", self._env)
        if proxy is not None:
            return await self._through(proxy, host)
        addresses = await asyncio.get_running_loop().getaddrinfo(host, PORT, type=socket.SOCK_STREAM)
        # A name that leads into the host's own network would open what the pod is closed against.
        public = [where[4][0] for where in addresses if ipaddress.ip_address(where[4][0]).is_global]
        if not public:
            raise Refused("its name leads to no public address")
        return await asyncio.open_connection(str(public[0]), PORT)

    async def _through(self, proxy: str, host: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        parts = urlsplit(proxy)
        secure = parts.scheme == "https"
        reader, writer = await asyncio.open_connection(
            parts.hostname, parts.port or (443 if secure else 80), ssl=self._context if secure else None
        )
        login = ""
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            login = f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}\r\n"
        writer.write(f"CONNECT {host}:{PORT} HTTP/1.1\r\nHost: {host}:{PORT}\r\n{login}\r\n".encode())
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            head = b""
        if re.match(rb"HTTP/1\.[01] 200\b", head) is None:
            writer.close()
            raise Refused("the proxy of this network refuses it")
        return reader, writer


def is_host_name(name: str) -> bool:
    """Whether ``name`` is a full host name in small letters, and no address."""
    return _NAME.fullmatch(name) is not None


class _Inbound:
    """What the agent sends, once its connection is a tunnel."""

    def __init__(self, source: asyncio.Transport, writer: asyncio.StreamWriter) -> None:
        self._source, self._writer = source, writer
        self.size = 0
        self.ended = asyncio.Event()
        self._draining: asyncio.Task[None] | None = None

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self.size += len(data)
        self._writer.write(data)
        if self._writer.transport.get_write_buffer_size() > MAX_BUFFER and self._draining is None:
            self._source.pause_reading()
            self._draining = asyncio.create_task(self._drain())
        return False, b""

    async def _drain(self) -> None:
        try:
            await self._writer.drain()
        except OSError:
            self.ended.set()
        self._draining = None
        if not self._source.is_closing():
            self._source.resume_reading()

    def feed_eof(self) -> None:
        self.ended.set()

    def set_exception(self, *_: object) -> None:
        self.ended.set()


async def _carry(
    request: web.BaseRequest,
    exchange: Exchange,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    write: Callable[[LedgerLine], LedgerLine],
) -> web.StreamResponse:
    transport = request.transport
    received = 0
    if transport is None:
        writer.close()
        return web.Response(status=499)
    inbound = _Inbound(transport, writer)
    try:
        transport.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        request.protocol.set_parser(inbound)  # type: ignore[arg-type]  # anything that is fed bytes will do
        gone = asyncio.ensure_future(inbound.ended.wait())
        try:
            while True:
                more = asyncio.ensure_future(reader.read(CHUNK))
                await asyncio.wait([more, gone], return_when=asyncio.FIRST_COMPLETED)
                if not more.done():
                    more.cancel()
                    break
                data = more.result()
                if not data:
                    break
                received += len(data)
                transport.write(data)
                await request.protocol._drain_helper()
        except (OSError, ConnectionError):
            pass  # either side went away: that is how tunnels end
        finally:
            gone.cancel()
        return web.Response(status=200)
    finally:
        write(exchange.tunnelled(inbound.size, received, None))
        writer.close()
        transport.close()
