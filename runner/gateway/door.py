"""One run's way to its model: who may pass, and under which limits. What passes is carried by ``passage``.

Token, known path, pinned model, no tools of the provider's, caps; then the request goes on with the real key, and one
ledger line says what came of it.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from runner.gateway.arrivals import Arrivals
from runner.gateway.book import Book
from runner.gateway.cassette import Recorder
from runner.gateway.dial import Address
from runner.gateway.egress import Egress
from runner.gateway.exchange import Exchange
from runner.gateway.inbound import MAX_BODY, BodyTooLarge, Inbound, Reply, Request
from runner.gateway.limits import Caps, exceeded
from runner.gateway.outbound import Outbound
from runner.gateway.own import Own
from runner.gateway.passage import Passage
from runner.gateway.providers import Provider
from runner.gateway.replay import Player
from runner.gateway.upstream import Upstream
from runner.gateway.wire import ANSWERS, Asked, UnreadableBody, error_body, read_request, route
from runner.gateway.witness import Witness
from runner.schema.ledger import LedgerTotals

SETTLE_S = 5.0
BACKLOG = 256


@dataclass(frozen=True)
class DoorSpec:
    """All that a door needs to know; ``upstream`` holds the key, which stays in this process.

    ``tools``: kinds of provider-side tools that the benchmark allows; ``egress``: hosts that may be reached;
    ``cassette``: where to keep every exchange; ``replay``: the cassette that answers in the provider's place.
    """

    run_id: str
    token: str = field(repr=False)
    provider: Provider
    model: str
    upstream: Upstream
    caps: Caps
    journal: Path
    socket: Path
    tools: frozenset[str] = frozenset()
    egress: frozenset[str] = frozenset()
    cassette: Path | None = None
    replay: Path | None = None


class Door:
    """Serves one run on one unix socket.

    ``tell`` hears ``("cap", words)`` once when a cap ends an attempt, and ``("passed", count)`` when requests of it
    pass on their way to the provider.
    """

    def __init__(
        self, spec: DoorSpec, trust: ssl.SSLContext, egress: Egress, tell: Callable[[str, str | int], None]
    ) -> None:
        self.spec = spec
        self.attempt = "-"
        self._book = Book(spec.journal)
        self._recorder = (
            None if spec.cassette is None else Recorder(spec.cassette, [*spec.upstream.secrets, spec.token])
        )
        self._player = None if spec.replay is None else Player.load(spec.replay)
        self._outbound = Outbound(Address.of(spec.upstream.base_url, spec.upstream.proxy), trust)
        self._passage = Passage(spec.provider, spec.model, spec.upstream, self._outbound, self._book, self._recorder)
        own = Own(spec.provider, spec.model, spec.upstream, self._outbound, self._book)
        self._witness = Witness(own, self._book, spec.run_id)
        self._egress = egress
        self._tell = tell
        self._arrivals = Arrivals(lambda count: tell("passed", count))
        self._capped = False
        self._pinned = spec.provider.pinned(spec.model)
        self._opened = self._begun = time.monotonic()
        self._active = 0
        self._busy: set[asyncio.Task[object]] = set()
        self._links: set[Inbound] = set()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(
            lambda: Inbound(self._handle, self._links), str(self.spec.socket), backlog=BACKLOG
        )
        # The relay in a pod runs as another user; the token, not the mode, says who may pass.
        self.spec.socket.chmod(0o666)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        await self.settle()
        for link in list(self._links):
            link.end()
        self._outbound.close()
        self._arrivals.close()
        self._book.close()
        if self._recorder is not None:
            await self._recorder.close()
        self.spec.socket.unlink(missing_ok=True)

    async def settle(self) -> None:
        """End what is still under way (its agent is gone), so that the ledger is complete."""
        tasks = [task for task in self._busy if not task.done()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=SETTLE_S)
        await self._passage.settle()

    async def begin(self, attempt: str) -> None:
        """What comes from now on belongs to ``attempt``."""
        await self.settle()
        self._book.begin()
        self._arrivals.begin()
        self._witness.begin(attempt)
        self.attempt, self._begun, self._capped = attempt, time.monotonic(), False

    async def end(self) -> LedgerTotals:
        """The attempt is over; where its end looks like the provider's fault, a request of our own is the witness."""
        await self.settle()
        await self._witness.conclude()
        return self.totals(self.attempt)

    def totals(self, attempt: str | None = None) -> LedgerTotals:
        return self._book.totals(attempt)

    async def _handle(self, request: Request) -> Reply | None:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        spec = self.spec
        path = request.path if request.method != "CONNECT" else request.target
        exchange = Exchange(spec.run_id, spec.provider, spec.model, self.attempt, request.method, path)
        try:
            return await self._serve(request, exchange)
        except asyncio.CancelledError:
            if exchange.open:
                self._passage.close_line(exchange, exchange.abandoned())
            raise
        finally:
            self._busy.discard(task)

    async def _serve(self, request: Request, exchange: Exchange) -> Reply | None:
        if request.method == "CONNECT":
            return await self._connect(request, exchange)
        routed = route(request.method, request.path)
        if not self._authorised(request):
            return self._refuse(exchange, 401, "token", "the run's token is missing or wrong")
        if routed is None:
            return self._refuse(exchange, 404, "path", f"the gateway does not serve {request.method} {request.path}")
        exchange.wire, suffix = routed
        try:
            body = await request.read()
        except BodyTooLarge:
            return self._refuse(exchange, 413, "body", f"a request may have {MAX_BODY} bytes")
        exchange.request_bytes = len(body)
        if request.method == "POST":
            try:
                asked = read_request(exchange.wire, body, request.headers.get("content-encoding"), self._pinned)
            except UnreadableBody as error:
                return self._refuse(exchange, 415, "body", str(error))
            exchange.asked = asked
            refusal = self._forbidden(exchange, asked)
            if refusal is not None:
                return refusal
        if self._book.wrong_model:
            return self._refuse(exchange, 403, "wrong_model", "the provider served another model; this run is over")
        cap = self._cap()
        if cap is not None:
            return self._end_by(cap, exchange)
        return await self._pass(request, exchange, suffix)

    def _forbidden(self, exchange: Exchange, asked: Asked) -> Reply | None:
        """What no request of this run may ask for."""
        if asked.model != self.spec.model or asked.others:
            return self._refuse(exchange, 403, "model", f"this run is pinned to the model {self.spec.model}")
        tools = [kind for kind in asked.tools if kind not in self.spec.tools]
        if tools:
            words = ", ".join(tools)
            return self._refuse(
                exchange, 403, f"tool: {words}", f"tools that the provider executes are not allowed here: {words}"
            )
        return None

    def _cap(self) -> str | None:
        """The cap that forbids another request, in words."""
        now, caps = time.monotonic(), self.spec.caps
        cap = exceeded(caps, self._book.run, now - self._opened)
        if cap is None and caps.attempt is not None:
            cap = exceeded(caps.attempt, self._book.attempt, now - self._begun)
            return None if cap is None else f"{cap} an attempt"
        return cap

    def _end_by(self, cap: str, exchange: Exchange) -> Reply:
        refusal = self._refuse(exchange, 402, f"cap: {cap}", f"this run's limit is reached: {cap}")
        if not self._capped:
            self._capped = True
            self._tell("cap", cap)
        return refusal

    async def _pass(self, request: Request, exchange: Exchange, suffix: str) -> Reply | None:
        most = self.spec.caps.concurrent
        if most is not None and self._active >= most:
            return self._refuse(exchange, 429, f"busy: {most}", f"{most} requests are under way already", retry=1)
        self._active += 1
        self._book.take()
        self._witness.asked()
        self._arrivals.passes()
        try:
            if self._player is not None:
                return await self._replayed(request, exchange, self._player)
            sent = self._passage.sent(request, exchange, suffix)
            response = await self._passage.forward(request, exchange, sent, self._time_left())
        finally:
            self._active -= 1
        if exchange.fault and exchange.wire in ANSWERS:
            self._witness.trouble(sent, exchange.fault)
        return response

    def _time_left(self) -> tuple[float, str] | None:
        """Seconds until a cap in time ends whatever is under way, and that cap in words."""
        caps, now = self.spec.caps, time.monotonic()
        ends = []
        if caps.wall_s is not None:
            ends.append((max(0.0, caps.wall_s - (now - self._opened)), f"{caps.wall_s:.0f} s"))
        if caps.attempt is not None and caps.attempt.wall_s is not None:
            limit = caps.attempt.wall_s
            ends.append((max(0.0, limit - (now - self._begun)), f"{limit:.0f} s an attempt"))
        return min(ends, default=None)

    async def _replayed(self, request: Request, exchange: Exchange, player: Player) -> Reply | None:
        """The recorded answer to this request, or the end of the replay."""
        played = player.answer(exchange.wire, exchange.asked.data)
        if played.answer is None:
            line = exchange.refused(409, "divergence", 0).model_copy(update={"note": played.note})
            self._book.write(line)
            body = error_body(exchange.wire, "bench_divergence", f"the replay has no answer to this: {played.note}")
            return Reply(409, body)
        return await self._passage.play(request, exchange, played.answer, played.note)

    async def _connect(self, request: Request, exchange: Exchange) -> Reply | None:
        """A tunnel to an allowed host."""
        exchange.wire = "egress"
        if not self._proxy_authorised(request):
            return self._refuse(exchange, 407, "token", "the run's token is missing or wrong")
        host = self._egress.allowed(request.target, self.spec.egress)
        if host is None:
            return self._refuse(exchange, 403, "host", "this benchmark's contestants may not reach that host")
        return await self._egress.tunnel(request, exchange, host, self._book.write)

    def _authorised(self, request: Request) -> bool:
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        given = [request.headers.get("x-api-key", ""), bearer.strip() if scheme.lower() == "bearer" else ""]
        return any(map(self._is_token, given))

    def _proxy_authorised(self, request: Request) -> bool:
        scheme, _, value = request.headers.get("proxy-authorization", "").partition(" ")
        if scheme.lower() != "basic":
            return scheme.lower() == "bearer" and self._is_token(value.strip())
        try:
            return self._is_token(base64.b64decode(value.strip(), validate=True).decode("latin-1").partition(":")[2])
        except (binascii.Error, ValueError):
            return False

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.spec.token.encode())

    def _refuse(self, exchange: Exchange, status: int, reason: str, message: str, *, retry: int | None = None) -> Reply:
        body = error_body(exchange.wire, "bench_" + reason.split(":")[0], message)
        self._book.write(exchange.refused(status, reason, len(body)))
        headers = {"content-type": "application/json"}
        if retry is not None:
            headers["retry-after"] = str(retry)
        return Reply(status, body, headers)
