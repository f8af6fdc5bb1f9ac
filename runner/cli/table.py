"""The one final table."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from runner.cli.output import wide_console
from runner.registry.benchmark import Benchmark
from runner.report.arms import by_arm
from runner.report.row import row
from runner.schema.base import canonical
from runner.schema.run import RunResult
from runner.store.rundir import find_run

COLUMNS = [
    "model", "harness", "effort", "outcome", "att", "code", "agentic", "review", "diff", "tokens", "cost", "time",
]  # fmt: skip


def print_rows(benchmark: Benchmark, results: Sequence[RunResult], *, asked: int, as_json: bool) -> None:
    """Rows on stdout; as JSON one document with the full results beside the row's cells."""
    rows = [row(r, report=find_run(benchmark.runs_dir, r.run_id).path.name, series="") for r in results]
    if as_json:
        document = {
            "benchmark": benchmark.id,
            "asked": asked,
            "rows": [
                {"cells": cells, "result": json.loads(canonical(r))} for cells, r in zip(rows, results, strict=True)
            ],
        }
        Console(soft_wrap=True).out(json.dumps(document, indent=2, ensure_ascii=True), highlight=False)
        return
    console = wide_console()
    table = Table(title=benchmark.id, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    asked_for = any(cells["effort"] not in ("-", "none") for cells in rows)
    columns = [column for column in COLUMNS if column != "effort" or asked_for]
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column not in ("tokens", "harness", "effort"))
    for cells, result in zip(rows, results, strict=True):
        shown = dict(cells, model=result.arm.label)
        table.add_row(*(shown[column] for column in columns), style=_style(result))
    console.print(table)
    for text in remarks(results, asked):
        console.print(text, highlight=False, markup=False)
    console.print(f"Runs, with everything behind these rows: {benchmark.runs_dir}", highlight=False, soft_wrap=True)


def remarks(results: Sequence[RunResult], asked: int) -> list[str]:
    """What the table alone would leave a reader to guess."""
    out = [f"{r.arm.label}: {r.outcome}: {r.detail}" for r in results if r.outcome in ("invalid", "cancelled")]
    for r in results:
        if r.outcome == "pass" and r.code.value is None:
            why = r.code.excluded[0].partition(": ")[2] if r.code.excluded else ""
            out.append(f"{r.arm.label}: code is '-': {r.code.reason}{f' ({why})' if why else ''}.")
    if len(results) < asked:
        out.append(f"{asked - len(results)} of {asked} runs were not started.")
    models = [r for r in results if r.arm.role == "treatment" and r.outcome not in ("invalid", "cancelled")]
    if models and min(map(len, by_arm(models))) < 4:
        out.append(
            "One sample shows what this arm did once, not what it does: identical runs differ by several points. "
            "Three samples describe, four and more per arm can decide: add --samples 4 (SAMPLES=4)."
        )
    return out


def _style(result: RunResult) -> str:
    return {"pass": "green", "invalid": "red", "cancelled": "yellow"}.get(result.outcome, "")
