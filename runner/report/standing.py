"""What a benchmark's rows say of the benchmark itself: is it tried enough to be trusted, is it still hard enough?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runner.report.arms import by_arm
from runner.schema.history import HistoryRecord

STRENGTHS = 3
SATURATED_AT = 95.0


def standing(records: Sequence[HistoryRecord]) -> dict[str, Any]:
    """Status of one benchmark by its own rows: ``provisional`` until three real models have been scored on it,
    ``saturated`` once three arms average 95 points of code or more (a run that did not pass counts as zero), otherwise
    ``proven``. Controls and replays are no models; invalid and cancelled runs say nothing.
    """
    scored = [
        r
        for r in records
        if r.arm.role == "treatment"
        and r.arm.provider not in ("control", "replay")
        and r.outcome not in ("invalid", "cancelled")
    ]
    models = sorted({r.arm.label for r in scored})
    arms = [[_points(record) for record in arm] for arm in by_arm(scored)]
    full = [points for points in arms if sum(points) / len(points) >= SATURATED_AT]
    if len(models) < STRENGTHS:
        status, why = "provisional", f"{len(models)} of {STRENGTHS} models have been scored"
    elif len(full) >= STRENGTHS:
        status, why = "saturated", f"{len(full)} arms average {SATURATED_AT:g} or more: it no longer tells them apart"
    else:
        status, why = "proven", f"{len(models)} models, {len(full)} arms at {SATURATED_AT:g} or more"
    return {"rows": len(records), "arms": len(arms), "models": len(models), "status": status, "why": why}


def _points(record: HistoryRecord) -> float:
    if record.outcome != "pass":
        return 0.0
    try:
        return float(record.cells.get("code", "-"))
    except ValueError:
        return 0.0
