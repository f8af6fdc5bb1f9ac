"""Published runs of the seed: from the same layer figures come the same composites and the same row, to the letter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.report import format as fmt
from runner.report.seed import Layers, Stated, cost_cell, seed_row
from runner.schema.cell import Cell
from runner.schema.entry import SEED_COLUMNS, Entry
from runner.scoring.agentic import agentic_components
from runner.scoring.code import code_components
from runner.scoring.fold import compose
from runner.scoring.seed import corpus_from, gates_from, process_from

PUBLISHED = json.loads((Path(__file__).parents[1] / "scoring" / "published-rows.json").read_text())
ENTRY = Entry.model_validate({
    "id": "x", "source_repo": ".", "baseline": "a025189", "plan": "p", "scope_allowlist": [],
    "commands": {"ci": {"argv": ["true"]}},
    "weights": {
        "code": {"gates": {"ci": 10, "determinism": 10, "scope": 10, "e2e": 5, "unit_deleted": 5},
                 "corpus": {"mutation": 25, "recall": 15, "four_channel": 10, "gaps": 5, "wildcard": 5}},
        "agentic": {"attempts": 30, "rebaseline": 20, "tool_discipline": 30, "churn": 20},
        "penalties": {"retry": 10, "rebaseline": 10, "malformed": 2, "loop": 5, "death": 10},
        "thresholds": {"wildcard_full_max": 0.05, "wildcard_zero_min": 0.3, "churn_full_max": 1.5,
                       "churn_zero_min": 4.0},
    },
})  # fmt: skip


def figures_of(**f: Any) -> dict[str, Cell]:
    """Published figures, as a process document has them."""
    totals = {k: f[k] for k in ("tool_calls", "malformed", "loops", "deaths", "blind_rebaselines")}
    churn = {"pushed_lines": f["pushed_lines"], "diff_lines": f["diff_lines"]}
    return process_from({"run": {"retries": f["retries"]}, "totals": {**totals, "churn": churn}})


@pytest.mark.parametrize("run", PUBLISHED["runs"], ids=lambda r: r["run_id"])
def test_a_published_row_is_met_to_the_letter(run: dict[str, Any]) -> None:
    c, p, t = run["corpus"], run["process"], run["tokens"]
    corpus = {"aggregate": {
        "case_count": c["four_channel"][1], "four_channel_cases": c["four_channel"][0], "four_channel_pct": 0,
        "asserted_lines": 10_000, "wildcards": 0, "wildcard_lines": round(c["wildcard_line_ratio"] * 10_000),
        "recall": {"matched": c["recall"][0], "total": c["recall"][1]},
        "gaps": {"matched": c["gaps"][0], "total": c["gaps"][1]},
    }}  # fmt: skip
    kills = [{"verdict": "killed", "killed_by": ["a.txtar"]}] * c["mutation"][0]
    mutations = {"patches": kills, "patch_count": c["mutation"][1]}
    gates = gates_from({name: {"pass": passed, "evidence": ""} for name, passed in run["gates"].items()})
    code_parts = code_components(ENTRY, gates, corpus_from(corpus, mutations), "")
    figures = figures_of(**p, tool_calls=100)
    agentic_parts = agentic_components(ENTRY, figures, run["outcome"], "")
    code, agentic = compose(code_parts, "seed-1"), compose(agentic_parts, "seed-1")
    assert (code.value, agentic.value) == (run["expect"]["code"], run["expect"]["agentic"])
    stamp = run["expect"]["row"][0]
    layers = Layers(
        gates={}, corpus={}, mutations=None, outcome=run["outcome"], diff_lines=p["diff_lines"], code=code,
        code_parts=code_parts, agentic=agentic, agentic_parts=agentic_parts,
        review=fmt.grade(sum(run["reviews"]) / len(run["reviews"])),
        process={"run": {"attempts_per_milestone": "/".join(map(str, p["attempts"])), "wall_ms": 1000 * run["wall_s"],
                         "freezes": 0, "freeze_ms": 0}},
        cost={"source": "worker-usage", "total_cost_usd": run["cost_usd"], "milestones": {},
              "tokens": {"prompt": t["in"] - t["cache_in"], "completion": t["out"], "cached": t["cache_in"],
                         "cache_write": t["cache_out"]}},
    )  # fmt: skip
    stated = Stated("b", run["provider"], run["orch"], run["effort"])
    row = seed_row(ENTRY, layers, stated, date=stamp, model=run["model"], report="r")
    assert [row[column] for column in SEED_COLUMNS[:16]] == run["expect"]["row"]


def test_a_harnesss_own_price_is_no_cost() -> None:
    def cell(source: str, total: float | None, provider: str) -> str:
        return cost_cell({"source": source, "total_cost_usd": total}, provider)

    assert cell("ndjson-fallback", 11.54, "openrouter") == "-"
    assert cell("worker-usage", 5.74, "local") == "$0.00"  # a box of one's own bills nothing
    assert cell("worker-usage", 0.0, "openrouter") == "-"
    assert cell("openrouter", 0.3, "openrouter") == "$0.30"
    assert cell("openrouter", None, "openrouter") == "-"
    assert cost_cell(None, "local") == "-"


def test_nothing_done_is_never_full_marks() -> None:
    idle = figures_of(retries=0, blind_rebaselines=0, malformed=0, loops=0, deaths=0, tool_calls=0, pushed_lines=0,
                      diff_lines=33)  # fmt: skip
    parts = {c.id: c for c in agentic_components(ENTRY, idle, "pass", "")}
    assert parts["agentic.tool_discipline"].earned is None
    assert parts["agentic.rebaseline"].earned is None
    assert parts["agentic.churn"].earned is None
    assert parts["agentic.attempts"].earned == 30
    assert {c.id: c.earned for c in agentic_components(ENTRY, idle, "fail@M01", "")}["agentic.attempts"] == 0
    missing = agentic_components(ENTRY, None, "pass", "no log was read")
    assert {c.reason for c in missing} == {"no log was read"}
    assert compose(missing, "seed-1").value is None
