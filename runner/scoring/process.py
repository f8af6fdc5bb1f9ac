"""The layer ``process``: how the contestant's agent worked. Its depth of loops is compared within one harness only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runner.events.profile import Profile, Rebaselines, profile, rebaselines
from runner.events.segments import Segment
from runner.schema.cell import Cell
from runner.schema.layers import ProcessSettings
from runner.schema.score import Score

SCORER_VERSION = "process-1"
ONE_HARNESS = "agent log; compare within one harness only"


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
    logged = Counter(answer.response_id for answer in answers if answer.response_id)
    if not logged:
        return Cell.none("this agent's log does not name its answers")
    # Counted, since some servers give many answers one id.
    return Cell.of((Counter(on_wire) - logged).total(), f"of {len(on_wire)} answers in the ledger")


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


def labels(segments: Iterable[Segment]) -> list[str]:
    """Milestones in the order in which they were first worked at."""
    return list(dict.fromkeys(segment.label for segment in segments))
