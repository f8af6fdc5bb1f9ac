"""The gateway's ledger: what went over the wire, one line a request, and what the lines add up to."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from runner.schema.base import Strict

Wire = Literal["chat", "responses", "anthropic", "count_tokens", "models", "egress", "other"]

Outcome = Literal["answered", "error", "cut", "abandoned", "refused"]
"""answered: a whole 2xx answer; error: the upstream said no, or could not be reached; cut: the upstream's answer
stopped midway; abandoned: the agent went away first; refused: the gateway never passed it on."""


class Usage(Strict):
    """Tokens of one answer in canonical form. ``output`` includes ``reasoning``; null = not reported apart."""

    uncached_input: int = Field(ge=0)
    cache_read: int = Field(default=0, ge=0)
    cache_write: int = Field(default=0, ge=0)
    cache_write_1h: int = Field(default=0, ge=0)
    """The part of ``cache_write`` that is kept for an hour, and costs more than one kept for minutes."""
    output: int = Field(ge=0)
    reasoning: int | None = Field(default=None, ge=0)

    @property
    def total(self) -> int:
        return self.uncached_input + self.cache_read + self.cache_write + self.output

    def counts_as(self, other: Usage | None) -> bool:
        """Whether both name the same tokens; how long a cache keeps them is not said by everybody."""
        return other is not None and self.model_copy(update={"cache_write_1h": other.cache_write_1h}) == other

    def plus(self, other: Usage) -> Usage:
        reasoning = None if self.reasoning is None or other.reasoning is None else self.reasoning + other.reasoning
        return Usage(
            uncached_input=self.uncached_input + other.uncached_input,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            cache_write_1h=self.cache_write_1h + other.cache_write_1h,
            output=self.output + other.output,
            reasoning=reasoning,
        )


class LedgerLine(Strict):
    """One request. Times: ISO 8601 UTC with milliseconds; durations in milliseconds; sizes in bytes on the wire."""

    schema_: Literal["bench/ledger/1"] = "bench/ledger/1"
    time: str
    run_id: str
    attempt: str
    seq: int
    protocol: Wire
    path: str
    model_asked: str | None = None
    model_served: str | None = None
    host_served: str | None = None
    """Who computed the answer, where a broker says so."""
    response_id: str | None = None
    status: int | None = None
    stream: bool = False
    outcome: Outcome
    usage: Usage | None = None
    usage_reason: str | None = None
    """Why ``usage`` is null, or why it is not the whole truth (a cut stream)."""
    price_usd: float | None = None
    price_source: str
    """``provider``, ``genai-prices <version>``, ``free`` or the reason why there is no price."""
    effort_wire: str | None = None
    sampling: str | None = None
    """Temperature and the like as the request has them, as JSON with sorted keys."""
    options_sha256: str | None = None
    """Of all that the request says besides its conversation and its session's ids."""
    system_sha256: str | None = None
    """Of the request's system prompt, in the canonical form."""
    latency_ms: float
    first_byte_ms: float | None = None
    request_bytes: int
    response_bytes: int
    cut: bool = False
    refused: str | None = None
    """Why the gateway refused it: ``token``, ``path``, ``model``, ``body``, ``tool: ...``, ``busy: ...``, ``host``,
    ``wrong_model``, ``divergence`` or ``cap: ...``."""
    repeats: int = Field(default=1, ge=1)
    """How many refusals this line stands for: a flood of them is folded, so that it cannot fill the disk."""
    ours: bool = False
    """The runner's own request: it shows whether a fault is the provider's. Counts for nothing else."""
    again: bool = False
    """One of ``ours``: the contestant's own last request, made once more by the runner."""
    context: bool = False
    """The upstream refused it because the conversation no longer fits."""
    fault: str | None = None
    """What the provider did wrong on this request, in a few words."""
    note: str | None = None
    """What the gateway changed in the body (``include_usage added``), or saw beside the answer."""


class LedgerTotals(Strict):
    """What the lines of a run, or of one attempt, add up to."""

    schema_: Literal["bench/ledger-totals/1"] = "bench/ledger-totals/1"
    requests: int = 0
    answered: int = 0
    """As ``errors``, ``cut`` and ``abandoned``: requests that make a model answer; a list of models is none."""
    errors: int = 0
    cut: int = 0
    abandoned: int = 0
    refused: int = 0
    usage: Usage = Usage(uncached_input=0, output=0, reasoning=0)
    unmetered: int = 0
    """Answers, whole or cut, whose tokens are not known."""
    price_usd: float | None = None
    price_reason: str | None = None
    models_served: list[str] = []
    hosts_served: list[str] = []
    efforts_wire: list[str | None] = []
    model_seconds: float = 0.0
    """Sum of the latencies of all requests that were passed on."""
    cap: str | None = None
    """The first cap that refused a request."""
    tools_refused: list[str] = []
    """Tools that the provider would have executed, and that the benchmark does not allow."""
    context_errors: int = 0
    context_death: bool = False
    """The last request that was passed on failed because the conversation no longer fits."""
    provider_fault: str | None = None
    """Why what happened is the provider's doing, not the model's: a fault that no later answer made good."""
    recovered_faults: int = 0
    unconfirmed_fault: str | None = None
    """A fault at the end that did not happen to a request of the runner's own: the contestant's doing."""
    diverged: str | None = None
    """Where a replayed agent asked something else than the recorded one."""
