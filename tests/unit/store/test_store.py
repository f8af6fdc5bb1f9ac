from __future__ import annotations

import json
import multiprocessing
import threading
import time
from pathlib import Path

import pytest

from runner.errors import DiskFull, Interrupted, ProofError, RigError, UsageError
from runner.schema.arm import Arm
from runner.schema.base import digest
from runner.schema.history import GENESIS, HistoryRecord
from runner.schema.run import RunLock, State
from runner.store.files import append_line, locked, read_lines, write_atomic
from runner.store.history import History
from runner.store.rundir import RunDir, find_run
from runner.store.space import check_space

ARM = Arm(provider="control", model="nop", harness="scripted", harness_version="1", role="control")


def lock(run_id: str = "20260101-000000-aaaa") -> RunLock:
    return RunLock(
        run_id=run_id, sample=1, benchmark="b", benchmark_hash="h", baseline="c", branch="bench/nop", arm=ARM,
        images={}, limits={}, attempts=2, environment={}, runner_version="0", formula="runner-1", templates="t",
        series="s",
    )  # fmt: skip


def record(run_id: str) -> HistoryRecord:
    return HistoryRecord(
        seq=0, prev="", run_id=run_id, benchmark="b", benchmark_hash="h", series="s", arm=ARM, arm_id=ARM.arm_id,
        sample=1,
        outcome="pass", cause=None, manifest="m", columns=["date", "model"], cells={"model": "a|b", "date": "x\ny"},
    )  # fmt: skip


def _append(path: Path, number: int) -> None:
    for i in range(50):
        append_line(path, {"writer": number, "i": i, "pad": "x" * 20_000})


def test_lines_of_several_writers_never_mix(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    writers = [multiprocessing.get_context("fork").Process(target=_append, args=(path, n)) for n in range(4)]
    for w in writers:
        w.start()
    for w in writers:
        w.join()
    rows = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
    assert len(rows) == 200
    assert all(len(r["pad"]) == 20_000 for r in rows)


def test_a_torn_last_line_is_left_out_and_a_broken_one_elsewhere_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "states.jsonl"
    append_line(path, State(at="1", state="preparing"))
    append_line(path, State(at="2", state="done", detail="line\u2028separator"))
    with path.open("ab") as handle:
        handle.write(b'{"at": "3", "sta')
    assert [s.at for s in read_lines(path, State)] == ["1", "2"]
    path.write_bytes(b"broken\n" + path.read_bytes())
    with pytest.raises(RigError, match="line 1 is broken: Invalid JSON"):
        read_lines(path, State)


def test_a_history_whose_writer_died_in_a_line_goes_on(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.append(record("r1"))
    with history.file.open("ab") as handle:
        handle.write(b'{"seq": 2, "prev"')
    history.append(record("r2"))
    assert [r.run_id for r in history.verify()] == ["r1", "r2"]


def test_a_full_disk_is_a_typed_error_and_leaves_the_old_file(tmp_path: Path) -> None:
    with pytest.raises(DiskFull, match="no space left"):
        append_line(Path("/dev/full"), {"x": 1})
    target = tmp_path / "f"
    write_atomic(target, b"old")
    with pytest.raises(RigError):
        write_atomic(tmp_path / "missing" / "f", b"new")
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_too_little_space_is_said_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(DiskFull, match=r"iB left, this needs \d+\.0 GiB"):
        check_space(tmp_path / "not" / "there" / "yet", needed=1 << 60)


def test_history_is_a_chain_and_a_view(tmp_path: Path) -> None:
    history = History(tmp_path)
    for run_id in ("r1", "r2", "r3"):
        history.append(record(run_id))
    assert [r.seq for r in history.verify()] == [1, 2, 3]
    assert "| x y | a\\|b |" in history.view.read_text()
    with pytest.raises(ProofError, match="r2 has a row already"):
        history.append(record("r2"))


def test_a_record_of_an_older_version_without_the_newer_fields_still_holds(tmp_path: Path) -> None:
    body = record("r1").model_copy(update={"seq": 1, "prev": GENESIS}).model_dump(mode="json")
    for newer in ("hash", "certificate", "columns"):
        body.pop(newer)
    append_line(tmp_path / "history.jsonl", body | {"hash": digest(body)})
    history = History(tmp_path)
    history.append(record("r2"))
    assert [r.run_id for r in history.verify()] == ["r1", "r2"]


@pytest.mark.parametrize("change", ["edit", "drop", "swap"])
def test_a_changed_history_is_found(tmp_path: Path, change: str) -> None:
    history = History(tmp_path)
    for run_id in ("r1", "r2", "r3"):
        history.append(record(run_id))
    lines = history.file.read_bytes().split(b"\n")[:-1]
    if change == "edit":
        lines[1] = lines[1].replace(b'"pass"', b'"fail@M01"')
    elif change == "drop":
        del lines[1]
    else:
        lines[0], lines[1] = lines[1], lines[0]
    history.file.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(ProofError, match="was changed or lost its predecessor"):
        history.verify()
    with pytest.raises(ProofError):
        history.append(record("r4"))


def test_a_run_folder_is_fresh_and_sealed(tmp_path: Path) -> None:
    heard = []
    run = RunDir.create(tmp_path, "20260101-000000-aaaa-nop", lock(), heard.append)
    run.state("preparing")
    run.event("note", text="\ud800")
    assert [e.seq for e in run.events()] == [1, 2] == [e.seq for e in heard]
    first = run.seal()
    assert run.seal() == first
    run.state("done")
    assert run.seal() != first
    with pytest.raises(RigError, match="is there already"):
        RunDir.create(tmp_path, "20260101-000000-aaaa-nop", lock())


def test_a_run_is_found_by_its_beginning(tmp_path: Path) -> None:
    RunDir.create(tmp_path, "20260101-000000-aaaa-nop", lock())
    RunDir.create(tmp_path, "20260101-000001-bbbb-nop", lock())
    assert find_run(tmp_path, "20260101-000001").path.name.endswith("bbbb-nop")
    with pytest.raises(UsageError, match="fits 2 runs"):
        find_run(tmp_path, "2026")
    with pytest.raises(UsageError, match="there is no run 'x'"):
        find_run(tmp_path, "x")


def test_waiting_for_a_lock_ends_at_a_wish_to_stop(tmp_path: Path) -> None:
    stop, went = threading.Event(), time.monotonic()
    with locked(tmp_path / "lock"):
        threading.Timer(0.2, stop.set).start()
        with pytest.raises(Interrupted, match="another process holds"), locked(tmp_path / "lock", stop):
            raise AssertionError("it was held")
    assert time.monotonic() - went < 10
    with locked(tmp_path / "lock", threading.Event()):
        pass
