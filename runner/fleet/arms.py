"""From ``provider/model`` on the command line to an arm with its contestant."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from runner.errors import UsageError
from runner.fleet.queue import Job
from runner.lab.kit import Kit
from runner.lab.prepare import Log
from runner.registry.benchmark import Benchmark
from runner.schema.arm import Arm
from runner.sprint import controls
from runner.stages.run import Order


@dataclass(frozen=True)
class Draft:
    """An arm whose parts are known to exist; nothing is started yet."""

    arm: Arm


class Arms:
    """Makes jobs for one benchmark; holds what arms share (the gateway, the embedded model) while they run."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def draft(self, text: str, *, harness: str | None, effort: str | None) -> Draft:
        """Raises UsageError for an unknown provider, model or harness and ConfigError for a key that is not set."""
        provider, slash, model = text.partition("/")
        if not slash or not provider or not model:
            raise UsageError(f"--model {text!r} is not provider/model", "for example control/reference")
        allowed = self._benchmark.entry.providers_allowed
        if allowed and provider not in [*allowed, "control"]:
            raise UsageError(f"{self._benchmark.id} allows only the providers {', '.join(allowed)}, not {provider}")
        if provider == "control":
            if harness not in (None, "scripted"):
                raise UsageError(f"a control runs in the harness scripted, not {harness}")
            controls.Control(model, self._benchmark)
            return Draft(Arm(provider=provider, model=model, harness="scripted", harness_version=controls.VERSION,
                             effort="none", role="control"))  # fmt: skip
        raise UsageError(f"there is no provider {provider!r}", "known: control")

    def job(self, draft: Draft, kit: Kit, sample: int, log: Log) -> Job:
        """Ready to be run; builds the harness's image layer where the arm needs one."""
        return Job(kit, Order(draft.arm, sample, controls.Control(draft.arm.model, self._benchmark)))
