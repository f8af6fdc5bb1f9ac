"""The seed's registry on a plain clone, its commands in a container of a chosen image: no network, no host."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from runner.cli.score import score_app
from runner.errors import ConfigError
from runner.lab.prepare import images_folder
from runner.sandbox.baseimage import ensure_base
from runner.sandbox.engine import Engine
from tests.support.seedlike.clone import Clone, finish, make_clone


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    made = make_clone(tmp_path_factory.mktemp("seed"))

    def spy(repo: Path) -> None:
        finish(repo)
        (repo / "cases/spy.txtar").write_text("-- args --\nadd 1 1\n-- exit --\n0\n-- stdout --\n2\n")

    made.branch("bench/good", spy)
    return made


def test_gates_and_mutations_in_a_chosen_image(
    clone: Clone, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert images_folder().is_dir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    image = ensure_base(engine, log=print).tag
    common = ["--benchmark", "calc", "--branch", "bench/good", "--registry", str(clone.registry), "--repo",
              str(clone.repo), "--image"]  # fmt: skip
    done = CliRunner().invoke(score_app, ["gates", *common, image])
    assert done.exit_code == 0, done.exception
    found = json.loads(done.stdout)
    assert [found[name]["pass"] for name in ("milestones", "ci", "e2e", "determinism", "unit_deleted", "scope")] == [
        True
    ] * 6
    assert "without a container" not in done.stderr
    done = CliRunner().invoke(score_app, ["mutations", *common, image])
    assert done.exit_code == 0, done.exception
    assert json.loads(done.stdout)["kill_rate"] == "3/3"
    assert list((tmp_path / "bakeoff-runner/baseline").glob("*.green"))  # proven once, not for every layer
    done = CliRunner().invoke(score_app, ["gates", *common, "bench/no-such:image"])
    assert isinstance(done.exception, ConfigError)
    assert "the engine has no image 'bench/no-such:image'" in str(done.exception)
