"""``bench-score report``: the seed's history row and run detail, from the documents of its layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.report import format as fmt
from runner.schema.entry import Entry
from runner.schema.score import Component, Composite

Document = Mapping[str, Any]
PENDING = "_pending_"


@dataclass(frozen=True)
class Stated:
    """What whoever calls says of the run: nothing in a branch or a log tells it."""

    branch: str
    provider: str
    orch: str
    effort: str


@dataclass(frozen=True)
class Layers:
    """The documents of a run's layers, null where one was not measured; composites are folded already."""

    gates: Document
    corpus: Document
    mutations: Document | None
    process: Document | None
    cost: Document | None
    outcome: str
    diff_lines: int
    code: Composite
    code_parts: list[Component]
    agentic: Composite
    agentic_parts: list[Component]
    review: str


def seed_row(entry: Entry, layers: Layers, stated: Stated, *, date: str, model: str, report: str) -> dict[str, str]:
    """Every column by name. A run that did not pass has ``-`` for its scores and keeps its footprint."""
    run: Document = layers.process["run"] if layers.process else {}
    scored = layers.outcome == "pass"
    tokens = layers.cost["tokens"] if layers.cost else None
    return {
        "date": date,
        "model": f"`{model}`",
        "provider": stated.provider,
        "orch": stated.orch,
        "effort": stated.effort,
        "outcome": layers.outcome,
        "att": str(run.get("attempts_per_milestone", "-")),
        "code": score_cell(layers.code) if scored else "-",
        "agentic": score_cell(layers.agentic) if scored else "-",
        "review": layers.review if scored else "-",
        "diff": str(layers.diff_lines),
        "tokens": "-" if tokens is None else _pair(_input(tokens), tokens["completion"]),
        "cache": "-" if tokens is None else _pair(tokens["cached"], tokens["cache_write"]),
        "cost": cost_cell(layers.cost, stated.provider),
        "time": _time(run),
        "freeze": fmt.stall(run.get("freezes"), run.get("freeze_ms")),
        "report": report,
        "comment": "",
    }


def score_cell(composite: Composite) -> str:
    return "-" if composite.value is None else fmt.rounded(composite.value, 1)


def cost_cell(cost: Document | None, provider: str) -> str:
    """What was billed; nothing where whoever calls says that the model ran on a machine of one's own. A harness's own
    price list is no cost.
    """
    if cost is None:
        return "-"
    if provider == "local":
        return fmt.dollars(0)
    if cost.get("total_cost_usd") is None or cost.get("source") in ("ndjson-fallback", "worker-usage"):
        return "-"
    return fmt.dollars(float(cost["total_cost_usd"]))


def seed_detail(entry: Entry, layers: Layers, stated: Stated, row: dict[str, str], run_id: str) -> str:
    """The run detail, its sections in the seed's order; status ``measuring`` until somebody publishes it."""
    cells = {column: row.get(column, "-") for column in entry.history_columns}
    scored = layers.outcome == "pass"
    head = {
        "benchmark": entry.id, "model": row["model"].strip("`"), "branch": stated.branch, "run_id": run_id,
        "date": row["date"], "outcome": layers.outcome, "code": _number(layers.code, scored),
        "agentic": _number(layers.agentic, scored),
        "review": layers.review if scored and layers.review != PENDING else "null", "status": "measuring",
    }  # fmt: skip
    parts = [
        "---\n" + "\n".join(f"{key}: {value}" for key, value in head.items()) + "\n---",
        f"# Benchmark run: {head['model']}",
        f"Branch `{stated.branch}` scored against the entry `{entry.id}`, baseline `{entry.baseline}`, formula "
        f"`{entry.formula}`.",
        "## Summary",
        fmt.table(["field", "value"], [[k, v] for k, v in cells.items() if k not in ("report", "comment")]),
        "## Gates",
        _gates(layers.gates),
        "## Corpus quality",
        _corpus(entry, layers.corpus),
        "## Mutation kills",
        _mutations(entry, layers.mutations),
        "## Process profile",
        _process(layers.process),
        "## Cost",
        _cost(layers.cost),
        "## Composites",
        _composite("code", layers.code, layers.code_parts, layers.outcome),
        _composite("agentic", layers.agentic, layers.agentic_parts, layers.outcome),
        "## Review",
        "`review`: " + (row["review"] if scored else "`-` (a run that did not pass has no score)"),
        "## History row",
        fmt.table(list(cells), [list(cells.values())]),
    ]
    return "\n\n".join(parts) + "\n"


def _number(composite: Composite, scored: bool) -> str:
    return "null" if composite.value is None or not scored else str(composite.value)


def _gates(gates: Document) -> str:
    words = {True: "pass", False: "**fail**", None: "-"}
    rows = [[name, words[gate["pass"]], str(gate.get("evidence", ""))] for name, gate in sorted(gates.items())]
    return fmt.table(["check", "verdict", "evidence"], rows)


def _corpus(entry: Entry, corpus: Document) -> str:
    a = corpus["aggregate"]
    rows = [["cases", str(a["case_count"]), f"`{entry.cases_dir}`"]]
    if a.get("recall"):
        r, g = a["recall"], a["gaps"]
        source = r.get("source", "exact case names, or as a judge counted")
        agreement = f", agreement {r['agreement']}" if r.get("agreement") is not None else ""
        rows.append(["etalon recall", f"{r['matched']}/{r['total']} ({_pct(r['pct'])})", f"by {source}{agreement}"])
        rows.append(["gap cases", f"{g['matched']}/{g['total']}", "cases with no unit-test counterpart"])
    four = f"{a['four_channel_cases']}/{a['case_count']} ({_pct(a['four_channel_pct'])})"
    rows.append(["four-channel cases", four, "exit + stdout + stderr + expected all asserted"])
    ratio = a["wildcard_line_ratio"]
    rows.append(["wildcard line ratio", "-" if ratio is None else str(ratio),
                 f"{a['wildcard_lines']} wildcarded of {a['asserted_lines']} asserted lines"])  # fmt: skip
    said = f"\n\nThe corpus counts for nothing: {corpus['unusable']}." if corpus.get("unusable") else ""
    return fmt.table(["metric", "value", "evidence"], rows) + said


def _mutations(entry: Entry, mutations: Document | None) -> str:
    if mutations is None:
        return "`-`: the benchmark has no mutations."
    control = mutations.get("control", "not in this document")
    head = (
        f"The frozen set at `{entry.mutations_dir}`, one patch at a time, by `{mutations['command']}`: "
        f"**{mutations['kill_rate']} killed** ({_pct(mutations['kill_rate_pct'])}); unmutated control: {control}."
    )
    rows = [[f"`{p['patch']}`", "killed" if p["verdict"] == "killed" else f"**{p['verdict']}**", p["evidence"]]
            for p in mutations["patches"]]  # fmt: skip
    return f"{head}\n\n{fmt.table(['patch', 'verdict', 'evidence'], rows)}"


def _process(process: Document | None) -> str:
    if process is None:
        return "`-`: no log was read."
    columns = ["attempts", "feedback_files", "tool_calls", "malformed", "loops", "deaths", "freezes",
               "blind_rebaselines", "pushed_lines"]  # fmt: skip
    rows = [[name, *(_shown(found.get(c)) for c in columns)] for name, found in sorted(process["milestones"].items())]
    return fmt.table(["milestone", *(c.replace("_", " ") for c in columns)], rows)


def _cost(cost: Document | None) -> str:
    if cost is None:
        return "`-`: no log was read."
    channels = ["ids", "cost", "prompt", "completion", "cached", "cache_write"]
    rows = [[name, *(_shown(found.get(c)) for c in channels)] for name, found in sorted(cost["milestones"].items())]
    label = f" ({cost['fallback_label']})" if cost.get("fallback_label") else ""
    return f"{fmt.table(['milestone', *channels], rows)}\n\nSource `{cost['source']}`{label}."


def _composite(name: str, composite: Composite, parts: list[Component], outcome: str) -> str:
    if outcome != "pass":
        value = "`-` (a run that did not pass has no score)"
    elif composite.value is None:
        value = f"`-` ({composite.reason})"
    else:
        value = f"**{composite.value}/100**"
    lines = [f"`{name}`: {value}; {composite.earned:g} of {composite.available:g} available weight, "
             f"{composite.total:g} in all."]  # fmt: skip
    lines += [f"- not measured: {line}" for line in composite.excluded]
    rows = [[c.id, f"{c.weight:g}", "-" if c.earned is None else fmt.rounded(c.earned, 2), c.reason or c.arithmetic]
            for c in parts]  # fmt: skip
    return "\n".join(lines) + "\n\n" + fmt.table(["component", "weight", "earned", "arithmetic"], rows)


def _pct(value: float | None) -> str:
    return "-" if value is None else f"{value}%"


def _shown(value: object) -> str:
    return "-" if value is None else str(value)


def _pair(first: int, second: int) -> str:
    return f"in {fmt.count(int(first))} out {fmt.count(int(second))}"


def _input(tokens: Document) -> int:
    return int(tokens["prompt"]) + int(tokens["cached"]) + int(tokens["cache_write"])


def _time(run: Document) -> str:
    return fmt.duration(run["wall_ms"] / 1000) if run.get("wall_ms") is not None else str(run.get("wall", "-"))
