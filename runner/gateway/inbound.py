"""The agents' side of a door: HTTP/1.1 over a unix socket, parsed by httptools, one request at a time a connection."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Protocol, cast
from urllib.parse import unquote

import httptools

from runner.gateway.outbound import add_header

MAX_HEAD = 1 << 17
MAX_BODY = 128 << 20
MAX_EARLY = 1 << 16
_REASONS = {status.value: status.phrase for status in HTTPStatus}
_BODILESS = (204, 304)


class BodyTooLarge(Exception):
    """A request has more than MAX_BODY bytes."""


@dataclass(frozen=True)
class Reply:
    """A whole answer."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "application/json"})


class Sink(Protocol):
    """What takes the bytes of a connection that has become a tunnel."""

    def feed(self, data: bytes) -> None: ...


Handle = Callable[["Request"], Awaitable[Reply | None]]
"""Answers a request: with a whole reply, or with None where it has answered piece by piece."""


class Request:
    """One request, and the way back. ``path`` is decoded, ``query`` is not; both are empty for CONNECT."""

    def __init__(
        self, link: Inbound, method: str, target: bytes, headers: dict[str, str], *, last: bool, old: bool
    ) -> None:
        self.method, self.headers = method, headers
        self.target = target.decode("latin-1")
        self.path = self.query = ""
        if method != "CONNECT":
            url = httptools.parse_url(target)
            self.path = unquote((url.path or b"").decode("latin-1"))
            self.query = (url.query or b"").decode("latin-1")
        self.last = last
        """No other request follows on this connection."""
        self.whole = self.answered = False
        self._link, self._old = link, old
        self._chunked = not old
        self._parts: list[bytes] = []
        self._size = 0
        self._waiter: asyncio.Future[None] | None = None

    async def read(self) -> bytes:
        """The body. Raises BodyTooLarge."""
        if not self.whole and self._size <= MAX_BODY:
            if self.headers.get("expect", "").lower() == "100-continue":
                self._link.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        if self._size > MAX_BODY:
            raise BodyTooLarge
        parts, self._parts = self._parts, []
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def send(self, reply: Reply) -> None:
        """The whole answer at once."""
        self.last = self.last or not self.whole
        length = "" if reply.status in _BODILESS else f"content-length: {len(reply.body)}\r\n"
        self._link.write(self._head(reply.status, reply.headers, length) + reply.body)
        self.answered = True

    def start(self, status: int, headers: Mapping[str, str], first: bytes = b"") -> None:
        """The head of an answer that comes in pieces, and its first piece if there is one already."""
        self._chunked = status not in _BODILESS and not self._old
        framing = "transfer-encoding: chunked\r\n" if self._chunked else ""
        self._link.write(self._head(status, headers, framing) + self._framed(first))

    def write(self, data: bytes) -> None:
        """A piece. Raises ConnectionResetError where nobody listens any more."""
        if self._link.closing:
            raise ConnectionResetError
        self._link.write(self._framed(data))

    async def drain(self) -> None:
        """Wait until a slow agent has taken most of what was written. Raises ConnectionResetError."""
        await self._link.drain()

    def end(self) -> None:
        """Nothing more comes: the answer is whole."""
        if self._chunked:
            self._link.write(b"0\r\n\r\n")
        self.answered = True

    def tunnel(self, sink: Sink) -> asyncio.Transport:
        """From now on the connection carries bytes: to ``sink``, and back over the transport."""
        return self._link.tunnel(sink)

    def _head(self, status: int, headers: Mapping[str, str], framing: str) -> bytes:
        lines = [f"HTTP/1.1 {status} {_REASONS.get(status, '')}\r\n"]
        lines += [f"{name}: {value}\r\n" for name, value in headers.items()]
        lines += [framing, "connection: close\r\n\r\n" if self.last else "\r\n"]
        return "".join(lines).encode("utf-8", "surrogateescape")

    def _framed(self, data: bytes) -> bytes:
        return b"%x\r\n%b\r\n" % (len(data), data) if self._chunked and data else data

    # what the connection says

    def body_in(self, data: bytes) -> None:
        self._size += len(data)
        if self.answered or self._size > MAX_BODY:
            self._parts = []
            self._wake()
        else:
            self._parts.append(data)

    def body_end(self) -> None:
        self.whole = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Inbound(asyncio.Protocol):
    """One connection of an agent's. ``handle`` is cancelled when the agent leaves."""

    def __init__(self, handle: Handle, all_of_them: set[Inbound]) -> None:
        self._handle, self._all = handle, all_of_them
        self._parser = httptools.HttpRequestParser(self)
        self._target = b""
        self._headers: dict[str, str] = {}
        self._head = 0
        self._current: Request | None = None
        self._arriving: Request | None = None
        self._latest: Request | None = None
        self._queue: deque[Request] = deque()
        self._task: asyncio.Task[None] | None = None
        self._slow: asyncio.Future[None] | None = None
        self._sink: Sink | None = None
        self._early = b""

    @property
    def closing(self) -> bool:
        return self._transport.is_closing()

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    async def drain(self) -> None:
        if self._slow is not None:
            await self._slow
        if self.closing:
            raise ConnectionResetError

    def tunnel(self, sink: Sink) -> asyncio.Transport:
        self._sink = sink
        if self._early:
            sink.feed(self._early)
        self._transport.resume_reading()
        return self._transport

    def end(self) -> None:
        """The door closes."""
        self._transport.abort()

    # what asyncio says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._all.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.discard(self)
        self.resume_writing()
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        self._slow = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        slow, self._slow = self._slow, None
        if slow is not None and not slow.done():
            slow.set_result(None)

    def data_received(self, data: bytes) -> None:
        if self._sink is not None:
            self._sink.feed(data)
            return
        body, latest = self._arriving, self._latest
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._upgraded(data[upgrade.args[0] :])
        except (httptools.HttpParserError, httptools.HttpParserCallbackError):
            self._unreadable(400)
        if body is None and self._arriving is None and self._latest is latest:  # nothing but a head
            self._head += len(data)
            if self._head > MAX_HEAD:
                self._unreadable(431)

    # what httptools says

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        add_header(self._headers, name, value)

    def on_headers_complete(self) -> None:
        parser = self._parser
        method = parser.get_method().decode("latin-1")
        old = parser.get_http_version() == "1.0"
        last = old or method == "CONNECT" or not parser.should_keep_alive()
        request = Request(self, method, self._target, self._headers, last=last, old=old)
        self._target, self._headers, self._head = b"", {}, 0
        self._arriving = self._latest = request
        if self._current is None:
            self._begin(request)
        else:
            self._queue.append(request)
            self._transport.pause_reading()

    def on_body(self, data: bytes) -> None:
        assert self._arriving is not None
        self._arriving.body_in(data)

    def on_message_complete(self) -> None:
        assert self._arriving is not None
        self._headers = {}  # what stands behind a body is nobody's header
        self._arriving.body_end()
        self._arriving = None
        self._next()

    def _upgraded(self, rest: bytes) -> None:
        """CONNECT: what follows belongs to the tunnel. Any other change of protocol is not taken up."""
        if self._latest is not None and self._latest.method == "CONNECT":
            self._early = rest
            self._transport.pause_reading()
            return
        self._parser = httptools.HttpRequestParser(self)
        if rest:
            self.data_received(rest)

    def _unreadable(self, status: int) -> None:
        if self._current is None and not self.closing:
            self.write(
                f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode()
            )
        self._transport.close()

    def _begin(self, request: Request) -> None:
        self._current = request
        self._task = asyncio.get_running_loop().create_task(self._serve(request))

    async def _serve(self, request: Request) -> None:
        try:
            reply = await self._handle(request)
            if reply is not None:
                request.send(reply)
        finally:
            # Without its end mark the agent sees that an answer is not whole.
            self._task = None
            if request.answered:
                self._next()
            else:
                self._transport.close()

    def _next(self) -> None:
        """Go on where a request has been read and answered."""
        request = self._current
        if request is None or not request.answered or not request.whole:
            return
        self._current = None
        if request.last:
            self._transport.close()
        elif self._queue:
            self._begin(self._queue.popleft())
            if not self._queue:
                self._transport.resume_reading()
