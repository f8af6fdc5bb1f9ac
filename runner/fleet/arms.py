"""From ``provider/model`` on the command line to an arm with its contestant."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

from runner.errors import UsageError
from runner.fleet.queue import Job
from runner.gateway.client import Gateway
from runner.gateway.limits import Caps
from runner.gateway.local import look
from runner.gateway.providers import Provider, Providers, load_providers, price_is_known, providers_file
from runner.harness import known
from runner.harness.base import Harness, Request
from runner.lab.kit import Kit
from runner.lab.prepare import Log, add_agent
from runner.registry.benchmark import Benchmark
from runner.registry.freshness import contamination
from runner.schema.arm import Arm
from runner.schema.entry import Limits
from runner.sprint import controls
from runner.sprint.agent import AgentContestant
from runner.stages.run import Order


@dataclass(frozen=True)
class Draft:
    """An arm whose parts are known to exist; nothing is started yet. A control has neither provider nor harness."""

    arm: Arm
    provider: Provider | None = None
    harness: Harness | None = None


class Arms:
    """Makes jobs for one benchmark; holds what arms share (the gateway, the embedded model) while they run."""

    def __init__(self, benchmark: Benchmark, log: Path | None = None) -> None:
        self._benchmark = benchmark
        self._stack = ExitStack()
        self._providers: Providers = load_providers(providers_file(benchmark.home))
        self._gateway: Gateway | None = None
        self._log = log

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def draft(self, text: str, *, harness: str | None, effort: str | None) -> Draft:
        """Raises UsageError for an unknown provider, model or harness and ConfigError for a key that is not set."""
        provider, model = self._providers.resolve(text)
        allowed = self._benchmark.entry.providers_allowed
        if allowed and provider.name not in [*allowed, "control"]:
            raise UsageError(f"{self._benchmark.id} allows only {', '.join(allowed)}, not {provider.name}")
        if provider.kind == "control":
            # --harness and --effort are for the models beside it: a control has its own script and thinks nothing.
            controls.Control(model, self._benchmark)
            return Draft(Arm(provider=provider.name, model=model, harness="scripted", harness_version=controls.VERSION,
                             effort="none", mode="single_agent", role="control"))  # fmt: skip
        if not provider.asks_a_model:
            raise UsageError(f"provider {provider.name} cannot be run yet")
        provider = provider.for_model(model)
        agent = known.harness(harness or known.DEFAULT, self._benchmark.home)
        arm = Arm(provider=provider.name, model=model, harness=agent.name, harness_version=agent.version,
                  effort=effort or "unknown", mode=agent.mode)  # fmt: skip
        agent.prepare(
            Request("http://127.0.0.1", "", provider, model, arm.effort, "")
        )  # refuses what it cannot express
        return Draft(arm, provider, agent)

    def job(self, draft: Draft, kit: Kit, sample: int, log: Log, *, full: bool = False) -> Job:
        """Ready to be run; builds the harness's image layer where the arm needs one.

        ``full``: score the corpus of a control, too.
        """
        if draft.provider is None or draft.harness is None:
            return Job(kit, Order(draft.arm, sample, controls.Control(draft.arm.model, self._benchmark), full))
        if self._gateway is None:
            self._gateway = self._stack.enter_context(Gateway(log=self._log))
        limits = self._benchmark.entry.limits.tightened(draft.provider.limits)
        entry = self._benchmark.entry.model_copy(update={"limits": limits})
        layer = draft.harness.layer
        laid = add_agent(kit, layer, log) if layer else kit
        own = replace(laid, benchmark=replace(self._benchmark, entry=entry))
        caps = caps_of(limits, draft.provider, draft.arm.model)
        if caps.usd is None:
            log(f"{draft.arm.label}: its price is not known, so limits in USD do not hold")
        contestant = AgentContestant(
            self._gateway, draft.harness, draft.provider, draft.arm, caps,
            tools=entry.provider_tools, egress=entry.egress,
        )  # fmt: skip
        options = draft.provider.models.get(draft.arm.model)
        seen = contamination(draft.arm.model, entry.published, options.released if options else None)
        server = look(draft.provider, draft.arm.model, os.environ) if draft.provider.local else None
        order = Order(
            draft.arm, sample, contestant, contamination=seen, log_format=draft.harness.log_format,
            pinned=draft.provider.pinned(draft.arm.model), server=None if server is None else asdict(server),
        )  # fmt: skip
        return Job(own, order)


def caps_of(limits: Limits, provider: Provider, model: str) -> Caps:
    """A cap in USD only where the price is known; elsewhere it could not hold, and the others bound the run."""
    priced = price_is_known(provider, model)
    return Caps(
        requests=limits.requests,
        tokens=limits.tokens,
        input_tokens=limits.input_tokens,
        output_tokens=limits.output_tokens,
        usd=limits.usd if priced else None,
        concurrent=limits.concurrent,
        attempt=Caps(
            requests=limits.attempt_requests,
            tokens=limits.attempt_tokens,
            input_tokens=limits.attempt_input_tokens,
            output_tokens=limits.attempt_output_tokens,
            usd=limits.attempt_usd if priced else None,
        ),
    )
