"""Folds components into a composite by a named, versioned formula.

``seed-1`` is the published one: 100 x earned / available, a component that was not measured leaves the denominator.

``runner-1`` is ours. Gates that a contestant passes by standing still are prerequisites: they earn nothing, and the
share of their weight that fails is taken from all points. And a composite of which less than half the weight could be
measured is no number at all: a good score on the easy part would read like a good score.

``code``, ``agentic`` and ``review`` are never combined into one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

from runner.schema.score import Component, Composite
from runner.schema.weights import Band

MEASURABLE_SHARE = 0.5


def points(name: str, weight: float, share: float, arithmetic: str) -> Component:
    """``share`` (0 to 1) of the weight."""
    return Component(id=name, weight=weight, earned=weight * share, arithmetic=arithmetic)


def unmeasured(name: str, weight: float, reason: str) -> Component:
    """What the rig could not measure: it leaves the denominator, and says why."""
    return Component(id=name, weight=weight, earned=None, arithmetic="-", reason=reason)


def band_share(band: Band, value: float) -> float:
    """1 up to ``full``, 0 from ``zero`` on, linear between."""
    if value <= band.full:
        return 1.0
    if value >= band.zero:
        return 0.0
    return (band.zero - value) / (band.zero - band.full)


def compose(components: Sequence[Component], formula: str) -> Composite:
    """Every component's points are rounded to two decimals, half up, before they are summed; never above its weight,
    and all of a weight that has more decimals is all of it.
    """
    scored = [c for c in components if c.kind == "points"]
    total = sum(c.weight for c in scored)
    measured = [c for c in scored if c.earned is not None]
    available = sum(c.weight for c in measured)
    earned = float(sum((_counted(c.earned, c.weight) for c in measured if c.earned is not None), Decimal(0)))
    factor = _factor([c for c in components if c.kind == "prerequisite"])
    value: float | None = None
    reason = None
    if not available:
        reason = "nothing of it was measured"
    elif formula == "runner-1" and available < MEASURABLE_SHARE * total:
        reason = f"only {available:g} of {total:g} points could be measured"
    elif factor is None:
        reason = "no prerequisite could be measured"
    else:
        value = float(cents(100 * earned * factor / available))
    return Composite(
        value=value,
        earned=earned,
        available=available,
        total=total,
        factor=1.0 if factor is None else factor,
        excluded=[f"{c.id}: {c.reason}" for c in components if c.earned is None],
        reason=reason,
    )


def _factor(prerequisites: Sequence[Component]) -> float | None:
    if not prerequisites:
        return 1.0
    measured = [c for c in prerequisites if c.earned is not None]
    weight = sum(c.weight for c in measured)
    return sum(c.earned or 0.0 for c in measured) / weight if weight else None


def _counted(earned: float, weight: float) -> Decimal:
    whole = Decimal(str(weight))
    return whole if earned >= weight else min(cents(earned), whole)


def cents(value: float) -> Decimal:
    """Half up on the decimal digits a person sees."""
    return Decimal(str(value)).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
