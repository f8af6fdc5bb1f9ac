"""Carries one request to the provider and its answer back, as they come; what is read of them is read on the side."""

from __future__ import annotations

import asyncio
import json

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from runner.gateway.answers import AnswerReader, Facts
from runner.gateway.book import Book
from runner.gateway.cassette import Recorded, Recorder
from runner.gateway.exchange import Exchange
from runner.gateway.generations import Generations
from runner.gateway.providers import Provider
from runner.gateway.upstream import Upstream
from runner.gateway.wire import ANSWERS, PATHS, error_body, question, read_request
from runner.schema.ledger import LedgerLine, Wire

MAX_ERROR_BODY = 1024 * 1024
_SKIPPED = ("User-Agent", "Accept-Encoding", "Content-Type", "Accept")


class Passage:
    """The way to one model of one provider."""

    def __init__(
        self,
        provider: Provider,
        model: str,
        upstream: Upstream,
        session: aiohttp.ClientSession,
        book: Book,
        recorder: Recorder | None,
    ) -> None:
        self._provider, self._model, self._upstream = provider, model, upstream
        self._session, self._book, self._recorder = session, book, recorder
        self._generations = Generations(upstream, session) if provider.accounting == "generation" else None
        self._routing = provider.for_model(model).routing
        self._urls: dict[str, URL] = {}
        self._asking: set[asyncio.Task[None]] = set()

    async def settle(self) -> None:
        """Wait for what is still being asked about answers that broke off."""
        if self._asking:
            await asyncio.wait(self._asking)

    async def forward(
        self, request: web.BaseRequest, exchange: Exchange, suffix: str, left: tuple[float, str] | None
    ) -> web.StreamResponse:
        """Send it on; ``left``: seconds until a cap ends it, and that cap in words."""
        asked, upstream = exchange.asked, self._upstream
        query = f"?{request.query_string}" if request.query_string else ""
        url = self._urls.get(suffix + query)
        if url is None:
            url = self._urls[suffix + query] = URL(upstream.url(suffix + query))
        headers = upstream.request_headers(request.headers, ("content-encoding",) if asked.changed else ())
        post = request.method == "POST"
        try:
            async with (
                asyncio.timeout(None if left is None else left[0]),
                self._session.request(
                    request.method,
                    url,
                    data=asked.body if post else None,
                    headers=headers,
                    skip_auto_headers=_SKIPPED,
                    allow_redirects=False,
                    proxy=upstream.proxy,
                ) as answer,
            ):
                exchange.headers_in(answer.status)
                if answer.status >= 300:
                    return await self._pass_error(exchange, answer)
                return await self._pass_answer(request, exchange, answer)
        except TimeoutError:
            if left is None:  # the connection's own limit
                raise
            line = exchange.abandoned(note=f"cap: {left[1]}")
            return self._broken(request, exchange, line, 504, "this run's time is up")
        except (aiohttp.ClientError, OSError) as error:
            why = upstream.why(error)
            return self._broken(request, exchange, exchange.failed(why), 502, why)

    async def ask(self, attempt: str, run_id: str, wire: Wire, timeout_s: float) -> None:
        """A tiny request of our own; its line is written."""
        exchange = Exchange(run_id, self._provider, self._model, attempt, "POST", PATHS[wire], ours=True)
        data = question(wire, self._provider.dialect, self._model)
        body = json.dumps(data).encode()
        exchange.wire = wire
        exchange.asked = read_request(wire, body, None, self._provider.pinned(self._model))
        exchange.request_bytes = len(body)
        given = {"content-type": "application/json"}
        if wire == "anthropic":
            given["anthropic-version"] = "2023-06-01"
        url = URL(self._upstream.url(PATHS[wire]))
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._session.post(
                    url,
                    data=exchange.asked.body,
                    headers=self._upstream.request_headers(given),
                    allow_redirects=False,
                    proxy=self._upstream.proxy,
                ) as answer,
            ):
                exchange.headers_in(answer.status)
                raw = await answer.read()
                if answer.status >= 300:
                    text = self._upstream.error_text(raw, answer.headers.get("content-encoding"))
                    line = exchange.upstream_error(answer.status, text, len(raw))
                else:
                    exchange.chunk_in(len(raw))
                    exchange.reader = AnswerReader(
                        wire, streamed=False, encoding=answer.headers.get("content-encoding")
                    )
                    exchange.reader.feed(raw)
                    facts = exchange.reader.finish()
                    line = exchange.ended(facts, cut=not facts.complete and facts.error is None, fault=None)
        except TimeoutError:
            line = exchange.failed(f"no answer in {timeout_s:.0f} s")
        except (aiohttp.ClientError, OSError) as error:
            line = exchange.failed(self._upstream.why(error))
        self._book.write(line)

    async def play(
        self, request: web.BaseRequest, exchange: Exchange, recorded: Recorded, note: str | None
    ) -> web.StreamResponse:
        """A recorded answer in place of the provider's, in the same pieces."""
        exchange.headers_in(recorded.status)
        if recorded.status >= 300:
            self._book.write(exchange.upstream_error(recorded.status, recorded.body, len(recorded.body)))
            return web.Response(status=recorded.status, body=recorded.body, headers=recorded.headers)
        exchange.reader = AnswerReader(
            exchange.wire, streamed=recorded.streamed, encoding=recorded.headers.get("content-encoding")
        )
        response = web.StreamResponse(status=recorded.status, headers=recorded.headers)
        try:
            await response.prepare(request)
            for piece in recorded.pieces():
                exchange.chunk_in(len(piece))
                exchange.reader.feed(piece)
                await response.write(piece)
        except ConnectionResetError:
            self._book.write(exchange.abandoned(note=note))
            return response
        facts = exchange.reader.finish()
        self._book.write(exchange.ended(facts, cut=recorded.cut, fault=None, note=note))
        if recorded.cut:
            _hang_up(request)
        else:
            await response.write_eof()
        return response

    async def _pass_error(self, exchange: Exchange, answer: aiohttp.ClientResponse) -> web.Response:
        raw = await _up_to(answer.content, MAX_ERROR_BODY)
        body = self._upstream.error_text(raw, answer.headers.get("content-encoding"))
        headers = self._upstream.response_headers(answer.headers)
        headers = {k: v for k, v in headers.items() if k.lower() not in ("content-length", "content-encoding")}
        status = answer.status
        if status < 400:
            # Following it would carry the key to a host that nobody named.
            status, body = 502, error_body(exchange.wire, "bench_redirect", "the provider redirects elsewhere")
            headers = {"content-type": "application/json"}
        self._record(exchange, status, headers, [body], streamed=False, cut=False)
        self._book.write(exchange.upstream_error(answer.status, body, len(raw)))
        return web.Response(status=status, body=body, headers=headers)

    async def _pass_answer(
        self, request: web.BaseRequest, exchange: Exchange, answer: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        streamed = answer.content_type == "text/event-stream"
        reader = AnswerReader(exchange.wire, streamed=streamed, encoding=answer.headers.get("content-encoding"))
        exchange.reader = reader
        exchange.judge = lambda facts: self._fault(exchange, facts)
        headers = self._upstream.response_headers(answer.headers)
        response = web.StreamResponse(status=answer.status, headers=CIMultiDict(headers))
        kept: list[bytes] | None = None if self._recorder is None else []
        left = False
        try:
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                exchange.chunk_in(len(chunk))
                # The reader first: an agent that leaves on the last byte must not leave an unread answer.
                reader.feed(chunk)
                if kept is not None:
                    kept.append(chunk)
                await response.write(chunk)
        except ConnectionResetError:
            # Only writing raises this one: the agent went away. What the upstream does wrong has names of its own.
            left = True
        finally:
            if kept is not None and exchange.open:
                facts = reader.finish()
                cut = exchange.wire in ANSWERS and not facts.complete and facts.error is None
                self._record(exchange, answer.status, headers, kept, streamed=streamed, cut=cut)
        if left:
            self._close_line(exchange, exchange.abandoned())
            return response
        facts = reader.finish()
        cut = exchange.wire in ANSWERS and not facts.complete and facts.error is None and not facts.unreadable
        self._close_line(exchange, exchange.ended(facts, cut=cut, fault=exchange.judge(facts)))
        if cut:
            _hang_up(request)
            return response
        await response.write_eof()
        return response

    def _fault(self, exchange: Exchange, facts: Facts) -> str | None:
        """Whether somebody else answered than was asked."""
        if exchange.wire not in ANSWERS:
            return None
        routing = self._routing
        if facts.host is not None and routing is not None and not routing.allows(facts.host):
            return f"wrong host served: {facts.host} instead of {', '.join(routing.only)}"
        served, first = facts.model, self._book.first_served
        if served is None or self._provider.served_ok(self._model, served, first):
            return None
        expected = self._model if self._provider.served == "exact" else first
        return f"wrong model served: {served[:120]} instead of {expected}"

    def _close_line(self, exchange: Exchange, line: LedgerLine) -> None:
        """Write it; where the answer broke off before its usage, ask the broker for it first."""
        known = line.usage is not None and line.outcome == "answered"
        if self._generations is None or known or line.response_id is None or exchange.wire not in ANSWERS:
            self._book.write(line)
            return
        task = asyncio.create_task(self._ask_and_write(line))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _ask_and_write(self, line: LedgerLine) -> None:
        assert self._generations is not None
        self._book.write(await self._generations.complete(line))

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

    def _broken(
        self, request: web.BaseRequest, exchange: Exchange, line: LedgerLine, status: int, why: str
    ) -> web.StreamResponse:
        """The upstream failed before or within its answer; the agent must see it as it is."""
        self._close_line(exchange, line)
        if exchange.reader is not None:
            _hang_up(request)
            return web.Response(status=status)
        body = error_body(exchange.wire, "bench_upstream", why)
        self._record(exchange, status, {"content-type": "application/json"}, [body], streamed=False, cut=False)
        return web.Response(status=status, body=body, content_type="application/json")


async def _up_to(content: aiohttp.StreamReader, limit: int) -> bytes:
    parts, size = [], 0
    async for chunk in content.iter_any():
        parts.append(chunk)
        size += len(chunk)
        if size >= limit:
            break
    return b"".join(parts)[:limit]


def _hang_up(request: web.BaseRequest) -> None:
    """End the agent's connection without the end mark of a whole answer."""
    if request.transport is not None:
        request.transport.close()
