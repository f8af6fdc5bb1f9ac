"""Folds layers into composites by a named, versioned formula.

``seed-1`` is the published one (weights of the registry, a layer that was not measured leaves the denominator).
``runner-1`` is ours; it differs in what a missing layer may do: a composite of which less than half the weight could be
measured is no number at all, because a good score on the easy part would read like a good score.

``code``, ``agentic`` and ``review`` are never combined into one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from runner.schema.entry import Entry
from runner.schema.score import Component, Composite, Score

MEASURABLE_SHARE = 0.5


def gate_components(entry: Entry, gates: Score) -> list[Component]:
    """All or nothing, by the registry's weights."""
    found = {gate.id: gate for gate in gates.gates}
    components = []
    for name, weight in entry.weights.code.get("gates", {}).items():
        gate = found.get(name)
        if gate is None or gate.passed is None:
            reason = (gate.reason if gate else None) or "not measured"
            components.append(_component(f"gates.{name}", weight, None, reason))
        else:
            share = "passed" if gate.passed else "failed"
            components.append(_component(f"gates.{name}", weight, weight if gate.passed else 0.0, share))
    return components


def unmeasured(entry: Entry, part: str, reason: str) -> list[Component]:
    """The components of a code part that no scorer has measured."""
    return [_component(f"{part}.{n}", w, None, reason) for n, w in entry.weights.code.get(part, {}).items()]


def compose(components: Sequence[Component], formula: str) -> Composite:
    """100 x earned / available. Every component's points are rounded to two decimals before they are summed."""
    total = sum(c.weight for c in components)
    measured = [c for c in components if c.earned is not None]
    excluded = [f"{c.id}: {c.reason}" for c in components if c.earned is None]
    available = sum(c.weight for c in measured)
    earned = float(sum((_cents(c.earned) for c in measured if c.earned is not None), Decimal(0)))
    value: float | None = None
    reason = None
    if not available:
        reason = "nothing of it was measured"
    elif formula == "runner-1" and available < MEASURABLE_SHARE * total:
        reason = f"only {available:g} of {total:g} points could be measured"
    else:
        value = float(_cents(100 * earned / available))
    return Composite(value=value, earned=earned, available=available, total=total, excluded=excluded, reason=reason)


def _cents(value: float) -> Decimal:
    from decimal import ROUND_HALF_UP

    return Decimal(str(value)).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)


def _component(name: str, weight: float, earned: float | None, note: str) -> Component:
    return Component(id=name, weight=weight, earned=earned, arithmetic=note, reason=note if earned is None else None)
