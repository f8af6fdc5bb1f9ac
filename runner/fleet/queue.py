"""Runs orders side by side and returns one result for each, in the order they were given."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from runner.lab.kit import Kit
from runner.schema.run import RunResult
from runner.stages.run import Order, execute
from runner.store.rundir import Listener


@dataclass(frozen=True)
class Job:
    """An order with the kit that holds its own contestant image."""

    kit: Kit
    order: Order


def run_all(
    jobs: Sequence[Job], *, side_by_side: int, cancel: threading.Event, on_event: Listener, idle: Callable[[], None]
) -> list[RunResult]:
    """Run every job, ``side_by_side`` at a time; ``idle`` is called a few times a second meanwhile.

    A stop (``cancel``) lets every run that has started end in its row; those not started yet are left out. An error
    that is no result (usage, a bug) stops the others and is raised when they have ended.
    """
    with ThreadPoolExecutor(max_workers=side_by_side, thread_name_prefix="run") as pool:
        futures = [
            pool.submit(_one, Job(replace(job.kit, cancel=cancel), job.order), cancel, on_event) for job in jobs
        ]  # fmt: skip
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_EXCEPTION)
            idle()
            if any(f.exception() for f in done):
                cancel.set()
    return [result for f in futures if (result := f.result()) is not None]


def _one(job: Job, cancel: threading.Event, on_event: Listener) -> RunResult | None:
    if cancel.is_set():
        return None
    return execute(job.kit, job.order, cancel, on_event)
