"""Could a model have seen the benchmark? One that is newer than its publication could."""

from __future__ import annotations

import re
from datetime import date

from runner.schema.cell import Cell

_IN_NAME = (
    re.compile(r"(?<!\d)(20\d\d)-?([01]\d)-?([0-3]\d)(?!\d)"),  # claude-sonnet-4-5-20250929, gpt-4o-2024-11-20
    re.compile(r"(?<!\d)(20\d\d)-([01]\d)(?!\d|-\d)"),  # command-r-2026-04
)


def released(model: str, said: date | None) -> tuple[date, str] | None:
    """When a model came out, and who says so: ``said`` (of ``providers.yaml``), or the date in its name (a month counts
    from its last day on, so that a doubt never clears a model). Null: nobody says so.
    """
    if said is not None:
        return said, "providers.yaml"
    for pattern in _IN_NAME:
        for found in pattern.finditer(model):
            year, month, *day = (int(part) for part in found.groups())
            try:
                return (date(year, month, day[0]) if day else _last_day(year, month)), "its name"
            except ValueError:
                continue
    return None


def contamination(model: str, published: str | None, said: date | None) -> Cell:
    """``older`` or ``newer`` than the benchmark's publication; null with a reason where either date is not known."""
    if published is None:
        return Cell.none("the benchmark has no date of publication")
    found = released(model, said)
    if found is None:
        return Cell.none("nobody says when the model came out: give it a date, released, under models in providers.yaml")
    day, source = found
    return Cell.of("newer" if day > date.fromisoformat(published) else "older", f"{day.isoformat()}, by {source}")


def _last_day(year: int, month: int) -> date:
    following = date(year + month // 12, month % 12 + 1, 1)
    return date.fromordinal(following.toordinal() - 1)
