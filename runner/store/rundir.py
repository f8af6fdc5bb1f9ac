"""A run's directory: one folder, allocated by the runner, never found by a glob."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runner.errors import RigError, UsageError
from runner.schema.events import Event, EventKind
from runner.schema.run import Manifest, RunLock, RunResult, State, StateName
from runner.schema.score import Score
from runner.store.clock import now
from runner.store.files import append_line, read_lines, read_record, write_record

Listener = Callable[[Event], None]


class RunDir:
    """Paths and records of one run. ``on_event`` hears every journal line as it is written."""

    def __init__(self, path: Path, on_event: Listener | None = None) -> None:
        self.path = path
        self._on_event = on_event
        self._guard = threading.Lock()
        self._seq = 0

    @classmethod
    def create(cls, runs_dir: Path, name: str, lock: RunLock, on_event: Listener | None = None) -> RunDir:
        """A fresh folder that nothing of an earlier run is in."""
        path = runs_dir / name
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            raise RigError(f"{path} is there already") from None
        for folder in ("agent", "artifacts", "scores", "output"):
            (path / folder).mkdir()
        run = cls(path, on_event)
        write_record(run.lock_file, lock)
        return run

    @property
    def lock_file(self) -> Path:
        return self.path / "lock.json"

    @property
    def result_file(self) -> Path:
        return self.path / "result.json"

    @property
    def bundle(self) -> Path:
        return self.path / "branch.bundle"

    @property
    def ledger(self) -> Path:
        return self.path / "gateway.jsonl"

    @property
    def cassette(self) -> Path:
        """Where the gateway keeps every exchange with the model."""
        return self.path / "cassette"

    @property
    def agent(self) -> Path:
        """The agent's own logs, untouched; one folder per attempt."""
        return self.path / "agent"

    @property
    def artifacts(self) -> Path:
        """Ignored files that the registry wants copied out always."""
        return self.path / "artifacts"

    @property
    def output(self) -> Path:
        """What commands printed: beside the scores, never in them."""
        return self.path / "output"

    def lock(self) -> RunLock:
        return read_record(self.lock_file, RunLock)

    def result(self) -> RunResult:
        return read_record(self.result_file, RunResult)

    def state(self, state: StateName, detail: str = "") -> None:
        append_line(self.path / "states.jsonl", State(at=now(), state=state, detail=detail))
        self.event("state", state=state, detail=detail)

    def states(self) -> list[State]:
        return read_lines(self.path / "states.jsonl", State)

    def event(self, kind: EventKind, **data: Any) -> None:
        with self._guard:
            self._seq += 1
            event = Event(seq=self._seq, at=now(), run_id=self.path.name, kind=kind, data=data)
            append_line(self.path / "journal.jsonl", event)
        if self._on_event:
            self._on_event(event)

    def events(self) -> list[Event]:
        return read_lines(self.path / "journal.jsonl", Event)

    def write_score(self, score: Score) -> None:
        write_record(self.path / "scores" / f"{score.layer}.json", score)

    def score(self, layer: str) -> Score | None:
        file = self.path / "scores" / f"{layer}.json"
        return read_record(file, Score) if file.exists() else None

    def scores(self) -> list[Score]:
        return [read_record(file, Score) for file in sorted((self.path / "scores").glob("*.json"))]

    def seal(self) -> str:
        """Write ``manifest.json`` with the hash of every other file; returns the manifest's own hash."""
        files = {
            file.relative_to(self.path).as_posix(): sha256_of(file)
            for file in sorted(self.path.rglob("*"))
            if file.is_file() and not file.is_symlink() and file.name != "manifest.json"
        }
        target = self.path / "manifest.json"
        write_record(target, Manifest(run_id=self.path.name, files=files))
        return sha256_of(target)


def find_run(runs_dir: Path, name: str) -> RunDir:
    """A stored run by its folder name or an unambiguous beginning of it. Raises UsageError."""
    found = sorted(p for p in runs_dir.glob("*") if (p / "lock.json").exists() and p.name.startswith(name))
    exact = [p for p in found if p.name == name]
    if exact:
        return RunDir(exact[0])
    if not found:
        raise UsageError(f"there is no run {name!r} in {runs_dir}", "bench list shows them")
    if len(found) > 1:
        raise UsageError(f"{name!r} fits {len(found)} runs", f"name one: {', '.join(p.name for p in found[:5])}")
    return RunDir(found[0])


def sha256_of(path: Path) -> str:
    """SHA-256 (hex) of a file's content."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
