"""What a kill -9 between sealing a run and writing its row leaves is noticed, named and mended, never guessed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from runner.cli.main import app
from runner.errors import ProofError
from runner.report.lookup import history_of, unrecorded, verify_store
from runner.report.record import record_of
from runner.schema.arm import Arm
from runner.schema.cell import Cell
from runner.schema.run import Revision, RunLock, RunResult
from runner.schema.score import Composite
from runner.store.files import write_record
from runner.store.history import History
from runner.store.rundir import RunDir

ARM = Arm(provider="control", model="nop", harness="scripted", harness_version="1", role="control")
NONE = Composite(value=None, earned=0, available=0, total=0, reason="x")
RUN_ID = "20260101-000000-aaaa"


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    index = tmp_path / "index.md"
    index.write_text("---\nbenchmarks:\n- {id: calc, source_repo: ., baseline: '0000000', plan: p, scope_allowlist: [],"
                     " commands: {ci: {argv: ['true']}}, runs_dir: .bench/runs}\n---\n")  # fmt: skip
    return index


def result(revision: int = 1, outcome: str = "pass") -> RunResult:
    return RunResult(
        run_id=RUN_ID, sample=1, benchmark="calc", arm=ARM, arm_id=ARM.arm_id, outcome=outcome, cause=None, detail="",
        attempts=[], head=None, diff_lines=3, wall_s=1.0, started_at="2026-01-01T00:00:00.000Z", tokens=None,
        tokens_reason="x", cost=Cell.none("x"), components=[], code=NONE, agentic=NONE, review=Cell.none("pending: x"),
        freeze=Cell.none("x"), revision=revision,
    )  # fmt: skip


@pytest.fixture
def sealed(registry: Path) -> RunDir:
    lock = RunLock(
        run_id=RUN_ID, sample=1, benchmark="calc", benchmark_hash="h", baseline="c", branch="bench/nop", arm=ARM,
        images={}, limits={}, attempts=2, environment={}, runner_version="0", formula="seed-1", templates="t",
        series="s",
    )  # fmt: skip
    run = RunDir.create(registry.parent / ".bench/runs", f"{RUN_ID}-nop", lock)
    (run.artifacts / "manifest.json").write_text("the contestant's own")
    write_record(run.result_file, result())
    run.seal()
    return run


def test_it_is_named_by_every_look_and_mended_once(registry: Path, sealed: RunDir) -> None:
    said = f"run {RUN_ID}-nop is sealed but has no row"
    listed = CliRunner().invoke(app, ["list", "--registry", str(registry)])
    assert (listed.exit_code, said in listed.stderr) == (0, True)
    with pytest.raises(ProofError, match=said) as error:
        verify_store(registry)
    assert "bench verify --mend" in str(error.value)
    done = CliRunner().invoke(app, ["verify", "--mend", "--registry", str(registry), "--json"])
    assert json.loads(done.stdout) == {"records": 1, "runs": 1, "mended": [f"run {RUN_ID}-nop"]}
    assert unrecorded(registry) == []
    (record,) = history_of(registry)
    assert record == History(registry.parent / ".bench").records()[0]
    assert (record.outcome, record.cells["diff"], record.cells["review"]) == ("pass", "3", "pending")
    assert record.model_copy(update={"seq": 0, "prev": "", "hash": ""}) == record_of(sealed, record.columns)


def test_a_folder_that_was_touched_since_is_not_mended(registry: Path, sealed: RunDir) -> None:
    sealed.result_file.write_bytes(sealed.result_file.read_bytes() + b" ")
    done = CliRunner().invoke(app, ["verify", "--mend", "--registry", str(registry)])
    assert isinstance(done.exception, ProofError)
    assert "result.json was changed" in str(done.exception)
    assert History(registry.parent / ".bench").records() == []


def test_a_later_revision_without_its_row_too(registry: Path, sealed: RunDir) -> None:
    CliRunner().invoke(app, ["verify", "--mend", "--registry", str(registry)])
    new = sealed.draft()
    assert sealed.sealed() == [1]  # a draft is nothing yet
    new = sealed.draft()
    write_record(new.result_file, result(2))
    revision = Revision(run_id=RUN_ID, revision=2, kind="rescore", at="x", scorer_version="2", runner_version="0",
                        benchmark_hash="other", series="t", images={}, columns=["date", "model"],
                        changes=[])  # fmt: skip
    write_record(new.revision_file, revision)
    new.seal()
    (lost,) = unrecorded(registry)
    assert lost.revision == 2
    assert CliRunner().invoke(app, ["verify", "--mend", "--registry", str(registry)]).exit_code == 0
    assert [r.revision for r in History(registry.parent / ".bench").verify()] == [1, 2]
    (shown,) = history_of(registry)  # one run, one row: its last revision's
    assert (shown.revision, shown.benchmark_hash, shown.columns) == (2, "other", ["date", "model"])
    with pytest.raises(ProofError, match="has a row already for revision 2"):
        History(registry.parent / ".bench").append(shown)


def test_every_file_is_under_the_manifest_also_one_of_that_name(sealed: RunDir) -> None:
    (sealed.artifacts / "manifest.json").write_text("changed")
    with pytest.raises(ProofError, match=r"artifacts/manifest\.json was changed"):
        sealed.check()
