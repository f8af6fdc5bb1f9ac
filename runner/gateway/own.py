"""Requests that no agent made: a tiny question, and the contestant's last request once more.

Their lines (``ours``) show whose fault an end was, and count for nothing else.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field

from runner.gateway.answers import AnswerReader
from runner.gateway.book import Book
from runner.gateway.dial import Unreachable
from runner.gateway.exchange import Exchange
from runner.gateway.outbound import Answer, Cut, Outbound
from runner.gateway.providers import Provider
from runner.gateway.upstream import OUR_HEADERS, Upstream
from runner.gateway.wire import PATHS, Asked, question, read_request
from runner.schema.ledger import LedgerLine, Wire

MAX_ANSWER = 1 << 24


@dataclass(frozen=True)
class Sent:
    """A request as it goes to the provider; its headers hold the key."""

    wire: Wire
    method: str
    target: str
    headers: dict[str, str] = field(repr=False)
    asked: Asked = field(repr=False)

    @property
    def body(self) -> bytes | None:
        return self.asked.body if self.method == "POST" else None


class Own:
    """Asks one model in the runner's name."""

    def __init__(self, provider: Provider, model: str, upstream: Upstream, outbound: Outbound, book: Book) -> None:
        self._provider, self._model = provider, model
        self._upstream, self._outbound, self._book = upstream, outbound, book

    async def ask(self, attempt: str, run_id: str, wire: Wire, timeout_s: float) -> None:
        """A tiny question."""
        body = json.dumps(question(wire, self._provider.dialect, self._model)).encode()
        asked = read_request(wire, body, None, self._provider.pinned(self._model))
        given = {**OUR_HEADERS, "content-type": "application/json"}
        if wire == "anthropic":
            given["anthropic-version"] = "2023-06-01"
        sent = Sent(wire, "POST", self._upstream.target(PATHS[wire]), self._upstream.request_headers(given), asked)
        exchange = Exchange(run_id, self._provider, self._model, attempt, "POST", PATHS[wire], ours=True)
        await self._send(exchange, sent, timeout_s, to_the_end=True)

    async def again(self, attempt: str, run_id: str, sent: Sent, timeout_s: float, *, to_the_end: bool) -> None:
        """What the contestant asked; where its beginning says enough, the rest of the answer is not waited for."""
        path = sent.target.partition("?")[0]
        exchange = Exchange(run_id, self._provider, self._model, attempt, sent.method, path, ours=True, again=True)
        await self._send(exchange, sent, timeout_s, to_the_end=to_the_end)

    async def _send(self, exchange: Exchange, sent: Sent, timeout_s: float, *, to_the_end: bool) -> None:
        exchange.wire, exchange.asked, exchange.request_bytes = sent.wire, sent.asked, len(sent.body or b"")
        try:
            async with asyncio.timeout(timeout_s):
                answer = await self._outbound.ask(sent.method, sent.target, sent.headers, sent.body)
                try:
                    exchange.headers_in(answer.status)
                    line = await self._read(exchange, answer, to_the_end=to_the_end)
                finally:
                    answer.close()
        except TimeoutError:
            line = exchange.failed(f"no answer in {timeout_s:.0f} s")
        except Unreachable as error:
            line = exchange.failed(str(error))
        except Cut:
            line = exchange.failed(f"{self._outbound.name} ended the connection")
        self._book.write(line)

    async def _read(self, exchange: Exchange, answer: Answer, *, to_the_end: bool) -> LedgerLine:
        encoding = answer.headers.get("content-encoding")
        if answer.status >= 300:
            raw = await answer.read(MAX_ANSWER)
            return exchange.upstream_error(answer.status, self._upstream.error_text(raw, encoding), len(raw))
        if not to_the_end:
            return exchange.abandoned()
        exchange.reader = AnswerReader(exchange.wire, encoding=encoding)
        sieve = self._upstream.sieve()  # what is read of it stands in the ledger
        while piece := await answer.piece():
            exchange.chunk_in(len(piece))
            exchange.reader.feed(sieve.feed(piece))
        exchange.reader.feed(sieve.rest())
        facts = exchange.reader.finish()
        return exchange.ended(facts, cut=not facts.complete and facts.error is None, fault=None)
