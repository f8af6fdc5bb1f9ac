"""A run's directory: one folder, allocated by the runner, never found by a glob."""

from __future__ import annotations

import hashlib
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runner.errors import ProofError, RigError, UsageError
from runner.schema.events import Event, EventKind
from runner.schema.look import Look
from runner.schema.run import Manifest, RunLock, RunResult, State, StateName
from runner.schema.score import Score
from runner.store.clock import now
from runner.store.files import append_line, read_lines, read_record, write_record

Listener = Callable[[Event], None]


class RunDir:
    """Paths and records of one run. ``on_event`` hears every journal line as it is written.

    What was scored when the run ended is revision 1 and lies in ``path`` itself. Every later scoring has a folder of
    its own below ``revisions``; nothing that was sealed is ever written again.
    """

    def __init__(self, path: Path, on_event: Listener | None = None, revision: int = 1) -> None:
        self.path = path
        self.revision = revision
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
    def folder(self) -> Path:
        """Where this revision's result, scores, detail and manifest lie."""
        return self.path if self.revision == 1 else self.path / "revisions" / str(self.revision)

    @property
    def result_file(self) -> Path:
        return self.folder / "result.json"

    @property
    def detail_file(self) -> Path:
        return self.folder / "detail.md"

    @property
    def manifest_file(self) -> Path:
        return self.folder / "manifest.json"

    @property
    def revision_file(self) -> Path:
        return self.folder / "revision.json"

    @property
    def reviews_file(self) -> Path:
        return self.folder / "reviews.json"

    def at(self, revision: int) -> RunDir:
        return RunDir(self.path, revision=revision)

    def sealed(self) -> list[int]:
        """Revisions whose manifest is written, oldest first."""
        later = [int(p.name) for p in (self.path / "revisions").glob("*") if p.name.isdigit()]
        return [n for n in [1, *sorted(later)] if self.at(n).manifest_file.is_file()]

    def latest(self) -> RunDir:
        """The last sealed revision (the first where none is sealed yet)."""
        return self.at(max(self.sealed(), default=1))

    def draft(self) -> RunDir:
        """An empty folder for the next revision; one that was never sealed (its writer died) is begun anew."""
        new = self.at(max(self.sealed(), default=1) + 1)
        shutil.rmtree(new.folder, ignore_errors=True)
        (new.folder / "scores").mkdir(parents=True)
        (new.folder / "output").mkdir()
        return new

    @property
    def bundle(self) -> Path:
        return self.path / "branch.bundle"

    @property
    def ledger(self) -> Path:
        return self.path / "gateway.jsonl"

    @property
    def events_file(self) -> Path:
        """The one event log, derived from everything else."""
        return self.path / "events.jsonl"

    @property
    def looks_file(self) -> Path:
        """What was seen of the work tree while the contestant worked, one line a look."""
        return self.path / "snapshots.jsonl"

    def add_look(self, look: Look) -> None:
        append_line(self.looks_file, look)

    def looks(self) -> list[Look]:
        return read_lines(self.looks_file, Look) if self.looks_file.exists() else []

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
        return self.folder / "output"

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
        write_record(self.folder / "scores" / f"{score.layer}.json", score)

    def score(self, layer: str) -> Score | None:
        file = self.folder / "scores" / f"{layer}.json"
        return read_record(file, Score) if file.exists() else None

    def scores(self) -> list[Score]:
        return [read_record(file, Score) for file in sorted((self.folder / "scores").glob("*.json"))]

    def seal(self) -> str:
        """Write ``manifest.json`` with the hash of every other file of this revision; returns the manifest's own."""
        target, later = self.manifest_file, self.path / "revisions"
        files = {
            file.relative_to(self.folder).as_posix(): sha256_of(file)
            for file in sorted(self.folder.rglob("*"))
            if file.is_file() and not file.is_symlink() and file != target
            and not (self.revision == 1 and file.is_relative_to(later))
        }  # fmt: skip
        before = sha256_of(self.at(self.sealed()[-1]).manifest_file) if self.revision > 1 else None
        write_record(target, Manifest(run_id=self.path.name, files=files, revision=self.revision, previous=before))
        return sha256_of(target)

    def check(self, manifest_hash: str | None = None) -> None:
        """Every file of this revision is as its manifest names it. Raises ProofError naming the first that is not."""
        manifest = self.manifest_file
        if not manifest.is_file() or (manifest_hash is not None and sha256_of(manifest) != manifest_hash):
            raise ProofError(f"{manifest} is not the one that the history names")
        for name, expected in read_record(manifest, Manifest).files.items():
            file = self.folder / name
            if not file.is_file() or sha256_of(file) != expected:
                raise ProofError(f"{file} was changed or removed since its row was written")


def find_run(runs_dir: Path, name: str) -> RunDir:
    """A stored run, at its last revision, by its folder name or an unambiguous beginning of it. Raises UsageError."""
    found = sorted(p for p in runs_dir.glob("*") if (p / "lock.json").exists() and p.name.startswith(name))
    exact = [p for p in found if p.name == name]
    if exact:
        return RunDir(exact[0]).latest()
    if not found:
        raise UsageError(f"there is no run {name!r} in {runs_dir}", "bench list shows them")
    if len(found) > 1:
        raise UsageError(f"{name!r} fits {len(found)} runs", f"name one: {', '.join(p.name for p in found[:5])}")
    return RunDir(found[0]).latest()


def sha256_of(path: Path) -> str:
    """SHA-256 (hex) of a file's content."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
