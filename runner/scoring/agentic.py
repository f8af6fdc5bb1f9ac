"""The components of ``agentic``: how the work was done, from the figures of layer ``process``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from runner.schema.cell import Cell
from runner.schema.entry import Entry
from runner.schema.score import Component
from runner.schema.weights import Band
from runner.scoring.fold import band_share, points, unmeasured

Figures = Mapping[str, Cell]
"""Of layer ``process``: ``retries``, ``blind_rebaselines_1`` and ``_2``, ``malformed``, ``loops``, ``context_deaths``,
``tool_calls``, ``churn_payload`` and ``churn_snapshots``; one that is missing or null was not measured.
"""

DEFAULT_WEIGHTS = {"attempts": 30.0, "rebaseline": 20.0, "tool_discipline": 30.0, "churn": 20.0}
DEFAULT_PENALTIES = {"retry": 10.0, "rebaseline": 10.0, "malformed": 2.0, "loop": 5.0, "death": 10.0}
_CHURN_BAND = Band(full=1.5, zero=4.0)


class _Missing(Exception):
    """A figure that was not measured, with the reason."""


def agentic_components(entry: Entry, figures: Figures | None, outcome: str, why_not: str) -> list[Component]:
    """All parts that the registry weighs (the published weights where it names none); ``seed-1`` takes the published
    metrics, ``runner-1`` the second versions.

    ``figures`` null: the layer was not measured, for ``why_not``. What is missing leaves the denominator; nothing at
    all done (no tool call, no pushed line) is not measured and never full marks.
    """
    weights = entry.weights.agentic or DEFAULT_WEIGHTS
    components = []
    for name, weight in weights.items():
        if figures is None:
            components.append(unmeasured(f"agentic.{name}", weight, why_not))
            continue
        try:
            earned, said = _PARTS[name](entry, figures, outcome, weight)
        except _Missing as missing:
            components.append(unmeasured(f"agentic.{name}", weight, str(missing)))
        else:
            components.append(points(f"agentic.{name}", weight, earned / weight if weight else 0.0, said))
    return components


def _figure(figures: Figures, name: str) -> float:
    cell = figures.get(name)
    if cell is None or isinstance(cell.value, (str, bool)) or cell.value is None:
        raise _Missing((cell.reason if cell else None) or f"{name} was not measured")
    return cell.value


def _penalty(entry: Entry, name: str) -> float:
    return entry.weights.penalties.get(name, DEFAULT_PENALTIES[name])


def _attempts(entry: Entry, figures: Figures, outcome: str, weight: float) -> tuple[float, str]:
    if outcome != "pass":
        return 0.0, f"{outcome}: 0"
    retries, penalty = _figure(figures, "retries"), _penalty(entry, "retry")
    return max(weight - penalty * retries, 0.0), f"{weight:g} - {penalty:g} x {retries:g} retries"


def _rebaseline(entry: Entry, figures: Figures, outcome: str, weight: float) -> tuple[float, str]:
    _something_was_done(entry, figures)
    version = "1" if entry.formula == "seed-1" else "2"
    blind, penalty = _figure(figures, f"blind_rebaselines_{version}"), _penalty(entry, "rebaseline")
    said = f"{weight:g} - {penalty:g} x {blind:g} blind rebaselines (rebaseline-{version})"
    return max(weight - penalty * blind, 0.0), said


def _tool_discipline(entry: Entry, figures: Figures, outcome: str, weight: float) -> tuple[float, str]:
    _something_was_done(entry, figures)
    lost, said = 0.0, f"{weight:g}"
    for name, penalty_name in (("malformed", "malformed"), ("loops", "loop"), ("context_deaths", "death")):
        count, penalty = _figure(figures, name), _penalty(entry, penalty_name)
        lost += penalty * count
        said += f" - {penalty:g} x {count:g} {name.replace('_', ' ')}"
    return max(weight - lost, 0.0), said


def _churn(entry: Entry, figures: Figures, outcome: str, weight: float) -> tuple[float, str]:
    name = "churn_payload" if entry.formula == "seed-1" else "churn_snapshots"
    ratio = _figure(figures, name)
    band = entry.weights.thresholds.get("churn", _CHURN_BAND)
    said = f"{ratio:g} by {figures[name].source} against band {band.full:g} to {band.zero:g}"
    return weight * band_share(band, ratio), said


def _something_was_done(entry: Entry, figures: Figures) -> None:
    calls = _figure(figures, "tool_calls")
    if calls < max(1, entry.process.min_tool_calls):
        raise _Missing(f"{calls:g} tool calls say nothing")


_PARTS: dict[str, Callable[[Entry, Figures, str, float], tuple[float, str]]] = {
    "attempts": _attempts,
    "rebaseline": _rebaseline,
    "tool_discipline": _tool_discipline,
    "churn": _churn,
}
