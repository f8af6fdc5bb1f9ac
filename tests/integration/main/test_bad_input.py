"""One sentence and the fix, the right exit code, nothing half-written, nothing left running."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.main.conftest import Bench, Done, run_id_of


def said(done: Done) -> str:
    lines = [line for line in done.err.splitlines() if line.startswith("bench")]
    assert len(lines) == 1, done.err
    assert "Traceback" not in done.err
    return lines[0]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("nobody/x", "known"),
        ("control/hero", "control/reference"),
        ("reference", "provider"),
        ("openrouter/some/model", "OPENROUTER_API_KEY"),
        ("llama-local/x", "LLAMA_LOCAL_URL"),
    ],
)
def test_a_model_that_cannot_be_run(bench: Bench, model: str, words: str) -> None:
    bench.env.pop("LLAMA_LOCAL_URL", None)
    done = bench.run("control/nop", model)
    assert done.code == 2
    assert words in said(done)
    assert bench.run_dirs() == []


def test_an_unknown_benchmark_and_a_broken_registry(bench: Bench) -> None:
    done = bench("run", "huge", "--registry", str(bench.index), "-m", "control/nop")
    assert (done.code, "known: tiny" in said(done)) == (2, True)
    bench.change(colour="blue")
    done = bench.run("control/nop")
    assert (done.code, "colour: unknown key" in said(done)) == (2, True)
    done = bench("run", "tiny", "--registry", str(bench.home / "none.md"), "-m", "control/nop")
    assert (done.code, "--registry" in said(done)) == (2, True)


def test_a_changed_program_is_refused_by_its_baseline(bench: Bench) -> None:
    (bench.home / "program" / "src" / "greet.py").write_text("def greet(name):\n    return 'changed'\n")
    done = bench.run("control/nop")
    assert done.code == 2
    assert "that folder's commit is" in said(done)
    assert bench.run_dirs() == []


def test_no_engine(bench: Bench) -> None:
    bench.env["DOCKER_HOST"] = "unix:///nonexistent.sock"
    done = bench.run("control/nop")
    assert done.code == 2
    assert "engine" in said(done).lower()
    assert bench.run_dirs() == []


def test_a_red_baseline_is_the_rigs_failure(bench: Bench, left_behind: Callable[[str], list[str]]) -> None:
    bench.change(commands={"ci": {"argv": ["sh", "-c", "echo the baseline is broken; exit 3"], "timeout_s": 20}})
    done = bench.run("control/nop")
    assert done.code == 3
    (row,) = done.document["rows"]
    assert (row["cells"]["outcome"], row["result"]["cause"]) == ("invalid", "rig")
    assert "the baseline is broken" in row["result"]["detail"]
    (folder,) = bench.run_dirs()
    assert left_behind(run_id_of(folder)) == []


@pytest.fixture
def small_disk(bench: Bench) -> Iterator[Path]:
    folder = bench.home / ".bench"
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_said_before_anything_starts(bench: Bench, small_disk: Path) -> None:
    done = bench.run("control/nop")
    assert done.code == 3
    assert "MiB left, this needs 2.0 GiB" in said(done)
    assert bench.run_dirs() == []


def test_a_branch_that_does_not_exist(bench: Bench) -> None:
    repo = bench.home / "clone"
    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    done = bench("score", "gates", "--benchmark", "tiny", "--branch", "bench/none", "--repo", str(repo),
                 "--registry", str(bench.index))  # fmt: skip
    assert done.code == 2
    assert "is no commit of" in said(done)


def test_a_missing_tool_in_the_image_is_no_models_failure(bench: Bench) -> None:
    text = json.loads(json.dumps({"ci": {"argv": ["no-such-tool"], "timeout_s": 20}}))
    bench.change(commands=text)
    done = bench.run("control/reference")
    assert done.code == 3
    assert done.document["rows"][0]["result"]["cause"] == "rig"
