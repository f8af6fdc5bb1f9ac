"""Progress on stderr: a live table on a terminal, plain lines elsewhere, JSON events where asked for."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import AbstractContextManager
from typing import Any, Protocol, Self

from rich.console import Console
from rich.live import Live as RichLive
from rich.markup import escape
from rich.spinner import Spinner
from rich.table import Table

from runner.report.format import duration
from runner.schema.base import canonical
from runner.schema.events import Event


class Live(Protocol):
    def event(self, event: Event) -> None: ...
    def log(self, line: str) -> None: ...
    def note(self, line: str) -> None: ...
    def refresh(self) -> None: ...


def make_view(*, events: bool) -> AbstractContextManager[Live]:
    """JSON lines with ``--events``; a table where stderr is a terminal; otherwise a line per step."""
    if events:
        return JsonLines()
    console = Console(stderr=True)
    return LiveTable(console) if console.is_terminal else Lines(console)


class JsonLines:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def event(self, event: Event) -> None:
        sys.stderr.write(canonical(event) + "\n")
        sys.stderr.flush()

    def log(self, line: str) -> None: ...

    def note(self, line: str) -> None:
        sys.stderr.write(canonical({"schema_": "bench/note/1", "note": line}) + "\n")

    def refresh(self) -> None: ...


class Lines:
    """For logs of CI: one line per step that a person cares for."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._guard = threading.Lock()
        self._names: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def event(self, event: Event) -> None:
        if event.kind == "run_start":
            self._names[event.run_id] = event.data["arm"]
        text = describe(event)
        if text:
            self.note(f"{self._names.get(event.run_id, event.run_id)}: {text}")

    def log(self, line: str) -> None:
        if line.strip():
            self._console.print(line.rstrip(), style="dim", markup=False, highlight=False, soft_wrap=True)

    def note(self, line: str) -> None:
        with self._guard:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def refresh(self) -> None: ...


class LiveTable:
    """One line per run with what it does now and for how long; the last build line below while images are made."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._guard = threading.Lock()
        self._runs: dict[str, dict[str, Any]] = {}
        self._log = ""
        self._spinner = Spinner("dots")
        self._live = RichLive(console=console, refresh_per_second=6, transient=True, get_renderable=self._render)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def event(self, event: Event) -> None:
        with self._guard:
            run = self._runs.setdefault(
                event.run_id, {"arm": event.run_id, "text": "", "since": time.monotonic(), "done": False}
            )
            if event.kind == "run_start":
                run["arm"] = event.data["arm"]
                self._log = ""
            if event.kind == "run_end":
                run["done"] = True
            text = describe(event)
            if text:
                run["text"], run["since"] = text, time.monotonic()

    def log(self, line: str) -> None:
        with self._guard:
            self._log = line.strip() or self._log

    def note(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False)

    def refresh(self) -> None: ...

    def _render(self) -> Table:
        grid = Table.grid(padding=(0, 2))
        with self._guard:
            for run in self._runs.values():
                now = "" if run["done"] else duration(time.monotonic() - run["since"])
                mark: Any = " " if run["done"] else self._spinner
                grid.add_row(mark, escape(run["arm"]), escape(run["text"]), now)
            if self._log and not self._runs:
                grid.add_row(self._spinner, "images", escape(self._log[: max(self._console.width - 16, 20)]), "")
        return grid


def describe(event: Event) -> str:
    """One journal line in words, or nothing where a person need not see it."""
    data = event.data
    match event.kind:
        case "state":
            words = {"preparing": "proving the baseline", "measuring": "scoring", "copied": "branch copied out"}
            return words.get(data["state"], "")
        case "attempt_start":
            return f"{data['milestone']}, attempt {data['number']}: starting"
        case "agent_start":
            return f"{data['milestone']}, attempt {data['number']}: at work"
        case "agent_end":
            more = f" ({data['detail']})" if data["detail"] else ""
            return f"{data['milestone']}, attempt {data['number']}: {data['ended']}{more}, verifying"
        case "verify":
            return f"{data['milestone']}, attempt {data['number']}: {'passed' if data['passed'] else data['why']}"
        case "gate":
            verdict = {True: "pass", False: "FAIL", None: "-"}[data["passed"]]
            return f"gate {data['gate']}: {verdict}"
        case "copy_out":
            return f"copy-out refused: {data.get('refused', '')}"
        case "run_end":
            return f"{data['outcome']}{': ' + data['detail'] if data['detail'] else ''}"
    return ""
