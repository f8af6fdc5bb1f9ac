"""Stopped, killed: every end is a row or is swept away, and a neighbour's run is not touched."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable

import pytest

from tests.integration.main.conftest import Bench, run_id_of, wait_for

SLOW = [{"id": "M01", "file": "plan/milestones/M01-shout.md", "verify": {"argv": ["sleep", "90"], "timeout_s": 120}}]


def verifying(bench: Bench, number: int = 1) -> bool:
    journals = [f / "journal.jsonl" for f in bench.run_dirs()]
    return sum(j.exists() and "agent_end" in j.read_text() for j in journals) >= number


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_run_ends_in_its_row(
    bench: Bench, number: signal.Signals, left_behind: Callable[[str], list[str]]
) -> None:
    bench.change(milestones=SLOW, reference=["reference/M01.patch"])
    process = bench.start("control/reference", "control/nop")
    wait_for(lambda: verifying(bench))
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    (folder,) = bench.run_dirs()
    result = json.loads((folder / "result.json").read_text())
    assert (result["outcome"], result["code"]["value"]) == ("cancelled", None)
    assert (folder / "branch.bundle").stat().st_size > 0
    assert left_behind(run_id_of(folder)) == []
    assert len(json.loads(out)["rows"]) == 1


def test_after_kill_nine_sweep_removes_the_dead_and_leaves_the_living(
    bench: Bench, left_behind: Callable[[str], list[str]]
) -> None:
    bench.change(milestones=SLOW, reference=["reference/M01.patch"])
    dead, living = bench.start("control/reference"), bench.start("control/reference")
    try:
        wait_for(lambda: verifying(bench, 2), 90)
        owners = {int(name): run_id for run_id, name in _owners(bench).items()}
        dead.kill()
        dead.wait()
        lost, kept = owners[dead.pid], owners[living.pid]
        before = lasting(left_behind(kept))
        assert before
        assert left_behind(lost)
        dry = bench("sweep", "--dry-run", "--json").document
        assert any(lost in found for found in dry["found"])
        assert not any(kept in found for found in dry["found"])
        assert bench("sweep").code == 0
        assert left_behind(lost) == []
        assert lasting(left_behind(kept)) >= before
        assert living.poll() is None
        assert bench("sweep").code == 0
    finally:
        living.send_signal(signal.SIGTERM)
        living.communicate(timeout=60)
        if dead.poll() is None:
            dead.kill()
    assert left_behind(kept) == []


def lasting(names: list[str]) -> set[str]:
    """What lives as long as a run; contestants, checks and their volumes come and go."""
    return {name for name in names if name.startswith(("/bench-holder", "bench-work"))}


def _owners(bench: Bench) -> dict[str, str]:
    """From run id to the pid of its controller, as the labels of its containers say."""
    found = {}
    for folder in bench.run_dirs():
        run_id = run_id_of(folder)
        out = subprocess.run(
            ["docker", "ps", "-a", "--filter", f"label=bench.run={run_id}", "--format", '{{.Label "bench.pid"}}'],
            check=True, capture_output=True, text=True,
        ).stdout.split()  # fmt: skip
        found[run_id] = out[0]
    return found
