"""Many checks in one bay: what one leaves behind never reaches the next, nor stops it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.lab.bay import Bay
from runner.lab.check import Check, CheckResult
from runner.lab.prepare import prepare_kit
from runner.registry.benchmark import load_benchmark
from runner.repo import Mirror
from runner.sandbox.engine import connect
from runner.schema.entry import Command

TINY = Path(__file__).parents[2] / "support" / "tiny" / "index.md"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Bay, str]]:
    benchmark = load_benchmark(TINY, "tiny")
    folder = tmp_path_factory.mktemp("bay")
    mirror, baseline = Mirror.create(folder / "mirror.git", benchmark.source, benchmark.entry.baseline)
    with connect() as engine:
        kit = prepare_kit(engine, benchmark, lambda line: None)
        with Bay(kit, mirror, "bay-test") as bay:
            yield bay, baseline


def run(lab: tuple[Bay, str], script: str, *, oracle: bool = False) -> CheckResult:
    bay, baseline = lab
    return bay.run(Check(baseline, Command(argv=["sh", "-c", script], oracle=oracle, timeout_s=30)))


@pytest.mark.parametrize("oracle", [False, True])
def test_locked_and_foreign_files_do_not_stop_the_next_check(lab: tuple[Bay, str], oracle: bool) -> None:
    left = "mkdir -p left/deep && touch left/deep/file left/file && chmod 0 left/deep left && chmod 500 . && echo ok"
    assert run(lab, left, oracle=oracle).stdout == b"ok\n"
    after = run(lab, "id -u; ls -A /work; test ! -e left && touch mine && echo clean")
    assert after.stdout.split() == [b"1000", b"repo", b"clean"], after.stderr


def test_a_command_that_outlives_its_check_is_gone_in_the_next(lab: tuple[Bay, str]) -> None:
    run(lab, "(while :; do date > /work/repo/alive; sleep 0.05; done) >/dev/null 2>&1 & sleep 0.2")
    after = run(lab, "sleep 0.5; test ! -e alive && echo quiet")
    assert after.stdout == b"quiet\n"
