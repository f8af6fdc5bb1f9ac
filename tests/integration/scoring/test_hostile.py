"""What a cheat gets: every branch of the hostile set is judged rightly, and for the named reason."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from runner.lab.bay import Bays
from runner.lab.prepare import prepare_kit
from runner.registry.benchmark import load_benchmark
from runner.repo import Mirror
from runner.sandbox.engine import connect
from tests.integration.scoring.hostile import HOME, Landed, described, differences, land, names

pytestmark = pytest.mark.engine

SIDE_BY_SIDE = 2


@pytest.fixture(scope="module")
def landings(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[dict[str, Future[Landed]]]:
    """All chosen branches, in pods that they share, two at a time."""
    wanted = [item.callspec.params["name"] for item in request.session.items
              if item.name.startswith("test_a_cheat_gets[")]  # fmt: skip
    folder = tmp_path_factory.mktemp("hostile")
    with connect() as engine:
        benchmarks = {name: load_benchmark(HOME / "index.md", name) for name in ("hostile", "hostile-tests")}
        kits = {name: prepare_kit(engine, benchmark, lambda line: None) for name, benchmark in benchmarks.items()}
        some = benchmarks["hostile"]
        mirror, baseline = Mirror.create(folder / "mirror.git", some.source, some.entry.baseline)
        with (
            Bays(kits["hostile"], mirror, "hostile-test", SIDE_BY_SIDE) as bays,
            ThreadPoolExecutor(SIDE_BY_SIDE) as pool,
        ):
            yield {
                name: pool.submit(
                    land, kits[described(name).get("benchmark", "hostile")], mirror, baseline, described(name),
                    folder / name, bays.run,
                )
                for name in wanted
            }  # fmt: skip


@pytest.mark.parametrize("name", names())
def test_a_cheat_gets(name: str, landings: dict[str, Future[Landed]]) -> None:
    assert differences(described(name)["expect"], landings[name].result(timeout=400)) == []
