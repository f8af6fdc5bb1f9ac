"""The layer ``process``: how the contestant's agent worked. Its depth of loops is compared within one harness only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runner.events.profile import Profile, Rebaselines, profile, rebaselines
from runner.events.segments import Segment
from runner.schema.cell import Cell
from runner.schema.entry import Band, Entry
from runner.schema.layers import ProcessSettings
from runner.schema.score import Component, Score
from runner.scoring.fold import band_share, points, unmeasured

SCORER_VERSION = "process-1"
ONE_HARNESS = "agent log; compare within one harness only"
_CHURN_BAND = Band(full=1.5, zero=4.0)
_PENALTIES = {"retry": 10.0, "blind_rebaseline": 10.0, "malformed": 2.0, "loop": 5.0, "death": 10.0}


@dataclass(frozen=True)
class Churn:
    """Lines that really changed between snapshots of the work tree, by the lines of the final diff.

    ``returned``: how often a path came back to a content that it had left before.
    """

    changed_lines: int
    diff_lines: int
    snapshots: int
    returned: int


@dataclass(frozen=True)
class Work:
    """The whole of a run's development. ``unread``: why logs could not be read, by attempt."""

    segments: Sequence[Segment]
    profiles: Sequence[Profile]
    rebaselines: Rebaselines
    unread: dict[str, str]

    @property
    def pushed_lines(self) -> int:
        return sum(p.pushed_lines for p in self.profiles)

    @property
    def tool_calls(self) -> int:
        return sum(p.tool_calls for p in self.profiles)


def look_at(segments: Sequence[Segment], settings: ProcessSettings) -> Work:
    """Profile every attempt whose log could be read."""
    return Work(
        segments=segments,
        profiles=[profile(segment.trace, settings) for segment in segments if segment.trace is not None],
        rebaselines=rebaselines(segments, settings),
        unread={f"{s.label}-{s.number}": s.reason or "not read" for s in segments if s.trace is None},
    )


def measure_process(
    work: Work,
    attempts: int,
    milestones: int,
    diff_lines: int | None,
    churn: Churn | None,
    on_wire: Sequence[str] = (),
) -> Score:
    """All figures of the layer. Where one attempt's log could not be read, what it would add to is null.

    ``on_wire``: ids of all whole answers that the gateway saw.
    """
    figures: dict[str, Cell] = {
        "attempts": Cell.of(attempts, "runner"),
        "retries": Cell.of(attempts - milestones, "runner"),
    }
    why = _why_not(work)
    if why:
        figures |= {name: Cell.none(why) for name in _COUNTED}
    else:
        figures |= _counted(work)
        figures |= _rebaselined(work)
    ratio = _ratio(work.pushed_lines, diff_lines, "payloads", nothing="no line went through an edit tool")
    figures["churn_payload"] = Cell.none(why) if why else ratio
    if churn is None:
        figures |= {name: Cell.none("no snapshots were taken") for name in ("churn_snapshots", "returned_contents")}
    else:
        source = f"{churn.snapshots} snapshots of the work tree"
        figures["churn_snapshots"] = _ratio(churn.changed_lines, diff_lines, source, nothing="nothing changed")
        figures["returned_contents"] = Cell.of(churn.returned, source)
    figures["unlogged_answers"] = _unlogged(work, on_wire) if not why else Cell.none(why)
    return Score(layer="process", scorer_version=SCORER_VERSION, figures=figures, reason=why)


def _unlogged(work: Work, on_wire: Sequence[str]) -> Cell:
    """Whole answers on the wire that no log tells of: side calls of the agent's, or a log that was tampered with."""
    if not on_wire:
        return Cell.none("no model was asked")
    answers = [answer for segment in work.segments if segment.trace for answer in segment.trace.answers]
    logged = {answer.response_id for answer in answers if answer.response_id}
    if not logged:
        return Cell.none("this agent's log does not name its answers")
    return Cell.of(sum(ident not in logged for ident in on_wire), f"of {len(on_wire)} answers in the ledger")


_COUNTED = (
    "turns", "tool_calls", "malformed", "failed_tools", "loops", "longest_run", "longest_failing_run",
    "longest_succeeding_run", "best_cycle", "context_deaths", "survived_compactions", "freezes", "freeze_ms",
    "pushed_lines", "blind_rebaselines_1", "blind_rebaselines_2",
)  # fmt: skip


def _why_not(work: Work) -> str | None:
    if work.unread:
        name, reason = next(iter(work.unread.items()))
        return f"the log of {name} could not be read: {reason}"
    return None if work.profiles else "no agent worked"


def _counted(work: Work) -> dict[str, Cell]:
    found = work.profiles
    kinds: Counter[str] = Counter()
    for p in found:
        kinds.update(p.malformed)
    cycles = [p.depth.cycle for p in found if p.depth.cycle]
    best = max(cycles, key=lambda c: c[0] * c[1], default=None)
    named = ", ".join(f"{kind} {number}" for kind, number in sorted(kinds.items()))
    cells: dict[str, Cell] = {
        "turns": Cell.of(sum(p.turns for p in found), "agent log"),
        "tool_calls": Cell.of(work.tool_calls, "agent log"),
        "malformed": Cell.of(kinds.total(), f"agent log{f': {named}' if named else ''}"),
        "failed_tools": Cell.of(sum(p.failed_tools for p in found), "agent log"),
        "loops": Cell.of(sum(p.loops for p in found), ONE_HARNESS),
        "longest_run": Cell.of(max(p.depth.run for p in found), ONE_HARNESS),
        "longest_failing_run": Cell.of(max(p.depth.failing for p in found), ONE_HARNESS),
        "longest_succeeding_run": Cell.of(max(p.depth.succeeding for p in found), ONE_HARNESS),
        "best_cycle": Cell.of(f"{best[0]}x{best[1]}" if best else "none", ONE_HARNESS),
        "context_deaths": Cell.of(sum(p.deaths for p in found), "agent log"),
        "survived_compactions": Cell.of(sum(p.survived for p in found), "agent log"),
        "pushed_lines": Cell.of(work.pushed_lines, "payloads of edit tools"),
    }
    silent = "this agent's log does not say when it asked again"
    for name, values in (("freezes", [p.freezes for p in found]), ("freeze_ms", [p.freeze_ms for p in found])):
        known = [value for value in values if value is not None]
        cells[name] = Cell.of(sum(known), "agent log") if len(known) == len(values) else Cell.none(silent)
    return cells


def _rebaselined(work: Work) -> dict[str, Cell]:
    names = ("blind_rebaselines_1", "blind_rebaselines_2")
    found = work.rebaselines
    if not found.measurable:
        return {name: Cell.none("the registry names no rebaseline_pattern and e2e_pattern") for name in names}
    return {
        names[0]: Cell.of(found.first.total(), f"rebaseline-1, of {found.updates} updates"),
        names[1]: Cell.of(found.second.total(), f"rebaseline-2, of {found.updates} updates"),
    }


def _ratio(lines: int, diff_lines: int | None, source: str, *, nothing: str) -> Cell:
    if diff_lines is None:
        return Cell.none("the diff is not known")
    if not diff_lines:
        return Cell.none("the branch changes nothing")
    if not lines:
        return Cell.none(nothing)
    return Cell.of(round(lines / diff_lines, 4), source)


def agentic_components(entry: Entry, score: Score | None, outcome: str, why_not: str) -> list[Component]:
    """The weighted lines of ``agentic``; ``seed-1`` takes the published metrics, ``runner-1`` the second versions."""
    weights = entry.weights.agentic
    if score is None:
        return [unmeasured(f"agentic.{name}", weight, why_not) for name, weight in weights.items()]
    seed = entry.formula == "seed-1"
    fines = _PENALTIES | entry.weights.penalties
    figures = score.figures
    made = {
        "attempts": lambda weight: _attempts(weight, figures, outcome, fines["retry"]),
        "rebaseline": lambda weight: _fined(
            "rebaseline", weight, figures,
            {"blind_rebaselines_1" if seed else "blind_rebaselines_2": fines["blind_rebaseline"]},
        ),
        "tool_discipline": lambda weight: _discipline(weight, figures, fines, entry.process.min_tool_calls),
        "churn": lambda weight: _churned(
            weight, figures["churn_payload" if seed else "churn_snapshots"],
            entry.weights.thresholds.get("churn", _CHURN_BAND),
        ),
    }  # fmt: skip
    return [
        made[name](weight) if name in made else unmeasured(f"agentic.{name}", weight, "no such component")
        for name, weight in weights.items()
    ]


def _attempts(weight: float, figures: dict[str, Cell], outcome: str, fine: float) -> Component:
    retries = figures["retries"].value
    if outcome != "pass" or not isinstance(retries, int):
        return points("agentic.attempts", weight, 0.0, "it did not pass")
    left = max(weight - fine * retries, 0.0)
    return points("agentic.attempts", weight, left / weight if weight else 0.0, f"{retries} retries x {fine:g}")


def _fined(name: str, weight: float, figures: dict[str, Cell], fines: dict[str, float]) -> Component:
    """``weight`` minus a fine for each, never below zero."""
    lost, said = 0.0, []
    for key, fine in fines.items():
        value = figures[key].value
        if not isinstance(value, int):
            return unmeasured(f"agentic.{name}", weight, figures[key].reason or "not measured")
        lost += value * fine
        said.append(f"{value} {key.replace('_', ' ')} x {fine:g}")
    return points(f"agentic.{name}", weight, max(weight - lost, 0.0) / weight if weight else 0.0, " + ".join(said))


def _discipline(weight: float, figures: dict[str, Cell], fines: dict[str, float], least: int) -> Component:
    calls = figures["tool_calls"].value
    if isinstance(calls, int) and calls < least:
        return unmeasured("agentic.tool_discipline", weight, f"{calls} tool calls say nothing")
    return _fined(
        "tool_discipline", weight, figures,
        {"malformed": fines["malformed"], "loops": fines["loop"], "context_deaths": fines["death"]},
    )  # fmt: skip


def _churned(weight: float, cell: Cell, band: Band) -> Component:
    if not isinstance(cell.value, (int, float)):
        return unmeasured("agentic.churn", weight, cell.reason or "not measured")
    return points("agentic.churn", weight, band_share(band, float(cell.value)), f"{cell.value:g} by {cell.source}")


def labels(segments: Iterable[Segment]) -> list[str]:
    """Milestones in the order in which they were first worked at."""
    return list(dict.fromkeys(segment.label for segment in segments))
