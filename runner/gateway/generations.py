"""What a broker books for an answer whose end nobody saw: asked afterwards, by the answer's id.

OpenRouter: ``GET /generation?id=``; its figures are counted by the model's own tokenizer (``native_tokens_*``), as the
usage of its answers is.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import quote

from runner.gateway.dial import Unreachable
from runner.gateway.outbound import Cut, Outbound
from runner.gateway.upstream import OUR_HEADERS, Upstream, inflated
from runner.schema.ledger import LedgerLine, Usage

TRIES, PAUSE_S, TIMEOUT_S = 4, 0.5, 5.0
"""A broker's books are behind by a second or two."""
MAX_BYTES = 1 << 20


class Generations:
    """Asks one broker."""

    def __init__(self, upstream: Upstream, provider: Outbound, pause_s: float = PAUSE_S) -> None:
        self._upstream, self._provider, self._pause_s = upstream, provider, pause_s

    async def complete(self, line: LedgerLine) -> LedgerLine:
        """The line with tokens, cost and host as the broker booked them; unchanged where it does not say."""
        assert line.response_id is not None
        for attempt in range(TRIES):
            await asyncio.sleep(self._pause_s * 2**attempt)
            data = await self._get(line.response_id)
            if data is not None:
                return _completed(line, data)
        return line

    async def _get(self, answer_id: str) -> dict[str, Any] | None:
        target = self._upstream.target("/generation", f"id={quote(answer_id, safe='')}")
        headers = self._upstream.request_headers(OUR_HEADERS)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                answer = await self._provider.ask("GET", target, headers)
                try:
                    raw = await answer.read(MAX_BYTES)
                finally:
                    answer.close()
            if answer.status != 200:
                return None
            found = json.loads(inflated(raw, answer.headers.get("content-encoding"), MAX_BYTES))
        except (Unreachable, Cut, OSError, TimeoutError, ValueError, RecursionError):
            return None
        data = found.get("data") if isinstance(found, dict) else None
        return data if isinstance(data, dict) else None


def _completed(line: LedgerLine, data: dict[str, Any]) -> LedgerLine:
    into, out = _count(data, "native_tokens_prompt"), _count(data, "native_tokens_completion")
    update: dict[str, Any] = {}
    if into is not None and out is not None:
        read = min(_count(data, "native_tokens_cached") or 0, into)
        update["usage"] = Usage(
            uncached_input=into - read,
            cache_read=read,
            output=out,
            reasoning=_count(data, "native_tokens_reasoning"),
        )
        update["usage_reason"] = "as the broker booked it"
    cost = data.get("total_cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0:
        update["price_usd"], update["price_source"] = float(cost), "provider"
    if isinstance(data.get("provider_name"), str):
        update["host_served"] = data["provider_name"][:100]
    return line.model_copy(update=update)


def _count(data: dict[str, Any], key: str) -> int | None:
    value = data.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
