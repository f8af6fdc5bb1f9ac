"""A command that judges as root: who runs it makes no difference to what comes of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runner.lab import check as lab_check
from runner.lab.bay import Bay
from runner.lab.check import Check, CheckResult, NotThere, run_check
from runner.lab.kit import Kit
from runner.lab.prepare import prepare_kit
from runner.registry.benchmark import load_benchmark
from runner.repo import Mirror
from runner.sandbox.engine import connect
from runner.schema.entry import Command

pytestmark = pytest.mark.engine
TINY = Path(__file__).parents[2] / "support" / "tiny" / "index.md"
Lab = tuple[Kit, Mirror, str]
MAIN = ["sh", "-c", r"tr '\0' ' ' </proc/1/cmdline"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    benchmark = load_benchmark(TINY, "tiny")
    mirror, baseline = Mirror.create(
        tmp_path_factory.mktemp("judge") / "mirror.git", benchmark.source, benchmark.entry.baseline
    )
    with connect() as engine:
        yield prepare_kit(engine, benchmark, lambda line: None), mirror, baseline


@pytest.fixture(scope="module")
def bay(lab: Lab) -> Iterator[Bay]:
    kit, mirror, _ = lab
    with Bay(kit, mirror, "judge-test") as opened:
        yield opened


def judge(lab: Lab, argv: list[str], *, oracle: bool = True, timeout_s: int = 20) -> Check:
    return Check(lab[2], Command(argv=argv, oracle=oracle, timeout_s=timeout_s), report="/out/cases.xml")


def test_it_is_run_by_the_main_process_and_nothing_else_is(lab: Lab, bay: Bay) -> None:
    assert b" timeout " in bay.run(judge(lab, MAIN)).stdout
    assert b" sleep " in bay.run(judge(lab, MAIN, oracle=False)).stdout
    assert b" sleep " in bay.run(replace(judge(lab, MAIN), watch_tree=True)).stdout


HOG = (
    "import subprocess, sys; subprocess.run([sys.executable, '-c', 'x = bytearray(1 << 31)'], user=1000); sys.exit({})"
)


@pytest.mark.parametrize(
    "argv",
    [
        ["sh", "-c", "echo out; echo err >&2; echo '<x/>' >/out/cases.xml; exit 3"],
        ["sh", "-c", "env | sort | grep -v HOSTNAME; pwd; id; ls -lnA; git status --short; umask"],
        ["env", "-u", "HOSTNAME"],
        ["sh", "-c", "kill -SEGV $$"],
        ["sh", "-c", "printf '\\n%032d 0\\n' 0; exit 5"],
        ["python3", "-c", HOG.format(0)],
        ["python3", "-c", HOG.format(7)],
        ["sh", "-c", "echo begun; exec sleep 60"],
        ["sh", "-c", "exec >&- 2>&-; sleep 0.3; exit 6"],
    ],
)
def test_whoever_runs_it_the_result_is_the_same(
    lab: Lab, bay: Bay, monkeypatch: pytest.MonkeyPatch, argv: list[str]
) -> None:
    def look() -> CheckResult:
        result = bay.run(judge(lab, argv, timeout_s=3 if "sleep 60" in argv[-1] else 20))
        return replace(result, seconds=0, stdout=b"\n".join(sorted(result.stdout.split(b"\n"))))

    at_once = look()
    monkeypatch.setattr(lab_check, "at_once", lambda check, setup: None)
    assert at_once == look()


@pytest.mark.parametrize(("argv", "cwd"), [(["no-such-tool"], None), (["cd"], None), (["true"], "nowhere")])
def test_one_that_is_not_there(
    lab: Lab, bay: Bay, monkeypatch: pytest.MonkeyPatch, argv: list[str], cwd: str | None
) -> None:
    check = judge(lab, argv)
    check = replace(check, command=check.command.model_copy(update={"cwd": cwd}))
    with pytest.raises(NotThere) as at_once:
        bay.run(check)
    monkeypatch.setattr(lab_check, "at_once", lambda check, setup: None)
    with pytest.raises(NotThere) as by_exec:
        bay.run(check)
    assert replace(at_once.value.result, stderr=b"") == replace(by_exec.value.result, stderr=b"")


def test_it_finds_what_the_setup_made(lab: Lab) -> None:
    kit, mirror, _ = lab
    setup = Command(argv=["sh", "-c", "echo made >made"], timeout_s=20)
    benchmark = replace(kit.benchmark, entry=kit.benchmark.entry.model_copy(update={"setup": setup}))
    done = run_check(replace(kit, benchmark=benchmark), mirror, judge(lab, ["cat", "made"]), run_id="judge-test")
    assert (done.exit_code, done.stdout) == (0, b"made\n")
