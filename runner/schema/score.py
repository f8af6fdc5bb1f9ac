"""Scores: what a layer found. Byte-identical for the same branch, scorer and image: no time, no path."""

from __future__ import annotations

from typing import Any, Literal

from runner.schema.base import Strict
from runner.schema.cell import Cell

EvidenceClass = Literal["black-box", "in-process", "files"]


class Gate(Strict):
    """One pass/fail check. ``passed`` null: it could not be measured, for ``reason``.

    ``evidence`` holds short facts (exit code, offending paths), never output, time or container ids. ``share`` is the
    part of what counts that stands (0 to 1), where a check can stand in part.
    """

    id: str
    passed: bool | None
    evidence: dict[str, Any]
    evidence_class: EvidenceClass
    share: float | None = None
    reason: str | None = None


class Component(Strict):
    """One weighted line of a layer. ``earned`` null leaves the denominator (the rig's fault, never the model's).

    A ``prerequisite`` earns nothing: the share of its weight that is missing is taken from all points (runner-1).
    ``judged``: the part of ``earned`` that rests on a judge's mapping and not on anything that was executed.
    """

    id: str
    kind: Literal["points", "prerequisite"] = "points"
    weight: float
    earned: float | None
    arithmetic: str
    reason: str | None = None
    judged: float | None = None


class Score(Strict):
    """One layer's result, as stored in ``scores/<layer>.json``."""

    schema_: Literal["bench/score/1"] = "bench/score/1"
    layer: Literal["gates", "corpus", "mutations", "process", "cost", "review"]
    scorer_version: str
    gates: list[Gate] = []
    figures: dict[str, Cell] = {}
    components: list[Component] = []
    reason: str | None = None


class Composite(Strict):
    """Folded layers: ``earned`` of ``available`` points, as 0 to 100, or null with the reason.

    ``factor`` is the share of the prerequisites' weight that stands (1.0 where there are none).
    """

    value: float | None
    factor: float = 1.0
    earned: float
    available: float
    total: float
    excluded: list[str] = []
    reason: str | None = None
