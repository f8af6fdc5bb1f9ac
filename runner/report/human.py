"""The report a person reads first: what was asked, what happened, what it is worth; the detail has the rest."""

from __future__ import annotations

from collections.abc import Sequence

from runner.report import format as fmt
from runner.schema.run import AttemptRecord, RunLock, RunResult
from runner.schema.score import Gate, Score


def write_report(lock: RunLock, result: RunResult, scores: Sequence[Score], title: str, detail: str) -> str:
    """``detail`` is the path of ``detail.md`` as the report links it."""
    gates = next((s.gates for s in scores if s.layer == "gates"), [])
    parts = [
        f"# {lock.arm.label} on {title or lock.benchmark}",
        _header(lock, result),
        "## What happened",
        _story(result),
        "## Gates",
        _gates(gates),
        "## What it is worth",
        _worth(result),
        f"Everything behind this report: [{detail}]({detail}).",
    ]
    return "\n\n".join(parts) + "\n"


def _header(lock: RunLock, result: RunResult) -> str:
    rows = [
        ("outcome", result.outcome + (f" (cause: {result.cause})" if result.cause else "")),
        ("benchmark", lock.benchmark),
        ("run", lock.run_id),
        ("date", result.started_at),
        ("harness", f"{lock.arm.harness} {lock.arm.harness_version}"),
        ("effort asked for", lock.arm.effort),
        ("branch", lock.branch),
        ("changed lines", "-" if result.diff_lines is None else str(result.diff_lines)),
        ("working time", fmt.duration(result.wall_s)),
        ("tokens", fmt.tokens(result.tokens) if result.tokens else f"- ({result.tokens_reason})"),
        (
            "cost",
            fmt.dollars(float(result.cost.value)) if result.cost.value is not None else f"- ({result.cost.reason})",
        ),
    ]
    return "\n".join(["| | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows)])


def _story(result: RunResult) -> str:
    if not result.attempts:
        return f"No attempt was made: {result.detail or 'the run was stopped'}."
    return "\n".join(f"- {_attempt(a)}" for a in result.attempts)


def _attempt(attempt: AttemptRecord) -> str:
    verdict = "passed its verify" if attempt.passed else attempt.detail or "did not pass"
    steps = f"; steps that stand: {', '.join(attempt.steps_passed)}" if attempt.steps_passed else ""
    counted = "" if attempt.counted else " (not counted as an attempt)"
    return (
        f"{attempt.milestone}, attempt {attempt.number}{counted}: {verdict} after {fmt.duration(attempt.wall_s)}{steps}"
    )


def _gates(gates: Sequence[Gate]) -> str:
    if not gates:
        return "Not measured."
    passed = [g.id for g in gates if g.passed]
    failed = [g.id for g in gates if g.passed is False]
    open_ = [f"{g.id} ({g.reason})" for g in gates if g.passed is None]
    lines = [("passed", passed), ("failed", failed), ("not measured", open_)]
    return "\n".join(f"- {name}: {', '.join(items)}" for name, items in lines if items)


def _worth(result: RunResult) -> str:
    if result.outcome == "pass" and result.code.value is not None:
        code = result.code
        return f"`code` {code.value:g}, of {code.available:g} of {code.total:g} points that could be measured."
    if result.outcome == "pass":
        return f"It passed. `code` is `-`: {result.code.reason}."
    if result.outcome.startswith("fail@"):
        return "A run that did not pass has no score; its footprint above is the result."
    return f"No result about the model: {result.detail}."
