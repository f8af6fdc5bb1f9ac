"""The seed's registry on a plain clone, its commands in a container of a chosen image: no network, no host."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from runner.cli.score import score_app
from runner.errors import ConfigError
from runner.lab.prepare import images_folder
from runner.sandbox.baseimage import ensure_base
from runner.sandbox.engine import Engine
from tests.support import stub_llm
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


def test_three_models_are_asked_for_a_mapping(clone: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def says(mapping: dict[str, str | None]) -> list[stub_llm.Step]:
        return [{"say": json.dumps({"mapping": mapping})}]

    nothing, unknown = "refuses-nothing.txtar", "refuses-unknown.txtar"
    monkeypatch.setitem(stub_llm.SCENARIOS, "sure", says({nothing: "no-words.txtar", unknown: None}))
    monkeypatch.setitem(stub_llm.SCENARIOS, "unsure", says({nothing: None, unknown: "no-words.txtar"}))
    monkeypatch.setitem(stub_llm.SCENARIOS, "liar", says({nothing: "invented.txtar", unknown: None}))
    common = ["--benchmark", "calc", "--branch", "bench/good", "--registry", str(clone.registry), "--repo",
              str(clone.repo)]  # fmt: skip

    def ask(*names: str) -> Result:
        judges = [word for name in names for word in ("--judge", f"{name}/model-{name}")]
        return CliRunner().invoke(score_app, ["judge", *common, *judges])

    with stub_llm.StubServer() as server:
        providers = {"one": "sure", "two": "sure", "three": "unsure", "four": "liar"}
        (clone.registry.parent / "providers.yaml").write_text("providers:\n" + "".join(
            f'  {name}: {{base_url: "{server.url(scenario, name)}", key_required: false, served: first}}\n'
            for name, scenario in providers.items()
        ))  # fmt: skip
        done = ask("one", "two", "four")
        assert "2 of 3 votes can be used" in str(done.exception), done.output
        assert "four/model-four: it names invented.txtar, which the branch does not have" in done.stderr
        assert "2 different judging models of 3" in str(ask("one", "two", "two").exception)
        done = ask("one", "two", "three")
        assert done.exit_code == 0, done.exception
        asked = "".join(map(str, server.seen))
    assert "## refuses-nothing.txtar" in asked
    assert "nothing to do" in asked, "the branch's cases were not shown"
    assert "adds.txtar" not in asked.replace("subtracts.txtar", ""), "a name had decided it"
    votes = tmp_path / "votes.json"
    votes.write_text(done.stdout)
    scored = CliRunner().invoke(score_app, ["corpus", *common, "--mapping", str(votes)])
    assert scored.exit_code == 0, scored.exception
    recall = json.loads(scored.stdout)["aggregate"]["recall"]
    assert (recall["matched"], recall["source"], recall["agreement"]) == (3, "exact names + judge", 0.667)
