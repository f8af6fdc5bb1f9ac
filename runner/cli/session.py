"""What ``bench run`` holds open: engine, gateway, signals and the live view."""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Self

from runner.cli.live import Live, make_view
from runner.errors import Interrupted, UsageError
from runner.fleet.arms import Arms
from runner.fleet.queue import Job, run_all
from runner.lab.prepare import prepare_kit
from runner.registry.benchmark import load_benchmark
from runner.registry.frozen import check_frozen
from runner.repo import check_baseline
from runner.report.lookup import named, unrecorded
from runner.sandbox.engine import connect
from runner.sandbox.reaper import sweep
from runner.schema.run import RunResult
from runner.store.history import History


class Session:
    """Opens in the order of cost: registry, engine, images, and a gateway only where a model needs it."""

    def __init__(self, registry: Path, benchmark: str, *, events: bool) -> None:
        self.benchmark = load_benchmark(registry, benchmark)
        check_frozen(self.benchmark)
        entry = self.benchmark.entry
        check_baseline(self.benchmark.source, entry.baseline, [m.file for m in entry.milestones])
        self.cancel = threading.Event()
        self._events = events
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        try:
            self._view: Live = self._stack.enter_context(make_view(events=self._events))
            self._engine = self._stack.enter_context(connect())
            self._arms = self._stack.enter_context(Arms(self.benchmark))
            for number in (signal.SIGINT, signal.SIGTERM):
                self._stack.callback(signal.signal, number, signal.signal(number, self._stop))
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        """First wish: end the runs in their rows. Second: at once."""
        if self.cancel.is_set():
            raise KeyboardInterrupt
        self.cancel.set()
        self._view.note("stopping: branches are copied out, sandboxes removed (again to stop at once)")

    def orders(
        self,
        models: Sequence[str],
        *,
        harness: str | None = None,
        effort: str | None = None,
        samples: int | None = None,
        full: bool = False,
    ) -> list[Job]:
        """All jobs, everything about them checked before anything is started."""
        drafts = [self._arms.draft(model, harness=harness, effort=effort) for model in models]
        History(self.benchmark.runs_dir.parent).verify()  # a broken chain is said before hours are spent
        for lost in unrecorded(self.benchmark.index):
            self._view.note(f"{named(lost)} is sealed but has no row: bench verify --mend appends it")
        swept = sweep(self._engine)
        if swept.removed:
            self._view.note(f"removed {swept.removed} objects that dead controllers had left behind")
        kit = prepare_kit(self._engine, self.benchmark, self._view.log)
        if self.cancel.is_set():
            raise Interrupted("stopped before anything was started")
        count = samples or self.benchmark.entry.samples
        numbered = [(draft, number) for draft in drafts for number in range(1, count + 1)]
        return [self._arms.job(draft, kit, number, self._view.log, full=full) for draft, number in numbered]

    def run(self, jobs: Sequence[Job], side_by_side: int) -> list[RunResult]:
        return run_all(
            jobs, side_by_side=side_by_side, cancel=self.cancel, on_event=self._view.event, idle=self._view.refresh
        )  # fmt: skip

    def exit_code(self, results: Sequence[RunResult], *, asked: int) -> int:
        if self.cancel.is_set() or any(r.outcome == "cancelled" for r in results):
            return 130
        if len(results) < asked or any(r.outcome == "invalid" for r in results):
            return 3
        return 0


def only(option: str, given: str, known: str) -> None:
    """An option that has one value so far. Raises UsageError for another."""
    if given != known:
        raise UsageError(f"{option} {given!r} does not exist yet", f"there is {known}")
