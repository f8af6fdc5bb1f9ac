"""A stored run is scored again from its bundle: the same inputs give the same bytes, and a difference is explained."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from runner.errors import ProofError
from runner.lab.prepare import prepare_kit
from runner.sandbox.engine import Engine
from runner.scoring import SCORER_VERSION
from runner.stages import rescore as again
from runner.stages.rescore import How, rescore
from runner.stages.stored import open_stored
from runner.store.history import History
from tests.integration.main.conftest import Bench

MINI = Path(__file__).parents[2] / "support" / "mini"


@pytest.fixture
def mini(bench: Bench) -> Bench:
    shutil.rmtree(bench.home)
    shutil.copytree(MINI, bench.home, ignore=shutil.ignore_patterns(".bench", "__pycache__"))
    return bench


def scores(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted((folder / "scores").iterdir())}


def test_shuffled_on_one_worker_in_another_time_zone_the_bytes_are_the_same(mini: Bench) -> None:
    mini.change(probes_dir=None, placebos_dir=None)  # fewer checks, the same paths
    done = mini("run", "mini", "--registry", str(mini.index), "--json", "--full", "-m", "control/reference")
    assert done.code == 0, done.err
    (folder,) = mini.run_dirs()
    first = scores(folder)
    sealed = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert set(first) == {"gates.json", "corpus.json", "mutations.json", "process.json", "cost.json"}
    shutil.rmtree(next((mini.home / ".bench/workspaces").glob("*.git")))  # the bundle is all that is needed
    mini.env["TZ"] = "Pacific/Auckland"
    done = mini("rescore", folder.name, "--registry", str(mini.index), "--json", "--seed", "7", "--jobs", "1")
    assert done.code == 0, done.err
    (document,) = done.document
    assert (document["revision"], document["changes"]) == (2, [])
    assert scores(folder / "revisions/2") == first
    assert {p: p.read_bytes() for p in sealed} == sealed


def test_revisions_are_explained_chained_and_proven(
    bench: Bench, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bench.run("control/reference").code == 0
    (folder,) = bench.run_dirs()
    first = scores(folder)

    # Several workers, another day: the same bytes.
    monkeypatch.setattr(again, "now", lambda: "2031-02-03T04:05:06.000Z")
    stored = open_stored(bench.index, folder.name)
    kit = prepare_kit(engine, stored.benchmark, print)
    rescore(kit, stored, How(workers=4, seed=3), print)
    assert scores(folder / "revisions/2") == first
    assert not any(year in b"".join(first.values()) for year in (b"2031", folder.name[:4].encode()))

    # Another weight in the registry: what changed is said cell by cell, with the hashes that explain it.
    bench.index.write_text(bench.index.read_text().replace("{ci: 10, scope: 10}", "{ci: 10, scope: 30}"))
    done = bench("rescore", folder.name, "--registry", str(bench.index))
    assert done.code == 0, done.err
    assert "component gates.scope: 10 of 10 -> 30 of 30  [registry hash " in done.out
    assert scores(folder / "revisions/3") == first

    # A difference that nothing explains is no result but a broken proof.
    stored = open_stored(bench.index, folder.name)
    gates = stored.score("gates")
    assert gates is not None
    lied = gates.model_copy(update={"gates": [gates.gates[0].model_copy(update={"passed": False}), *gates.gates[1:]]})
    with pytest.raises(ProofError, match="gate scope was fail and is pass, although nothing that decides it"):
        rescore(kit, replace(stored, scores=[lied]), How(), print)

    rows = History(bench.home / ".bench").verify()
    assert [row.revision for row in rows] == [1, 2, 3, 4]
    assert rows[2].benchmark_hash != rows[0].benchmark_hash
    assert rows[2].series != rows[0].series
    listed = bench("list", "--registry", str(bench.index), "--json").document
    assert [(row["revision"], row["scorer_version"].split(", ")[0]) for row in listed] == [(4, SCORER_VERSION)]
    assert (bench.home / ".bench/history.md").read_text().count("`reference`") == 1
    assert bench("verify", "--registry", str(bench.index)).code == 0

    # A file that was touched since is found before anything is scored.
    (folder / "revisions/3/scores/gates.json").write_text("{}")
    done = bench("rescore", folder.name, "--registry", str(bench.index))
    assert (done.code, "was changed or removed since its row was written" in done.err) == (4, True)
