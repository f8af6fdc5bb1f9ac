"""Whether a fault is the provider's: it has to happen to a request of the runner's own as well.

A contestant can make its provider refuse it: by a burst until it is told 429, by a body the server chokes on. So where
the trouble lasts, and again at the end of an attempt that ended in it, the gateway asks one tiny question itself. Its
line stands in the ledger (``ours``) and counts for nothing; ``totals`` reads from it whose fault the end was. An outage
may be over by then: where the question is answered, the contestant's own last request is made once more (``again``).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque

from runner.gateway.book import Book
from runner.gateway.own import Own, Sent
from runner.gateway.totals import end_fault, witnessed
from runner.gateway.wire import ANSWERS
from runner.schema.ledger import Wire

PATIENCE_S = 1.0
"""Trouble that is over within this time needs no witness."""
APART_S = 5.0
MOST = 10
"""Questions of our own in one attempt, while it runs."""
TIMEOUT_S = 20.0
BURST, WINDOW_S = 30, 60.0
"""More requests than this within the window, and HTTP 429 may be the contestant's own doing."""
COOL_S = 5.0


class Witness:
    """Asks for one run."""

    def __init__(self, own: Own, book: Book, run_id: str) -> None:
        self._own, self._book, self._run_id = own, book, run_id
        self._times: deque[float] = deque(maxlen=BURST + 1)
        self._task: asyncio.Task[None] | None = None
        self._last = 0.0
        self.begin("-")

    def begin(self, attempt: str) -> None:
        """A new attempt."""
        self._attempt, self._count = attempt, 0
        self._failed: tuple[Sent, str] | None = None

    def asked(self) -> None:
        """The contestant sends a request."""
        self._times.append(time.monotonic())

    def trouble(self, sent: Sent, fault: str) -> None:
        """A request of the contestant's failed as if by the provider; look, without delaying anybody."""
        now = time.monotonic()
        self._failed = None if self._bursting(now) else (sent, fault)
        busy = self._task is not None and not self._task.done()
        if busy or self._count >= MOST or now - self._last < APART_S or not self._book.spoke():
            return
        if fault.startswith("wrong ") or (fault == "HTTP 429" and self._bursting(now)):
            return
        self._last = now
        self._task = asyncio.create_task(self._look(sent.wire))

    async def conclude(self) -> None:
        """The attempt is over: where its end looks like the provider's fault and nobody saw it, look now."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None
        lines = [line for line in self._book.lines(self._attempt) if line.protocol in ANSWERS]
        asked = [line for line in lines if not line.ours and line.outcome != "refused"]
        fault = end_fault(asked, spoke=self._book.spoke())
        if fault is None or fault.startswith("wrong ") or not self._book.spoke() or witnessed(lines):
            return
        if fault == "HTTP 429":
            # After a burst the account is closed for a while, to everybody.
            await asyncio.sleep(COOL_S)
        await self._ask(asked[-1].protocol)
        await self._again(fault)

    async def _again(self, fault: str) -> None:
        """Trouble that was over at once: the same request tells whether it was the request's own."""
        failed, self._failed = self._failed, None
        if failed is None or failed[1] != fault or fault == "HTTP 429" or witnessed(self._book.lines(self._attempt)):
            return
        to_the_end = not fault.startswith("HTTP ") and " is unreachable" not in fault
        await self._own.again(self._attempt, self._run_id, failed[0], TIMEOUT_S, to_the_end=to_the_end)

    def _bursting(self, now: float) -> bool:
        return len(self._times) > BURST and now - self._times[0] < WINDOW_S

    async def _look(self, wire: Wire) -> None:
        await asyncio.sleep(PATIENCE_S)
        lines = [line for line in self._book.lines(self._attempt) if not line.ours and line.protocol in ANSWERS]
        if lines and lines[-1].fault:
            self._count += 1
            await self._ask(wire)

    async def _ask(self, wire: Wire) -> None:
        await self._own.ask(self._attempt, self._run_id, wire, TIMEOUT_S)
