"""The small benchmark of the integration tests, its checks carried out on this machine and in no container."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest

from runner.lab.check import Check, CheckResult, Place
from runner.lab.kit import Kit
from runner.lab.onhost import HostLab, NoEngine
from runner.registry.benchmark import load_benchmark
from runner.repo import Mirror
from runner.scoring.patches import reference_commit
from runner.validate.bench import Bench
from runner.validate.memo import Key, Memo

MINI = Path(__file__).parents[2] / "support" / "mini"

Opened = Callable[[], Bench]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    target = tmp_path / "registry"
    shutil.copytree(MINI, target, ignore=shutil.ignore_patterns(".bench", "__pycache__"))
    index = target / "index.md"
    index.write_text(index.read_text().replace("/out/cases.xml", "cases.xml"))
    return target


class Shared(Memo):
    """A memo whose answers outlive a test: what differs in nothing is run once in all of them."""

    def __init__(self, mirror: Mirror, place: Place, known: dict[Key, Future[CheckResult]]) -> None:
        super().__init__(mirror, place)
        self._known = known


@pytest.fixture(scope="package")
def known() -> dict[Key, Future[CheckResult]]:
    return {}


@pytest.fixture
def opened(home: Path, known: dict[Key, Future[CheckResult]]) -> Opened:
    """The benchmark as it is by then: a test spoils it first."""

    def opened() -> Bench:
        benchmark = load_benchmark(home / "index.md", "mini")
        folder = home.parent / "work"
        folder.mkdir()
        mirror, baseline = Mirror.create(folder / "mirror.git", benchmark.source, benchmark.entry.baseline)
        reference = reference_commit(benchmark, mirror, baseline) if benchmark.entry.reference else None
        place = Shared(mirror, HostLab(benchmark, mirror).run, known).run
        return Bench(Kit(NoEngine(), benchmark), mirror, baseline, reference, "host", folder, lambda line: None, place)

    return opened


def spoilt(bench: Bench, when: Callable[[Check], bool], command: list[str]) -> Bench:
    """With another command in the place of the benchmark's own, for the checks that ``when`` picks."""

    def place(check: Check) -> CheckResult:
        if when(check):
            check = replace(check, command=check.command.model_copy(update={"argv": command}))
        return bench.place(check)

    return replace(bench, place=place)
