"""Carries one request to the provider and its answer back, as they come; what is read of them is read on the side."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from runner.gateway.answers import AnswerReader, Facts
from runner.gateway.book import Book
from runner.gateway.cassette import Recorded, Recorder
from runner.gateway.dial import Unreachable
from runner.gateway.exchange import Exchange
from runner.gateway.generations import Generations
from runner.gateway.inbound import Reply, Request
from runner.gateway.outbound import Answer, Cut, Outbound
from runner.gateway.own import Sent
from runner.gateway.providers import Provider
from runner.gateway.upstream import Upstream
from runner.gateway.wire import ANSWERS, error_body
from runner.schema.ledger import LedgerLine

MAX_ERROR_BODY = 1 << 20
_OF_THE_BODY = ("content-length", "content-encoding", "transfer-encoding", "connection")


class Passage:
    """The way to one model of one provider."""

    def __init__(
        self,
        provider: Provider,
        model: str,
        upstream: Upstream,
        outbound: Outbound,
        book: Book,
        recorder: Recorder | None,
    ) -> None:
        self._provider, self._model, self._upstream = provider, model, upstream
        self._outbound, self._book, self._recorder = outbound, book, recorder
        self._generations = Generations(upstream, outbound) if provider.accounting == "generation" else None
        self._routing = provider.for_model(model).routing
        self._asking: set[asyncio.Task[None]] = set()

    async def settle(self) -> None:
        """Wait for what is still being asked about answers that broke off."""
        if self._asking:
            await asyncio.wait(self._asking)

    def sent(self, request: Request, exchange: Exchange, suffix: str) -> Sent:
        """The request as it goes on."""
        asked = exchange.asked
        headers = self._upstream.request_headers(request.headers, ("content-encoding",) if asked.changed else ())
        return Sent(exchange.wire, request.method, self._upstream.target(suffix, request.query), headers, asked)

    async def forward(
        self, request: Request, exchange: Exchange, sent: Sent, left: tuple[float, str] | None
    ) -> Reply | None:
        """Send it on; ``left``: seconds until a cap ends it, and that cap in words."""
        try:
            if left is None:
                return await self._forward(request, exchange, sent)
            async with asyncio.timeout(left[0]):
                return await self._forward(request, exchange, sent)
        except TimeoutError:
            assert left is not None
            line = exchange.abandoned(note=f"cap: {left[1]}")
            return self._broken(exchange, line, 504, "this run's time is up")
        except Unreachable as error:
            return self._broken(exchange, exchange.failed(str(error)), 502, str(error))
        except Cut:
            why = f"{self._outbound.name} ended the connection"
            return self._broken(exchange, exchange.failed(why), 502, why)

    async def _forward(self, request: Request, exchange: Exchange, sent: Sent) -> Reply | None:
        answer = await self._outbound.ask(sent.method, sent.target, sent.headers, sent.body)
        try:
            exchange.headers_in(answer.status)
            if answer.status >= 300:
                return await self._pass_error(exchange, answer)
            return await self._pass_answer(request, exchange, answer)
        finally:
            answer.close()

    async def play(self, request: Request, exchange: Exchange, recorded: Recorded, note: str | None) -> Reply | None:
        """A recorded answer in place of the provider's, in the same pieces."""
        exchange.headers_in(recorded.status)
        if recorded.status >= 300:
            self._book.write(exchange.upstream_error(recorded.status, recorded.body, len(recorded.body)))
            return Reply(recorded.status, recorded.body, _unsized(recorded.headers))
        headers = _unsized(recorded.headers)
        exchange.reader = AnswerReader(exchange.wire, encoding=recorded.headers.get("content-encoding"))
        try:
            request.start(recorded.status, headers)
            for piece in recorded.pieces():
                exchange.chunk_in(len(piece))
                exchange.reader.feed(piece)
                request.write(piece)
                await request.drain()
        except ConnectionResetError:
            self._book.write(exchange.abandoned(note=note))
            return None
        facts = exchange.reader.finish()
        self._book.write(exchange.ended(facts, cut=recorded.cut, fault=None, note=note))
        if not recorded.cut:
            request.end()
        return None

    async def _pass_error(self, exchange: Exchange, answer: Answer) -> Reply:
        raw = await answer.read(MAX_ERROR_BODY)
        body = self._upstream.error_text(raw, answer.headers.get("content-encoding"))
        headers = _unsized(self._upstream.response_headers(answer.headers))
        status = answer.status
        if status < 400:
            # Following it would carry the key to a host that nobody named.
            status, body = 502, error_body(exchange.wire, "bench_redirect", "the provider redirects elsewhere")
            headers = {"content-type": "application/json"}
        self._record(exchange, status, headers, [body], streamed=False, cut=False)
        self._book.write(exchange.upstream_error(answer.status, body, len(raw)))
        return Reply(status, body, headers)

    async def _pass_answer(self, request: Request, exchange: Exchange, answer: Answer) -> Reply | None:
        streamed = answer.streamed
        reader = AnswerReader(exchange.wire, encoding=answer.headers.get("content-encoding"))
        exchange.reader = reader
        if exchange.wire in ANSWERS:
            exchange.judge = self._fault
        headers = self._upstream.response_headers(answer.headers)
        if answer.whole and not streamed:
            return self._pass_whole(request, exchange, answer, headers)
        kept: list[bytes] | None = None if self._recorder is None else []
        sieve = self._upstream.sieve()

        def give(piece: bytes, *, first: bool = False) -> None:
            try:
                if first:
                    request.start(answer.status, headers, piece)
                else:
                    request.write(piece)
            finally:
                # The agent first, then the reader: whoever leaves on the last byte leaves no unread answer.
                reader.feed(piece)
                if kept is not None and piece:
                    kept.append(piece)

        left = False
        try:
            piece, first = answer.at_hand(), True
            while piece or first:
                if piece:
                    exchange.chunk_in(len(piece))
                give(sieve.feed(piece), first=first)
                first = False
                await request.drain()
                try:
                    piece = await answer.piece()
                except Cut:
                    give(sieve.rest())
                    raise
            if rest := sieve.rest():
                give(rest)
        except ConnectionResetError:
            # Only writing raises this one: the agent went away. What the upstream does wrong has a name of its own.
            left = True
        finally:
            if kept is not None and exchange.open:
                cut = _cut(exchange, reader.finish())
                self._record(exchange, answer.status, headers, kept, streamed=streamed, cut=cut)
        if left:
            self.close_line(exchange, exchange.abandoned())
            return None
        facts = reader.finish()
        cut = _cut(exchange, facts)
        self.close_line(exchange, exchange.ended(facts, cut=cut, fault=exchange.judge(facts)))
        if not cut:
            request.end()
        return None

    def _pass_whole(
        self, request: Request, exchange: Exchange, answer: Answer, headers: dict[str, str]
    ) -> Reply | None:
        """An answer that came in one go: its line first, then all of it at once."""
        raw, sieve, reader = answer.at_hand(), self._upstream.sieve(), exchange.reader
        assert reader is not None
        exchange.chunk_in(len(raw))
        body = sieve.feed(raw) + sieve.rest()
        reader.feed(body)
        facts = reader.finish()
        cut = _cut(exchange, facts)
        self._record(exchange, answer.status, headers, [body], streamed=False, cut=cut)
        self.close_line(exchange, exchange.ended(facts, cut=cut, fault=exchange.judge(facts)))
        if not cut:
            return Reply(answer.status, body, headers)
        request.start(answer.status, headers, body)
        return None

    def _fault(self, facts: Facts) -> str | None:
        """Whether somebody else answered than was asked, be it a part: then ``facts`` are told of that one."""
        for host in facts.hosts:
            if wrong := self._wrong_host(host):
                facts.host = host
                return wrong
        own = [name for name in facts.models if name != self._model]  # the others only repeat what was asked for
        first = self._book.first_served or next(iter(own), None)
        for served in facts.models:
            if not self._provider.served_ok(self._model, served, first):
                facts.model = served
                expected = self._model if self._provider.served == "exact" else first
                return f"wrong model served: {served[:120]} instead of {expected}"
        if own and self._provider.served == "first":
            facts.model = own[0]
        return None

    def _wrong_host(self, host: str | None) -> str | None:
        if host is None or self._routing is None or self._routing.allows(host):
            return None
        return f"wrong host served: {host} instead of {', '.join(self._routing.only)}"

    def close_line(self, exchange: Exchange, line: LedgerLine) -> None:
        """Write it; where the answer broke off before its usage, ask the broker for it first."""
        known = line.usage is not None and line.outcome == "answered"
        if self._generations is None or known or line.response_id is None or exchange.wire not in ANSWERS:
            self._book.write(line)
            return
        self._book.note(line)
        task = asyncio.create_task(self._ask_and_write(line))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _ask_and_write(self, line: LedgerLine) -> None:
        assert self._generations is not None
        line = await self._generations.complete(line)
        if not (line.fault or "").startswith("wrong ") and (wrong := self._wrong_host(line.host_served)):
            line = line.model_copy(update={"fault": wrong})
        self._book.write(line)

    def _record(
        self,
        exchange: Exchange,
        status: int,
        headers: dict[str, str],
        pieces: list[bytes],
        *,
        streamed: bool,
        cut: bool,
    ) -> None:
        if self._recorder is not None and exchange.wire in ANSWERS:
            self._recorder.add(exchange, Recorded.of(status, headers, pieces, streamed=streamed, cut=cut))

    def _broken(self, exchange: Exchange, line: LedgerLine, status: int, why: str) -> Reply | None:
        """The upstream failed before or within its answer; the agent must see it as it is."""
        self.close_line(exchange, line)
        if exchange.reader is not None:
            return None  # an answer without its end: the agent's connection is closed
        body = error_body(exchange.wire, "bench_upstream", why)
        self._record(exchange, status, {"content-type": "application/json"}, [body], streamed=False, cut=False)
        return Reply(status, body)


def _cut(exchange: Exchange, facts: Facts) -> bool:
    """Whether an answer broke off, as far as anybody could read it."""
    return exchange.wire in ANSWERS and not (facts.complete or facts.error is not None or facts.unreadable)


def _unsized(headers: Mapping[str, str]) -> dict[str, str]:
    """Without what is true of the body on the wire only."""
    return {name: value for name, value in headers.items() if name.lower() not in _OF_THE_BODY}
