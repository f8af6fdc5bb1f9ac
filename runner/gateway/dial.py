"""Reaches a host, directly or through the company's proxy, with TLS where the address says so."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, cast
from urllib.parse import unquote, urlsplit

CONNECT_S = 30.0
SECOND_ADDRESS_S = 0.25
"""A name may have an address that leads nowhere: after this time the next one is tried beside it (RFC 8305)."""

MAX_HEAD = 1 << 16

P = TypeVar("P", bound=asyncio.Protocol)


class Unreachable(Exception):
    """There is no way to the host; the words name it and why, never a login."""


@dataclass(frozen=True)
class Address:
    """Where to connect. ``proxy``: the URL of the proxy in between, or None."""

    secure: bool
    host: str
    port: int
    name: str
    """As people wrote it, without a login."""
    proxy: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, url: str, proxy: str | None) -> Address:
        """Where ``url`` lives."""
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
        return cls(secure, parts.hostname or "", port, parts.netloc.rpartition("@")[2], proxy)

    @property
    def authority(self) -> str:
        """``host:port`` as a request line has it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def relayed(self) -> bool:
        """Whether the proxy reads each request itself, instead of carrying bytes."""
        return self.proxy is not None and not self.secure

    def proxy_login(self) -> str | None:
        """The value of Proxy-Authorization, where the proxy's URL holds a login."""
        return login_of(self.proxy) if self.proxy is not None else None


async def dial(make: Callable[[], P], address: Address, trust: ssl.SSLContext) -> P:
    """A connected protocol. Raises Unreachable."""
    try:
        async with asyncio.timeout(CONNECT_S):
            if address.proxy is not None and address.secure:
                return await _secure_through(make, address, trust)
            if address.proxy is not None:
                parts = urlsplit(address.proxy)
                return await _connect(make, *_end(address.proxy), trust if parts.scheme == "https" else None)
            return await _connect(make, address.host, address.port, trust if address.secure else None)
    except TimeoutError:
        raise Unreachable(f"{address.name} does not answer") from None
    except ssl.SSLError:
        raise Unreachable(f"{address.name} has no certificate that this machine trusts") from None
    except OSError as error:
        if address.relayed:
            raise Unreachable(f"the proxy {_name(address.proxy)} is unreachable") from None
        if isinstance(error, socket.gaierror):
            raise Unreachable(f"{address.name} is not a known host") from None
        raise Unreachable(f"{address.name} is unreachable ({_reason(error)})") from None


async def through(proxy: str, authority: str, trust: ssl.SSLContext) -> asyncio.Transport:
    """A tunnel to ``authority`` (``host:port``) made by a proxy; it wants a protocol. Raises Unreachable."""
    parts = urlsplit(proxy)
    try:
        said = await _connect(_Head, *_end(proxy), trust if parts.scheme == "https" else None)
    except OSError:
        raise Unreachable(f"the proxy {_name(proxy)} is unreachable") from None
    try:
        login = login_of(proxy)
        more = f"Proxy-Authorization: {login}\r\n" if login else ""
        said.transport.write(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{more}\r\n".encode())
        head = await said.head
        status = re.match(rb"HTTP/1\.[01] (\d{3})\b", head)
        if status is None or status[1] != b"200":
            reason = f" (HTTP {status[1].decode()})" if status is not None else ""
            raise Unreachable(f"the proxy {_name(proxy)} refuses {authority.rpartition(':')[0]}{reason}")
    except BaseException:
        said.transport.abort()
        raise
    return said.transport


class _Head(asyncio.Protocol):
    """Waits for what a proxy answers to CONNECT; nothing follows it before we speak."""

    def __init__(self) -> None:
        self.head: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        if (b"\r\n\r\n" in self._data or len(self._data) > MAX_HEAD) and not self.head.done():
            self.head.set_result(self._data)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.head.done():
            self.head.set_result(self._data)


def login_of(url: str) -> str | None:
    """The login in a URL as a header has it (``Basic ...``), or None."""
    parts = urlsplit(url)
    if parts.username is None:
        return None
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


async def _connect(make: Callable[[], P], host: str, port: int, trust: ssl.SSLContext | None) -> P:
    loop = asyncio.get_running_loop()
    _, protocol = await loop.create_connection(make, host, port, ssl=trust, happy_eyeballs_delay=SECOND_ADDRESS_S)
    return protocol


async def _secure_through(make: Callable[[], P], address: Address, trust: ssl.SSLContext) -> P:
    assert address.proxy is not None
    plain = await through(address.proxy, address.authority, trust)
    protocol = make()
    try:
        loop = asyncio.get_running_loop()
        transport = await loop.start_tls(plain, protocol, trust, server_hostname=address.host)
    except BaseException:
        plain.abort()
        raise
    if transport is None:
        raise ConnectionResetError
    protocol.connection_made(transport)
    return protocol


def _end(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def _name(url: str | None) -> str:
    return urlsplit(url or "").netloc.rpartition("@")[2]


def _reason(error: OSError) -> str:
    """In words; where several addresses were tried in vain, the reason that they share."""
    numbers = {int(number) for number in re.findall(r"\[Errno (\d+)\]", str(error))}
    number = error.errno or (numbers.pop() if len(numbers) == 1 else None)
    return os.strerror(number) if number else "no connection"
