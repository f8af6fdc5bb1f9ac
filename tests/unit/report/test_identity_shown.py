"""A disagreement about effort stands in the row and in the detail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.events.identity import identify_run
from runner.events.segments import of_run
from runner.gateway.totals import read_ledger
from runner.prices import Price
from runner.report.arms import by_arm
from runner.report.detail import write_detail
from runner.report.record import record_of
from runner.report.row import row
from runner.schema.cell import Cell
from runner.schema.layers import ProcessSettings
from runner.schema.run import RunLock, RunResult
from runner.schema.score import Composite
from runner.scoring.cost import measure_cost
from runner.scoring.process import look_at, measure_process
from runner.store.files import write_record
from runner.store.rundir import RunDir
from tests.support.stored_run import stored_run


def ended(folder: Path, effort: str, **pins: Any) -> tuple[RunLock, RunResult, str]:
    """Lock, result and detail of a run of which the agent's log and the wire are stored."""
    run = stored_run(folder, "pi", "effort_max", effort=effort)
    lock = run.lock()
    segments, ledger = of_run(run.agent, "pi", [("M01", 1)]), read_ledger(run.ledger)
    nothing = Composite(value=None, earned=0, available=0, total=0, reason="none")
    result = RunResult(
        run_id="r", sample=1, benchmark="b", arm=lock.arm, arm_id=lock.arm.arm_id, outcome="pass", cause=None,
        detail="", attempts=[], head="c", diff_lines=1, wall_s=1.0, started_at="2026-01-01T00:00:00.000Z", tokens=None,
        tokens_reason="x", cost=Cell.none("x"), components=[], code=nothing, agentic=nothing, review=Cell.none("x"),
        freeze=Cell.of("0s", "ledger"), identity=identify_run(run.path, lock, segments, ledger),
    )  # fmt: skip
    process = measure_process(look_at(segments, ProcessSettings()), 1, 1, 1, None)
    scores = [process, measure_cost(ledger, lambda *_: Price(None, "no list"))]
    lock = lock.model_copy(update=pins)
    return lock, result, write_detail(lock, result, scores, {})


@pytest.mark.parametrize(("asked", "cell"), [("high", "high"), ("max", "max (log high, wire high)"), ("unknown", "-")])
def test_the_row_names_what_came_of_an_effort(tmp_path: Path, asked: str, cell: str) -> None:
    lock, result, detail = ended(tmp_path, asked)
    assert row(result, report="r", series="s")["effort"] == cell
    assert ("effort-confounded" in detail) is (asked == "max")
    assert f"| effort | {'`' + asked + '`' if asked != 'unknown' else '-'} (" in detail
    assert "(gateway.jsonl:1)" in detail
    assert lock.arm.effort == asked


def test_the_detail_says_where_every_figure_comes_from(tmp_path: Path) -> None:
    _, _, detail = ended(tmp_path, "high")
    assert "| longest_run | 0 | agent log; compare within one harness only |" in detail
    assert "| without_cache_usd | - | no list |" in detail
    assert "| churn_snapshots | - | no snapshots were taken |" in detail


def test_what_the_gateway_set_and_what_the_server_said_stand_in_the_detail(tmp_path: Path) -> None:
    server = {"server": "Ollama", "version": None, "context": 4096}
    _, _, detail = ended(tmp_path / "a", "high", pinned={"seed": 1}, server=server)
    assert '- set by the gateway in every request: `{"seed":1}`' in detail
    assert "- the model's own server said: server Ollama, context 4096\n" in detail
    _, _, silent = ended(tmp_path / "b", "high")
    assert "set by the gateway" not in silent
    assert "own server said" not in silent


def test_the_history_knows_an_arm_by_what_was_sent(tmp_path: Path) -> None:
    """The agent makes ``high`` and ``max`` one level: their rows are of one arm."""
    rows = []
    for effort in ("high", "max"):
        _, result, _ = ended(tmp_path / effort, effort)
        run = RunDir(tmp_path / effort / "r")
        write_record(run.result_file, result)
        run.seal()
        rows.append(record_of(run, ["effort"]))
    assert rows[0].arm_id != rows[1].arm_id
    assert [len(arm) for arm in by_arm(rows)] == [2]
