"""``bench-score process`` and ``cost``: the published scripts' documents from logs that lie on disk. No container."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from runner.errors import ConfigError, UsageError
from runner.events.profile import Profile, profile
from runner.events.segments import Segment, of_log
from runner.harness.trace import Trace, since_ms
from runner.registry.globs import matcher
from runner.registry.load import pick, read_entries
from runner.repo import Mirror
from runner.report import format as fmt
from runner.schema.entry import Entry
from runner.schema.ledger import Usage
from runner.scoring.process import look_at

STAMP = re.compile(r"\d{8}-\d{6}")
GENERATION = "gen-"
"""How OpenRouter's ids begin. Ids of others are no business of its accounts."""


@dataclass(frozen=True)
class Selection:
    """Which logs are meant. ``since`` and ``until`` are stamps (``YYYYMMDD-HHMMSS``), both inclusive; ``plan_segment``
    names the one segment, the newest of that label, in which the whole plan was worked at.
    """

    log: Path | None = None
    ndjson: Sequence[Path] = ()
    since: str | None = None
    until: str | None = None
    plan_segment: str | None = None


@dataclass
class Worked:
    """What was found: attempts in the order of time, and what a branch adds where one was named."""

    entry: Entry
    segments: list[Segment]
    logs: list[str]
    slug: str | None = None
    diff_lines: int | None = None
    milestones: list[str] = field(default_factory=list)
    feedback: dict[str, int] | None = None


def find_work(registry: Path, benchmark: str, branch: str | None, repo: Path | None, selection: Selection) -> Worked:
    """Read the logs, and the branch where one is named. Raises UsageError, ConfigError or LogError."""
    index = registry.resolve()
    entry = pick(read_entries(index), benchmark, index)
    if branch is None and not selection.ndjson and selection.log is None:
        raise UsageError("nothing is named to be scored", "name --branch, or logs by --ndjson or --log")
    slug = _slug(entry, branch) if branch else None
    logs: list[tuple[Path, str | None]] = [(path, path.stem) for path in selection.ndjson]
    if selection.log is not None:
        logs.append((selection.log, None))
    if not logs:
        logs = [(_shared_log(entry, slug or "", selection), None)]
    segments = [segment for path, whole in logs for segment in of_log(path, whole=whole)]
    segments = _chosen(segments, selection)
    if not segments:
        raise UsageError("no attempt lies between --since and --until")
    _number(segments)
    work = Worked(entry, segments, [path.name for path, _ in logs], slug)
    work.milestones = [milestone.id for milestone in entry.milestones]
    if branch is not None:
        _add_branch(work, index.parent, branch, repo)
    return work


def _number(segments: list[Segment]) -> None:
    """In the order of time where it is known, numbered per milestone."""
    segments.sort(key=lambda segment: segment.started or "")
    counts: Counter[str] = Counter()
    for segment in segments:
        counts[segment.label] += 1
        segment.number = counts[segment.label]


def _chosen(segments: list[Segment], selection: Selection) -> list[Segment]:
    since, until = _moment(selection.since), _moment(selection.until)
    kept = [
        s for s in segments
        if (since is None or (s.started or "9") >= since) and (until is None or (s.started or "") <= until)
    ]  # fmt: skip
    if selection.plan_segment is None:
        return kept
    named = [segment for segment in kept if segment.label == selection.plan_segment]
    if not named:
        known = ", ".join(dict.fromkeys(s.label for s in segments)) or "none"
        raise UsageError(f"no segment is labelled {selection.plan_segment!r}", f"there are: {known}")
    return [max(named, key=lambda segment: segment.started or "")]


def _moment(stamp: str | None) -> str | None:
    if stamp is None:
        return None
    try:
        return datetime.strptime(stamp, "%Y%m%d-%H%M%S").isoformat(timespec="milliseconds") + "Z"
    except ValueError:
        raise UsageError(f"{stamp!r} is no stamp", "write it as YYYYMMDD-HHMMSS") from None


def _shared_log(entry: Entry, slug: str, selection: Selection) -> Path:
    """The one log of that model in ``logs_dir``; several are never chosen among in silence."""
    if not entry.logs_dir:
        raise UsageError("no log is named, and the registry has no logs_dir", "name one by --log")
    folder = Path(entry.logs_dir).expanduser()
    found = sorted(p for p in folder.glob(f"*-{slug}.ndjson") if STAMP.fullmatch(p.name[: -len(f"-{slug}.ndjson")]))
    found = [
        p for p in found
        if (not selection.since or p.name[:15] >= selection.since)
        and (not selection.until or p.name[:15] <= selection.until)
    ]  # fmt: skip
    if not found:
        raise UsageError(f"{folder} has no log of {slug} from that time", "name one by --log")
    if len(found) > 1:
        names = ", ".join(p.name for p in found[:5])
        raise UsageError(f"{folder} has {len(found)} logs of {slug}", f"name one by --log: {names}")
    return found[0]


def _slug(entry: Entry, branch: str) -> str:
    """The model's slug, read back out of the branch's name by the registry's scheme."""
    parts = re.split(r"\{(?:model_slug|run_id|workspace_id)\}", entry.branch_scheme)
    fields = re.findall(r"\{(model_slug|run_id|workspace_id)\}", entry.branch_scheme)
    pattern = re.escape(parts[0])
    for name, rest in zip(fields, parts[1:], strict=True):
        pattern += ("(?P<slug>.+?)" if name == "model_slug" else r"[0-9a-z-]+?") + re.escape(rest)
    match = re.fullmatch(pattern, branch)
    return match["slug"] if match and "slug" in match.groupdict() else branch.rpartition("/")[2]


def _add_branch(work: Worked, home: Path, branch: str, repo: Path | None) -> None:
    entry = work.entry
    source = repo.resolve() if repo else (home / Path(entry.source_repo).expanduser()).resolve()
    if not source.is_dir():
        raise ConfigError(f"there is no repository {source}", "name it by --repo")
    with tempfile.TemporaryDirectory(prefix="bench-score-") as folder:
        mirror, baseline = Mirror.create(Path(folder) / "mirror.git", source, entry.baseline)
        head = mirror.adopt(source, branch)
        work.diff_lines = mirror.diff_lines(baseline, head)
        names = [file.path.decode("utf-8", "surrogateescape") for file in mirror.tree(head)]
    if not work.milestones:
        work.milestones, work.feedback = _plan(entry, names)
    else:
        work.feedback = {m.id: _records(names, str(Path(m.file).parent)) for m in entry.milestones}


def _plan(entry: Entry, names: list[str]) -> tuple[list[str], dict[str, int]]:
    """The milestones of the plan in the branch, by file stem, and their records of blocked attempts."""
    folder = str(Path(entry.plan).parent)
    pattern = matcher([f"{folder}/{entry.milestones_glob}"])
    files = sorted(name for name in names if pattern.match(name))
    return [Path(name).stem for name in files], {Path(n).stem: _records(names, str(Path(n).parent)) for n in files}


def _records(names: list[str], folder: str) -> int:
    return sum(str(Path(name).parent) == folder and Path(name).name.startswith("feedback") for name in names)


# -- the document of ``process``


def process_document(work: Worked) -> dict[str, Any]:
    """The process profile under the published field names; ours are beside them, and unmeasured is null."""
    settings = work.entry.process
    seen = look_at(work.segments, settings)
    profiles = {id(segment): profile(segment.trace, settings) for segment in work.segments if segment.trace}
    by_label = by_milestone(work)
    blind, second = _per(work, seen.rebaselines.first), _per(work, seen.rebaselines.second)
    measurable = seen.rebaselines.measurable
    milestones = {}
    for label, segments in by_label.items():
        milestones[label] = _sums(
            [_attempt(segment, profiles[id(segment)]) for segment in segments],
            generation_ids(segments),
            work.feedback.get(label) if work.feedback is not None else None,
            blind[label] if measurable else None,
            second[label] if measurable else None,
        )
    every = [_attempt(segment, profiles[id(segment)]) for segment in work.segments]
    pushed = sum(attempt["pushed_lines"] for attempt in every)
    return {
        "run": _run(work, milestones, every),
        "milestones": milestones,
        "totals": {
            "tool_calls": sum(attempt["tool_calls"] for attempt in every),
            "tools": _added(every, "tools"),
            "agents": _added(every, "agents"),
            "malformed": sum(attempt["malformed"] for attempt in every),
            "malformed_kinds": _added(every, "malformed_kinds"),
            "loops": sum(attempt["loops"] for attempt in every),
            "longest_run": max((attempt["longest_run"] for attempt in every), default=0),
            "deaths": sum(attempt["deaths"] for attempt in every),
            "compactions": sum(attempt["compactions"] for attempt in every),
            "blind_rebaselines": sum(blind.values()) if measurable else None,
            "blind_rebaselines_2": sum(second.values()) if measurable else None,
            "churn": {"pushed_lines": pushed, "diff_lines": work.diff_lines, "ratio": _ratio(pushed, work.diff_lines)},
            "result_cost_usd": _sum(attempt["result_cost_usd"] for attempt in every),
        },
        "notes": {
            "loops": "compare the depth of loops within one harness only",
            "churn": "payloads of edit tools: failed edits count, what a shell writes does not",
            "result_cost_usd": "the agent's own reckoning, no bill",
        },
    }


def by_milestone(work: Worked) -> dict[str, list[Segment]]:
    """Attempts by milestone: those of the plan first and in its order, reached or not, then other labels."""
    found: dict[str, list[Segment]] = {name: [] for name in work.milestones}
    for segment in work.segments:
        found.setdefault(milestone_of(work, segment.label), []).append(segment)
    return found


def milestone_of(work: Worked, label: str) -> str:
    """A segment is labelled by the stem of the milestone's file; ours are known by their id."""
    for milestone in work.entry.milestones:
        if label in (milestone.id, Path(milestone.file).stem):
            return milestone.id
    return label


def _per(work: Worked, counts: Counter[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for label, number in counts.items():
        found[milestone_of(work, label)] += number
    return found


def _attempt(segment: Segment, found: Profile) -> dict[str, Any]:
    trace = segment.trace
    assert trace is not None
    tokens = used(trace)
    return {
        "log": segment.file,
        "ts": segment.started,
        "schema": kind_of(trace),
        "duration_ms": trace.duration_ms if trace.duration_ms is not None else since_ms(segment.started, segment.ended),
        "num_turns": trace.turns if trace.turns is not None else found.turns,
        "stop_reason": trace.stop,
        "result_cost_usd": None if trace.cost_usd is None else round(trace.cost_usd, 6),
        "result_tokens": counted(tokens),
        "tool_calls": found.tool_calls,
        "tools": found.tools,
        "agents": found.agents,
        "malformed": found.malformed_total,
        "malformed_kinds": found.malformed,
        "loops": found.loops,
        "longest_run": found.depth.run,
        "longest_failing_run": found.depth.failing,
        "longest_succeeding_run": found.depth.succeeding,
        "best_cycle": list(found.depth.cycle) if found.depth.cycle else None,
        "deaths": found.deaths,
        "compactions": found.survived,
        "freezes": found.freezes,
        "freeze_ms": found.freeze_ms,
        "pushed_lines": found.pushed_lines,
        "lines_not_read": trace.torn + trace.unknown,
    }


def generation_ids(segments: Sequence[Segment]) -> list[str]:
    """Ids under which a broker keeps account of an answer, as often as the logs name them."""
    answers = [answer for segment in segments if segment.trace for answer in segment.trace.answers]
    return [a.response_id for a in answers if a.response_id and a.response_id.startswith(GENERATION)]


def _sums(
    attempts: list[dict[str, Any]], ids: list[str], feedback: int | None, blind: int | None, second: int | None
) -> dict[str, Any]:
    return {
        "state": "worked at" if attempts else "not reached",
        "attempts": len(attempts),
        "feedback_files": feedback,
        "attempts_consistent": None if feedback is None or not attempts else len(attempts) == feedback + 1,
        "duration_ms": _sum(attempt["duration_ms"] for attempt in attempts),
        "num_turns": sum(attempt["num_turns"] for attempt in attempts),
        "result_cost_usd": _sum(attempt["result_cost_usd"] for attempt in attempts),
        "result_tokens": _added(attempts, "result_tokens"),
        **{
            key: sum(attempt[key] for attempt in attempts)
            for key in ("tool_calls", "malformed", "loops", "deaths", "compactions", "pushed_lines")
        },
        "tools": _added(attempts, "tools"),
        "agents": _added(attempts, "agents"),
        "freezes": _sum(attempt["freezes"] for attempt in attempts),
        "freeze_ms": _sum(attempt["freeze_ms"] for attempt in attempts),
        "blind_rebaselines": blind,
        "blind_rebaselines_2": second,
        "gen_ids": list(dict.fromkeys(ids)),
        "gen_id_mentions": len(ids),
        "log_attempts": attempts,
    }


def _run(work: Worked, milestones: dict[str, dict[str, Any]], every: list[dict[str, Any]]) -> dict[str, Any]:
    traces = [segment.trace for segment in work.segments if segment.trace is not None]
    starts = [s.started for s in work.segments if s.started]
    ends = [s.ended for s in work.segments if s.ended]
    wall = _sum(attempt["duration_ms"] for attempt in every)
    span = since_ms(min(starts, default=None), max(ends, default=None))
    stamp = next((match.group() for name in work.logs if (match := STAMP.match(name))), None)
    reached = [m["attempts"] for m in milestones.values() if m["attempts"]]
    model = next((t.model.value for t in reversed(traces) if t.model), None)
    return {
        "model": model,
        "model_slug": work.slug,
        "run_id": stamp,
        "date": fmt.minute(min(starts)) if starts else None,
        "schemas": sorted({kind_of(trace) for trace in traces}),
        "wall_ms": wall,
        "wall": None if wall is None else fmt.duration(wall / 1000),
        "span_ms": span,
        "span": None if span is None else fmt.duration(span / 1000),
        "freezes": _sum(attempt["freezes"] for attempt in every),
        "freeze_ms": _sum(attempt["freeze_ms"] for attempt in every),
        "milestone_count": len(milestones),
        "attempts_total": sum(reached),
        "attempts_per_milestone": "/".join(map(str, reached)),
        "retries": sum(reached) - len(reached),
        "logs": work.logs,
    }


def kind_of(trace: Trace) -> str:
    """Whose log it is: ``pi``, ``claude-code``, ``mini-swe-agent``."""
    return re.split(r"[ /]|-\d", trace.schema)[0]


def used(trace: Trace) -> Usage | None:
    """All tokens that the log knows of; null where it knows of none."""
    parts = [answer.usage for answer in trace.answers if answer.usage is not None]
    parts += [c.usage for c in trace.compactions if c.usage is not None]
    total: Usage | None = None
    for part in parts:
        total = part if total is None else total.plus(part)
    return total


def counted(tokens: Usage | None) -> dict[str, int] | None:
    """Disjoint counters: ``prompt`` is without what was read from or written to the cache."""
    if tokens is None:
        return None
    return {
        "prompt": tokens.uncached_input,
        "completion": tokens.output,
        "cached": tokens.cache_read,
        "cache_write": tokens.cache_write,
    }


def _added(attempts: Sequence[dict[str, Any]], key: str) -> dict[str, int]:
    total: Counter[str] = Counter()
    for attempt in attempts:
        for name, number in (attempt[key] or {}).items():
            total[name] += number
    return dict(sorted(total.items()))


def _sum(values: Any) -> Any:
    """The sum of what is known; null where one is not."""
    found = list(values)
    return None if not found or any(value is None for value in found) else round(sum(found), 6)


def _ratio(pushed: int, diff_lines: int | None) -> float | None:
    return round(pushed / diff_lines, 4) if diff_lines and pushed else None
