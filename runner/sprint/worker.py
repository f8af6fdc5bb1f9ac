"""What does the work of one attempt: an agent, or a control's script."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from runner.prices import Price
from runner.repo import Mirror
from runner.sandbox.box import Box
from runner.schema.cell import Cell
from runner.schema.entry import Limits, Milestone
from runner.schema.ledger import Usage
from runner.schema.run import Cause, RunLock
from runner.store.rundir import RunDir


@dataclass(frozen=True)
class Task:
    """One attempt at one milestone. ``logs`` is an empty folder on the host for the agent's own logs; ``attic`` is a
    trusted box that can read the contestant's HOME, also after its death.
    """

    box: Box
    mirror: Mirror
    milestone: Milestone
    number: int
    brief: str
    wall_s: float
    logs: Path
    cancel: threading.Event
    attic: Box | None = None
    head: str = ""
    """The commit that the attempt begins from."""
    carried: tuple[str, ...] = ()
    """Files in the work tree that are the runner's, not the contestant's."""
    limit: str = "attempt_wall_s"
    """Which of the benchmark's limits ``wall_s`` is, or what is left of it."""


def time_for(limits: Limits, run_left_s: float) -> tuple[float, str]:
    """Seconds that an attempt may take where ``run_left_s`` are left of the run's, and the limit that ends it then."""
    most = float(limits.attempt_wall_s)
    return (most, "attempt_wall_s") if most <= run_left_s else (run_left_s, "run_wall_s")


@dataclass(frozen=True)
class Work:
    """How an attempt ended. ``counted`` is false where the rig or the provider ended it: then it was no attempt.

    ``ended`` is one of done, timeout, cap, context, refused, killed, cancelled, provider, rig.
    """

    ended: str
    counted: bool = True
    cause: Cause | None = None
    detail: str = ""


class Worker(Protocol):
    def work(self, task: Task) -> Work:
        """Let the contestant work on one attempt; returns when it has stopped or was stopped."""


@dataclass(frozen=True)
class Door:
    """A run's contestant, ready to work; ``socket_dir`` is the way to the model's gateway, None where it uses none."""

    worker: Worker
    socket_dir: Path | None = None


@dataclass(frozen=True)
class Facts:
    """What the gateway's ledger knows of a run."""

    tokens: Usage | None
    tokens_reason: str | None
    requests: int | None
    models_served: list[str]
    cost: Cell
    by_list: Callable[[str, Usage, datetime], Price] | None = None
    """Prices a request's tokens by the provider's price list."""


class Contestant(Protocol):
    """Who competes: opened once per run, before the pod."""

    def open(self, run: RunDir, lock: RunLock) -> AbstractContextManager[Door]:
        """Everything that lives as long as the run's development."""

    def facts(self) -> Facts:
        """What is known so far; complete once the door is closed."""
