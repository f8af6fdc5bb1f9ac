"""The provider's side: requests over connections that are kept, answers as they arrive. Parsed by httptools."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Mapping
from typing import cast

import httptools

from runner.gateway.dial import Address, dial

KEEPALIVE_S = 4.0
"""Servers close idle connections after five seconds or more: one that was idle for longer than this is not used."""
MOST_WAITING = 1 << 18
"""Bytes of an answer that may wait for a slow agent before the provider is made to wait."""
MAX_HEAD = 1 << 18


class Cut(Exception):
    """The provider ended the connection, or spoke no HTTP, before its answer was whole."""


class Answer:
    """One answer. Its status and headers are there; its body comes in pieces."""

    def __init__(self, link: _Link) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.whole = False
        """Nothing more will come."""
        self._link = link
        self._pieces: deque[bytes] = deque()
        self._waiting = 0
        self._error: Cut | None = None
        self._news: asyncio.Future[None] | None = None

    @property
    def streamed(self) -> bool:
        """Whether it comes as events."""
        return self.headers.get("content-type", "").lower().startswith("text/event-stream")

    async def begun(self) -> None:
        """Wait for status and headers. Raises Cut."""
        while not self.status:
            await self._wait()

    def at_hand(self) -> bytes:
        """What has arrived since the last time, perhaps nothing."""
        pieces, self._waiting = self._pieces, 0
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        return data

    async def piece(self) -> bytes:
        """The next piece of the body, empty at its end. Raises Cut."""
        while not self._pieces:
            if self.whole:
                return b""
            self._link.resume()
            await self._wait()
        return self.at_hand()

    async def read(self, most: int) -> bytes:
        """The rest of the body, at most ``most`` bytes of it. Raises Cut."""
        parts, size = [], 0
        while size < most and (piece := await self.piece()):
            parts.append(piece)
            size += len(piece)
        return b"".join(parts)[:most]

    def close(self) -> None:
        """Done with it; a connection whose answer is not whole is ended."""
        self._link.release(self)

    async def _wait(self) -> None:
        if self._error is not None:
            raise self._error
        self._news = asyncio.get_running_loop().create_future()
        await self._news

    # what the connection says

    def begins(self, status: int, headers: dict[str, str]) -> None:
        self.status, self.headers = status, headers
        self._wake()

    def arrives(self, data: bytes) -> bool:
        """Whether more may come at once."""
        self._pieces.append(data)
        self._waiting += len(data)
        self._wake()
        return self._waiting < MOST_WAITING

    def ends(self, error: Cut | None = None) -> None:
        self._error = error
        self.whole = error is None
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, None
        if news is not None and not news.done():
            news.set_result(None)


class _Link(asyncio.Protocol):
    """One connection: one request at a time."""

    def __init__(self, pool: Outbound) -> None:
        self._pool = pool
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[str, str] = {}
        self._answer: Answer | None = None
        self._informal = self._lasting = self._paused = False
        self._babbles = False
        """Answers what nobody asked."""
        self._head = 0
        self.idle_since = 0.0

    @property
    def usable(self) -> bool:
        return not self._transport.is_closing()

    def ask(self, head: bytes, body: bytes) -> Answer:
        self._answer = answer = Answer(self)
        self._head = 0
        if len(body) < MOST_WAITING:
            self._transport.write(head + body)
        else:
            self._transport.write(head)
            self._transport.write(body)
        return answer

    def release(self, answer: Answer) -> None:
        if self._answer is not answer:
            return
        self._answer = None
        fit = answer.whole and self._lasting and not self._babbles and not self._transport.get_write_buffer_size()
        if fit and self.usable:
            self.resume()
            self._pool.park(self)
        else:
            self.end()

    def resume(self) -> None:
        if self._paused:
            self._paused = False
            self._transport.resume_reading()

    def end(self) -> None:
        self._transport.abort()

    # what asyncio says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        if answer is None or answer.whole:
            self.end()  # nobody asked
            return
        if not answer.status:
            self._head += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._cut()
        if not answer.status and self._head > MAX_HEAD:
            self._cut()

    def connection_lost(self, exc: Exception | None) -> None:
        self._pool.forget(self)
        answer = self._answer
        if answer is None or answer.whole:
            return
        headers = answer.headers
        # Without a length and without chunks the end of the connection is the end of the answer.
        open_ended = "content-length" not in headers and "chunked" not in headers.get("transfer-encoding", "").lower()
        answer.ends(None if exc is None and answer.status and open_ended else Cut())

    def _cut(self) -> None:
        if self._answer is not None and not self._answer.whole:
            self._answer.ends(Cut())
        self.end()

    # what httptools says

    def on_message_begin(self) -> None:
        self._headers = {}  # what stood behind the body before is none of this one's
        self._babbles = self._answer is None or self._answer.whole

    def on_header(self, name: bytes, value: bytes) -> None:
        add_header(self._headers, name, value)

    def on_headers_complete(self) -> None:
        status, headers, self._headers = self._parser.get_status_code(), self._headers, {}
        # Asked now: once its answer is whole, the parser is at the next one.
        self._informal = status < 200
        self._lasting = self._parser.should_keep_alive()
        if (answer := self._open()) is not None:
            answer.begins(status, headers)

    def on_body(self, data: bytes) -> None:
        if (answer := self._open()) is not None and not answer.arrives(data) and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if (answer := self._open()) is not None:
            answer.ends()

    def _open(self) -> Answer | None:
        """The answer that is being read; an interim one (``100 Continue``) and a second one are nobody's."""
        return None if self._answer is None or self._answer.whole or self._informal else self._answer


class Outbound:
    """Connections to one provider."""

    def __init__(self, address: Address, trust: ssl.SSLContext) -> None:
        self._address, self._trust = address, trust
        self._idle: deque[_Link] = deque()
        self._sweep: asyncio.TimerHandle | None = None
        self._prefix = f"http://{address.authority}" if address.relayed else ""
        login = address.proxy_login() if address.relayed else None
        self._fixed = f"host: {address.name}\r\n" + (f"proxy-authorization: {login}\r\n" if login else "")

    @property
    def name(self) -> str:
        """The provider's host, for people."""
        return self._address.name

    async def ask(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None = None) -> Answer:
        """Send a request and wait for the beginning of its answer, which must be closed. Raises Unreachable, Cut."""
        head = [f"{method} {self._prefix}{target} HTTP/1.1\r\n{self._fixed}"]
        head += [f"{name}: {value}\r\n" for name, value in headers.items()]
        if body is not None:
            head.append(f"content-length: {len(body)}\r\n")
        head.append("\r\n")
        link = self._kept() or await dial(lambda: _Link(self), self._address, self._trust)
        answer = link.ask("".join(head).encode("utf-8", "surrogateescape"), body or b"")
        try:
            await answer.begun()
        except BaseException:
            answer.close()
            raise
        return answer

    def close(self) -> None:
        """End what is kept."""
        while self._idle:
            self._idle.pop().end()
        if self._sweep is not None:
            self._sweep.cancel()

    def park(self, link: _Link) -> None:
        loop = asyncio.get_running_loop()
        link.idle_since = loop.time()
        self._idle.append(link)
        if self._sweep is None:
            self._sweep = loop.call_later(KEEPALIVE_S, self._end_old)

    def forget(self, link: _Link) -> None:
        if link in self._idle:
            self._idle.remove(link)

    def _kept(self) -> _Link | None:
        """The connection that was used last: the oldest may be about to be closed by its server."""
        while self._idle:
            link = self._idle.pop()
            if link.usable and asyncio.get_running_loop().time() - link.idle_since < KEEPALIVE_S:
                return link
            link.end()
        return None

    def _end_old(self) -> None:
        loop = asyncio.get_running_loop()
        while self._idle and loop.time() - self._idle[0].idle_since >= KEEPALIVE_S:
            self._idle.popleft().end()
        again = KEEPALIVE_S - (loop.time() - self._idle[0].idle_since) if self._idle else None
        self._sweep = None if again is None else loop.call_later(again + 0.01, self._end_old)


def add_header(headers: dict[str, str], name: bytes, value: bytes) -> None:
    """Keep a header by its name in small letters; one that comes again is joined to the first, as HTTP has it."""
    key, text = name.decode("latin-1").lower(), value.decode("utf-8", "surrogateescape")
    headers[key] = f"{headers[key]}, {text}" if key in headers else text
