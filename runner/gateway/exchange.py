"""One request's story, from its first byte to its ledger line."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from runner.gateway.answers import AnswerReader, Facts
from runner.gateway.providers import Provider
from runner.gateway.said import options_sha256, sampling_of, system_sha256
from runner.gateway.wire import ANSWERS, Asked, is_context_error
from runner.prices import Price
from runner.schema.ledger import LedgerLine, Outcome, Usage, Wire

_UNREAD = Asked(None, False, None, b"")
_FAULTY = frozenset([401, 402, 403, 404, 407, 408, 409, 425, 429])


class Exchange:
    """Gathers what happens to one request; each way it can end makes the one line that is written."""

    def __init__(
        self,
        run_id: str,
        provider: Provider,
        model: str,
        attempt: str,
        method: str,
        path: str,
        *,
        ours: bool = False,
        again: bool = False,
    ) -> None:
        self.attempt = attempt
        self.wire: Wire = "other"
        self.asked = _UNREAD
        self.request_bytes = 0
        self.reader: AnswerReader | None = None
        self.judge: Callable[[Facts], str | None] = lambda facts: None
        """Whether somebody else answers than was asked; holds however the exchange ends."""
        self.open = True
        self.fault: str | None = None
        self._run_id, self._provider, self._model, self._ours, self._again = run_id, provider, model, ours, again
        self.path = f"{method} {path}"[:200]
        self._at = datetime.now(UTC)
        self._started = time.monotonic()
        self._first_byte: float | None = None
        self._status: int | None = None
        self._bytes = 0

    def headers_in(self, status: int) -> None:
        self._status = status

    def chunk_in(self, size: int) -> None:
        if self._first_byte is None:
            self._first_byte = time.monotonic()
        self._bytes += size

    def refused(self, status: int, reason: str, size: int) -> LedgerLine:
        """The gateway did not pass it on."""
        self._status, self._bytes = status, size
        return self._line("refused", Facts(), refused=reason)

    def ended(self, facts: Facts, *, cut: bool, fault: str | None, note: str | None = None) -> LedgerLine:
        """The upstream's 2xx answer is over; ``cut`` when its end is missing."""
        if facts.error is not None:
            wrong = fault is not None and fault.startswith("wrong ")  # the error was somebody else's
            context = facts.context and not wrong
            fault = fault if wrong else None if context else f"error: {facts.error}"
            return self._line("error", facts, context=context, fault=fault, note=note)
        if cut:
            return self._line("cut", facts, cut=True, fault=fault or "the answer was cut off", note=note)
        return self._line("answered", facts, fault=fault, note=note)

    def upstream_error(self, status: int, body: bytes, size: int) -> LedgerLine:
        """The upstream answered with an error status; ``body`` is its plain text, ``size`` its bytes on the wire."""
        self._status, self._bytes = status, size
        context = is_context_error(status, body)
        faulty = not context and (status in _FAULTY or status >= 500 or status < 400)
        return self._line("error", Facts(), context=context, fault=f"HTTP {status}" if faulty else None)

    def failed(self, why: str) -> LedgerLine:
        """The upstream could not be reached, or broke off."""
        if self.reader is None:
            return self._line("error", Facts(), fault=why)
        facts = self.reader.finish()
        return self._line("cut", facts, cut=True, fault=self.judge(facts) or "the answer was cut off")

    def abandoned(self, note: str | None = None) -> LedgerLine:
        """The agent left first, or was ended; an answer that was already whole counts as one."""
        facts = self.reader.finish() if self.reader else Facts()
        if facts.complete or facts.error is not None:
            return self.ended(facts, cut=False, fault=self.judge(facts), note=note)
        return self._line("abandoned", facts, fault=self.judge(facts), note=note)

    def tunnelled(self, sent: int, received: int, note: str | None) -> LedgerLine:
        """A connection to an allowed host is over."""
        self._status, self.request_bytes, self._bytes = 200, sent, received
        return self._line("answered", Facts(), note=note)

    @property
    def started_ms(self) -> float:
        """When the request came in, on this machine's own clock."""
        return self._started * 1000

    def _line(self, outcome: Outcome, facts: Facts, **more: Any) -> LedgerLine:
        self.open = False
        self.fault = more.get("fault")
        now = time.monotonic()
        priced = self._price(outcome, facts)
        used = ", ".join(facts.tools_used)
        said = (self.asked.note, more.pop("note", None), f"the provider used tools: {used}" if used else None)
        note = "; ".join(part for part in said if part)
        return LedgerLine(
            time=self._at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            run_id=self._run_id,
            attempt=self.attempt,
            ours=self._ours,
            again=self._again,
            seq=0,
            protocol=self.wire,
            path=self.path,
            model_asked=self.asked.model[:200] if self.asked.model else None,
            model_served=facts.model,
            host_served=facts.host,
            response_id=facts.response_id,
            status=self._status,
            stream=self.asked.stream,
            outcome=outcome,
            usage=facts.usage,
            usage_reason=_usage_reason(outcome, facts, self._first_byte is not None, self.wire in ANSWERS),
            price_usd=priced.usd,
            price_source=priced.source,
            effort_wire=self.asked.effort,
            sampling=sampling_of(self.asked.sent),
            options_sha256=options_sha256(self.asked.sent),
            system_sha256=system_sha256(self.asked.sent),
            latency_ms=round((now - self._started) * 1000, 3),
            first_byte_ms=None if self._first_byte is None else round((self._first_byte - self._started) * 1000, 3),
            request_bytes=self.request_bytes,
            response_bytes=self._bytes,
            note=note or None,
            **more,
        )

    def _price(self, outcome: Outcome, facts: Facts) -> Price:
        usage: Usage | None = facts.usage
        if self.wire == "egress" or (usage is None and (outcome in ("refused", "error") or self._first_byte is None)):
            return Price(0.0, "no model was asked" if self.wire == "egress" else "nothing answered")
        return self._provider.price_of(
            facts.model or self._model, usage, self._at, pinned=self._model, own_cost=facts.cost_usd
        )


def _usage_reason(outcome: Outcome, facts: Facts, began: bool, asks: bool) -> str | None:
    if outcome == "refused":
        return "not passed on"
    if not asks:
        return "no model was asked"
    if facts.usage is not None:
        return None if outcome == "answered" else "as last reported before the answer broke off"
    if facts.unreadable:
        return facts.unreadable
    if outcome == "answered":
        return "the provider reported no usage"
    return "the answer broke off before its usage" if began else "nothing answered"
