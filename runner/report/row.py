"""One run as one row: every column of the registry's ``history_columns``."""

from __future__ import annotations

from runner.report import format as fmt
from runner.schema.cell import Cell
from runner.schema.run import RunResult
from runner.schema.score import Composite


def row(result: RunResult, *, report: str, series: str) -> dict[str, str]:
    """All known columns by name. Score cells of a run that did not pass are ``-``; its footprint stays."""
    scored = result.outcome == "pass"
    tokens = result.tokens
    return {
        "date": fmt.minute(result.started_at),
        "model": f"`{result.arm.model}`",
        "provider": result.arm.provider,
        "orch": result.arm.orchestration,
        "effort": fmt.effort(result),
        "outcome": result.outcome,
        "att": fmt.attempts(result.attempts),
        "code": _score(result.code) if scored else "-",
        "agentic": _score(result.agentic) if scored else "-",
        "review": _review(result.review) if scored else "-",
        "diff": "-" if result.diff_lines is None else str(result.diff_lines),
        "tokens": "-" if tokens is None else fmt.tokens(tokens),
        "cache": "-" if tokens is None else fmt.cache(tokens),
        "cost": "-" if not isinstance(result.cost.value, (int, float)) else fmt.dollars(result.cost.value),
        "time": fmt.duration(result.wall_s),
        "freeze": result.freeze.text(),
        "report": report,
        "comment": "model newer than the benchmark" if _newer(result.contamination) else "",
        "harness": f"{result.arm.harness} {result.arm.harness_version}",
        "delegation": result.arm.delegation,
        "sample": str(result.sample),
        "available": f"{result.code.available:g}/{result.code.total:g}" if scored else "-",
        "series": series[:12],
        "rubric": result.rubric[:12] if result.rubric else "-",
        "revision": str(result.revision),
    }


def _newer(cell: Cell | None) -> bool:
    return cell is not None and cell.value == "newer"


def _review(cell: Cell) -> str:
    if isinstance(cell.value, (int, float)):
        return fmt.grade(cell.value)
    return "pending" if (cell.reason or "").startswith("pending") else "-"


def _score(composite: Composite) -> str:
    return "-" if composite.value is None else fmt.rounded(composite.value, 1)
