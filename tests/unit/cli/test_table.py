"""The final table and the list of a history: what came of an effort, and how many samples an arm has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from runner.cli.main import app
from runner.cli.table import print_rows, remarks
from runner.registry.benchmark import Benchmark
from runner.report.record import record_of
from runner.schema.entry import Entry
from runner.schema.run import RunResult
from runner.store.files import write_record
from runner.store.history import History
from runner.store.rundir import RunDir
from tests.unit.report.test_identity_shown import ended

ENTRY = {"id": "b", "source_repo": ".", "baseline": "0000000", "plan": "p", "scope_allowlist": [],
         "commands": {"ci": {"argv": ["true"]}}, "runs_dir": ".bench/runs"}  # fmt: skip


def result(folder: Path, effort: str) -> RunResult:
    return ended(folder, effort)[1]


def shown(folder: Path, capsys: pytest.CaptureFixture[str], *efforts: str) -> str:
    results = [result(folder / ".bench" / "runs" / effort, effort) for effort in efforts]
    for number, one in enumerate(results):
        (folder / ".bench" / "runs" / efforts[number] / "r").rename(folder / ".bench" / "runs" / f"r{number}")
        results[number] = one.model_copy(update={"run_id": f"r{number}"})
    benchmark = Benchmark(Entry.model_validate(ENTRY), folder / "index.md", folder, folder, {}, "h")
    print_rows(benchmark, results, asked=len(results), as_json=False)
    return capsys.readouterr().out


def test_what_came_of_an_effort_stands_in_the_table_if_any_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = shown(tmp_path / "a", capsys, "max", "unknown")
    assert ("effort" in asked.split(), "max (log high, wire high)" in asked) == (True, True)
    assert "effort" not in shown(tmp_path / "b", capsys, "unknown").split()


def test_a_list_names_it_as_well(tmp_path: Path) -> None:
    index = tmp_path / "index.md"
    index.write_text(f"---\nbenchmarks: [{json.dumps(ENTRY)}]\n---\n")
    run = RunDir(tmp_path / ".bench" / "runs" / "r")
    write_record(run.result_file, result(tmp_path / ".bench" / "runs", "max"))
    run.seal()
    History(tmp_path / ".bench").append(record_of(run, ["model", "effort"]))
    listed = CliRunner().invoke(app, ["list", "--registry", str(index)], env={"COLUMNS": "300"})
    assert "max (log high, wire high)" in listed.stdout


@pytest.mark.parametrize(
    ("sent", "enough"),
    [("hhhh", True), ("mhmh", True), ("hhh", False), ("hhhhl", False)],
)
def test_samples_are_counted_by_what_was_sent(tmp_path: Path, sent: str, enough: bool) -> None:
    """``max`` that arrives as ``high`` is another sample of ``high``."""
    high, most = result(tmp_path / "h", "high"), result(tmp_path / "m", "max")
    assert high.identity is not None
    low = high.model_copy(update={"identity": high.identity.model_copy(update={"wire_arm_id": "another"})})
    results = [{"h": high, "m": most, "l": low}[letter] for letter in sent]
    assert any("One sample shows" in said for said in remarks(results, len(results))) is not enough
