"""Who really ran: requested, logged by the agent, seen on the wire; each with its evidence."""

from __future__ import annotations

from typing import Literal

from runner.schema.base import Strict

Normalized = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra", "unknown"]
Provenance = Literal["source_document", "experiment_config", "runtime_log", "unknown"]


class Evidence(Strict):
    """A line of a file of the run's folder: ``line`` is 1-based, ``sha256`` of its bytes without the newline."""

    file: str
    line: int
    sha256: str


class Said(Strict):
    """``value`` null: not said, for ``reason``; never filled in from a default."""

    value: str | None
    evidence: Evidence | None = None
    reason: str | None = None


class Facet(Strict):
    """One feature of an arm. ``agrees`` null: fewer than two sources say anything that can be compared."""

    requested: Said
    logged: Said
    on_wire: Said
    agrees: bool | None = None


class IdentityRecord(Strict):
    """``identity.json``. ``effort`` is the effective one in its provider's own words: what went over the wire, or else
    what the agent logged; ``confounds`` name what makes a comparison of this run doubtful.
    """

    schema_: Literal["bench/identity/1"] = "bench/identity/1"
    run_id: str
    arm_id: str
    facets: dict[str, Facet]
    effort: str
    effort_normalized: Normalized
    effort_provenance: Provenance
    effort_evidence: Evidence | None
    wire_arm_id: str | None = None
    """What was really sent, as an id: levels with the same effect there share it. Null: nothing was seen."""
    mode: str
    orchestration: str
    delegation: str
    confounds: list[str] = []
