"""A run: the lock that decides it, its states, and its result."""

from __future__ import annotations

from typing import Any, Literal

from runner.schema.arm import Arm
from runner.schema.base import Strict
from runner.schema.cell import Cell
from runner.schema.identity import IdentityRecord
from runner.schema.ledger import Usage
from runner.schema.score import Component, Composite

Cause = Literal["model", "context", "provider", "rig", "timeout", "cancelled"]
StateName = Literal["preparing", "developing", "copied", "measuring", "reporting", "done", "invalid", "cancelled"]


class ImageUse(Strict):
    """An image as it was used: its content-hash tag and the engine's own id (sha256 of its config)."""

    tag: str
    id: str
    source: str | None = None


class RunLock(Strict):
    """Everything that decides a run; written once, before anything is started."""

    schema_: Literal["bench/lock/1"] = "bench/lock/1"
    run_id: str
    sample: int
    benchmark: str
    benchmark_hash: str
    baseline: str
    branch: str
    arm: Arm
    images: dict[str, ImageUse]
    limits: dict[str, Any]
    attempts: int
    environment: dict[str, str]
    runner_version: str
    formula: str
    templates: str
    series: str
    certificate: str | None = None
    contamination: Cell | None = None
    """Whether the model is newer than the benchmark, and could have seen it; null for a control."""
    price_snapshot: str | None = None
    log_format: str | None = None
    pinned: dict[str, Any] = {}
    """Fields that the gateway sets in every request: where a broker may send it, options of the model."""
    server: dict[str, str | int | None] | None = None
    """What a server of one's own said before the run that it serves; null for others, and where it said nothing."""
    engine: dict[str, str] = {}


class State(Strict):
    """One line of ``states.jsonl``."""

    schema_: Literal["bench/state/1"] = "bench/state/1"
    at: str
    state: StateName
    detail: str = ""


class AttemptRecord(Strict):
    """One go at one milestone. ``counted`` is false when the rig or the provider ended it."""

    milestone: str
    number: int
    counted: bool
    passed: bool
    head: str | None
    ended: str
    cause: Cause | None = None
    detail: str = ""
    wall_s: float
    verify_exit: int | None = None
    steps_passed: list[str] = []


class RunResult(Strict):
    """What came out: ``result.json``."""

    schema_: Literal["bench/result/1"] = "bench/result/1"
    run_id: str
    sample: int
    benchmark: str
    arm: Arm
    arm_id: str
    outcome: str
    cause: Cause | None
    detail: str
    attempts: list[AttemptRecord]
    head: str | None
    diff_lines: int | None
    wall_s: float
    started_at: str
    tokens: Usage | None
    tokens_reason: str | None = None
    requests: int | None = None
    models_served: list[str] = []
    cost: Cell
    components: list[Component]
    code: Composite
    agentic: Composite
    review: Cell
    freeze: Cell
    contamination: Cell | None = None
    identity: IdentityRecord | None = None
    revision: int = 1
    rubric: str | None = None
    """Hash of rubric, prompt and reviewers that ``review`` rests on."""

    @property
    def wire_arm_id(self) -> str | None:
        """What was really sent, as an id; null where nothing was seen on the wire."""
        return self.identity.wire_arm_id if self.identity else None


class Manifest(Strict):
    """Hashes of every file of one revision of a run, itself named in the history chain. ``previous``: the hash of the
    manifest of the revision before.
    """

    schema_: Literal["bench/manifest/1"] = "bench/manifest/1"
    run_id: str
    files: dict[str, str]
    revision: int = 1
    previous: str | None = None


class Change(Strict):
    """One cell, gate or component that came out differently, and what explains it."""

    what: str
    before: str
    after: str
    why: str


class Revision(Strict):
    """``revisions/N/revision.json``: by what a stored branch was scored again, and what changed."""

    schema_: Literal["bench/revision/1"] = "bench/revision/1"
    run_id: str
    revision: int
    kind: Literal["rescore", "review"]
    at: str
    scorer_version: str
    runner_version: str
    benchmark_hash: str
    series: str
    images: dict[str, str]
    columns: list[str]
    changes: list[Change]
