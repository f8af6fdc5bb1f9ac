"""One run's way to its model: token, pinned model, caps, the real key, one ledger line a request.

Bodies pass as they come, in both directions; what is read of them is read on the side.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from aiohttp import web

from runner.gateway.answers import AnswerReader, Facts
from runner.gateway.exchange import Exchange
from runner.gateway.journal import Journal
from runner.gateway.limits import Caps, Spent, exceeded
from runner.gateway.providers import Provider
from runner.gateway.totals import add_up
from runner.gateway.upstream import Upstream
from runner.gateway.wire import ANSWERS, Asked, UnreadableBody, error_body, read_request, route
from runner.schema.ledger import LedgerLine, LedgerTotals

MAX_BODY = 128 * 1024 * 1024
MAX_ERROR_BODY = 1024 * 1024
SETTLE_S = 5.0


@dataclass(frozen=True)
class DoorSpec:
    """All that a door needs to know; ``key`` stays in this process."""

    run_id: str
    token: str
    provider: Provider
    model: str
    upstream: Upstream
    caps: Caps
    journal: Path
    socket: Path


class Door:
    """Serves one run on one unix socket."""

    def __init__(self, spec: DoorSpec, session: aiohttp.ClientSession) -> None:
        self.spec = spec
        self.attempt = "-"
        self._session = session
        self._journal = Journal(spec.journal)
        self._lines = self._journal.read()
        self._spent = Spent(requests=sum(line.outcome != "refused" for line in self._lines))
        for line in self._lines:
            self._spent.add(line)
        self._first_served = next((line.model_served for line in self._lines if line.model_served), None)
        self._wrong_model = False
        self._opened = time.monotonic()
        self._busy: set[asyncio.Task[object]] = set()
        self._runner: web.AppRunner | None = None

    async def open(self) -> None:
        app = web.Application(client_max_size=MAX_BODY)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, auto_decompress=False, shutdown_timeout=1.0
        )
        await self._runner.setup()
        await web.UnixSite(self._runner, str(self.spec.socket)).start()
        # The relay in a pod runs as another user; the token, not the mode, says who may pass.
        self.spec.socket.chmod(0o666)

    async def close(self) -> None:
        await self.settle()
        if self._runner is not None:
            await self._runner.cleanup()
        self._journal.close()
        self.spec.socket.unlink(missing_ok=True)

    async def settle(self) -> None:
        """End what is still under way (its agent is gone), so that the ledger is complete."""
        tasks = [task for task in self._busy if not task.done()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=SETTLE_S)

    def totals(self, attempt: str | None = None) -> LedgerTotals:
        return add_up(self._lines, attempt)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        spec = self.spec
        exchange = Exchange(spec.run_id, spec.provider, spec.model, self.attempt, request.method, request.path)
        try:
            return await self._serve(request, exchange)
        except asyncio.CancelledError:
            if exchange.open:
                self._write(exchange.abandoned())
            raise
        finally:
            self._busy.discard(task)

    async def _serve(self, request: web.Request, exchange: Exchange) -> web.StreamResponse:
        routed = route(request.method, request.path)
        if not self._authorised(request):
            return self._refuse(exchange, 401, "token", "the run's token is missing or wrong")
        if routed is None:
            return self._refuse(exchange, 404, "path", f"the gateway does not serve {request.method} {request.path}")
        wire, suffix = routed
        exchange.wire = wire
        try:
            body = await request.read()
        except web.HTTPRequestEntityTooLarge:
            return self._refuse(exchange, 413, "body", f"a request may have {MAX_BODY} bytes")
        exchange.request_bytes = len(body)
        asked = Asked(None, False, None, body)
        if request.method == "POST":
            try:
                asked = read_request(wire, body, request.headers.get("content-encoding"))
            except UnreadableBody as error:
                return self._refuse(exchange, 415, "body", str(error))
            exchange.asked = asked
            if asked.model != self.spec.model:
                return self._refuse(exchange, 403, "model", f"this run is pinned to the model {self.spec.model}")
        if self._wrong_model:
            return self._refuse(exchange, 403, "wrong_model", "the provider served another model; this run is over")
        cap = exceeded(self.spec.caps, self._spent, time.monotonic() - self._opened)
        if cap is not None:
            return self._refuse(exchange, 402, f"cap: {cap}", f"this run's limit is reached: {cap}")
        self._spent.requests += 1
        return await self._forward(request, exchange, suffix, asked)

    def _authorised(self, request: web.Request) -> bool:
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        given = [request.headers.get("x-api-key", ""), bearer.strip() if scheme.lower() == "bearer" else ""]
        token = self.spec.token.encode()
        return any(hmac.compare_digest(one.encode("utf-8", "replace"), token) for one in given)

    def _refuse(self, exchange: Exchange, status: int, reason: str, message: str) -> web.Response:
        body = error_body(exchange.wire, "bench_" + reason.split(":")[0], message)
        self._write(exchange.refused(status, reason, len(body)))
        return web.Response(status=status, body=body, content_type="application/json")

    async def _forward(self, request: web.Request, exchange: Exchange, suffix: str, asked: Asked) -> web.StreamResponse:
        upstream = self.spec.upstream
        query = f"?{request.query_string}" if request.query_string else ""
        limit = self.spec.caps.wall_s
        left = None if limit is None else max(0.0, limit - (time.monotonic() - self._opened))
        try:
            async with asyncio.timeout(left):
                async with self._session.request(
                    request.method,
                    upstream.url(suffix + query),
                    data=asked.body if request.method == "POST" else None,
                    headers=upstream.request_headers(request.headers),
                    skip_auto_headers=("User-Agent", "Accept-Encoding", "Content-Type", "Accept"),
                    allow_redirects=False,
                    proxy=upstream.proxy,
                ) as answer:
                    exchange.headers_in(answer.status)
                    if answer.status >= 300:
                        return await self._pass_error(exchange, answer)
                    return await self._pass_answer(request, exchange, answer)
        except TimeoutError:
            line = exchange.abandoned(note=f"cap: {limit:.0f} s")
            return self._broken(request, exchange, line, 504, "this run's time is up")
        except (aiohttp.ClientError, OSError) as error:
            why = upstream.why(error)
            return self._broken(request, exchange, exchange.failed(why), 502, why)

    async def _pass_error(self, exchange: Exchange, answer: aiohttp.ClientResponse) -> web.Response:
        body = self.spec.upstream.scrub(await _up_to(answer.content, MAX_ERROR_BODY))
        headers = self.spec.upstream.response_headers(answer.headers)
        headers.pop("content-length", None)
        status = answer.status
        if status < 400:
            # Following it would carry the key to a host that nobody named.
            status, body = 502, error_body(exchange.wire, "bench_redirect", "the provider redirects elsewhere")
            headers = {"content-type": "application/json"}
        self._write(exchange.upstream_error(answer.status, body))
        return web.Response(status=status, body=body, headers=headers)

    async def _pass_answer(
        self, request: web.Request, exchange: Exchange, answer: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        streamed = answer.content_type == "text/event-stream"
        reader = AnswerReader(exchange.wire, streamed=streamed, encoding=answer.headers.get("content-encoding"))
        exchange.reader = reader
        response = web.StreamResponse(status=answer.status, headers=self.spec.upstream.response_headers(answer.headers))
        try:
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                exchange.chunk_in(len(chunk))
                # The reader first: an agent that leaves on the last byte must not leave an unread answer.
                reader.feed(chunk)
                await response.write(chunk)
        except ConnectionResetError:
            # Only writing raises this one: the agent went away. What the upstream does wrong has names of its own.
            self._write(exchange.abandoned())
            return response
        facts = reader.finish()
        cut = exchange.wire in ANSWERS and not facts.complete and facts.error is None and not facts.unreadable
        self._write(exchange.ended(facts, cut=cut, fault=self._fault(exchange, facts)))
        if cut:
            _hang_up(request)
            return response
        await response.write_eof()
        return response

    def _fault(self, exchange: Exchange, facts: Facts) -> str | None:
        served = facts.model
        if served is None or exchange.wire not in ANSWERS:
            return None
        if self.spec.provider.served_ok(self.spec.model, served, self._first_served):
            self._first_served = self._first_served or served
            return None
        self._wrong_model = True
        expected = self.spec.model if self.spec.provider.served == "exact" else self._first_served
        return f"wrong model served: {served[:120]} instead of {expected}"

    def _broken(
        self, request: web.Request, exchange: Exchange, line: LedgerLine, status: int, why: str
    ) -> web.StreamResponse:
        """The upstream failed before or within its answer; the agent must see it as it is."""
        self._write(line)
        if exchange.reader is not None:
            _hang_up(request)
            return web.Response(status=status)
        return web.Response(
            status=status, body=error_body(exchange.wire, "bench_upstream", why), content_type="application/json"
        )

    def _write(self, line: LedgerLine) -> None:
        line = line.model_copy(update={"seq": len(self._lines) + 1})
        self._lines.append(line)
        self._spent.add(line)
        self._journal.write(line)


async def _up_to(content: aiohttp.StreamReader, limit: int) -> bytes:
    parts, size = [], 0
    async for chunk in content.iter_any():
        parts.append(chunk)
        size += len(chunk)
        if size >= limit:
            break
    return b"".join(parts)[:limit]


def _hang_up(request: web.Request) -> None:
    """End the agent's connection without the end mark of a whole answer."""
    if request.transport is not None:
        request.transport.close()
