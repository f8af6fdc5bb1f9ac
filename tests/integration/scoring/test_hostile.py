"""What a cheat gets: every branch of the hostile set is judged rightly, and for the named reason."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from runner.lab.bay import Bays
from runner.lab.check import CONTESTANT
from runner.lab.prepare import prepare_kit
from runner.lab.tree import lay
from runner.registry.benchmark import load_benchmark
from runner.repo import Mirror
from runner.sandbox.engine import connect
from runner.sandbox.pod import Pod
from runner.scoring.scope import scope_gate
from runner.sprint.takeover import take_over
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


def test_an_edit_left_uncommitted_is_in_scope_like_any_other(tmp_path: Path) -> None:
    """Changed, deleted, new, hidden from git by its own configuration: what lies there is the contestant's work."""
    benchmark = load_benchmark(HOME / "index.md", "hostile")
    mirror, baseline = Mirror.create(tmp_path / "mirror.git", benchmark.source, benchmark.entry.baseline)
    script = """
        echo 'exit 0' > ci/check.sh; git update-index --assume-unchanged ci/check.sh
        rm tools/run_cases.py; git update-index --skip-worktree tools/run_cases.py
        mkdir .github; echo x > .github/new.yml; echo .github >> .git/info/exclude
        echo 'x = 1' >> src/calc.py
    """
    with connect() as engine:
        kit = prepare_kit(engine, benchmark, lambda line: None)
        with Pod(engine, kit.pod_spec("hostile-test", 120)) as pod:
            box = pod.contestant(kit.contestant_image)
            lay(box, mirror, baseline, "work", user=CONTESTANT)
            done = box.exec(["sh", "-ec", script], timeout_s=20, cwd="/work/repo")
            assert done.ok, done.stderr
            box.remove()
            taken = take_over(pod, mirror, tmp_path / "b.bundle", base=baseline, branch="work", message="left")
    gate = scope_gate(mirror, baseline, taken.head, benchmark.entry.scope_allowlist)
    assert gate.passed is False
    assert gate.evidence["outside"] == [".github/new.yml", "ci/check.sh", "tools/run_cases.py"]
    assert not taken.info.committed_by_contestant
