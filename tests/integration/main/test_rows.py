"""From one command to comparable rows, with everything behind them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.integration.main.conftest import Bench, run_id_of


def test_controls_land_where_they_must(bench: Bench, tmp_path: Path, left_behind: Callable[[str], list[str]]) -> None:
    done = bench.run("control/reference", "control/nop", "control/saboteur")
    assert done.code == 0, done.err
    rows = {row["result"]["arm"]["model"]: row for row in done.document["rows"]}
    assert {m: r["cells"]["outcome"] for m, r in rows.items()} == {
        "reference": "pass",
        "nop": "fail@M01",
        "saboteur": "fail@M01",
    }
    assert rows["reference"]["cells"]["att"] == "1/1"
    assert rows["nop"]["cells"]["att"] == "2"
    assert rows["nop"]["cells"]["code"] == "-"
    assert rows["reference"]["result"]["diff_lines"] == 7

    folders = {f.name.rsplit("-", 1)[1]: f for f in bench.run_dirs()}
    for folder in folders.values():
        there = {p.name for p in folder.iterdir()}
        assert there >= {"lock.json", "states.jsonl", "journal.jsonl", "branch.bundle", "result.json", "manifest.json",
                         "detail.md", "scores", "agent"}  # fmt: skip
        assert left_behind(run_id_of(folder)) == []
    saboteur = json.loads((folders["saboteur"] / "scores" / "gates.json").read_text())
    gates = {g["id"]: g for g in saboteur["gates"]}
    assert gates["ci"]["passed"] is False
    assert gates["scope"]["passed"] is False
    assert "always-green.mk" in gates["scope"]["evidence"]["outside"]
    nop = json.loads((folders["nop"] / "result.json").read_text())
    assert [a["steps_passed"] for a in nop["attempts"]] == [[], []]

    # the rows are chained, the files sealed, the branch is a plain clone away
    assert bench("verify", "--registry", str(bench.index)).code == 0
    clone = tmp_path / "clone"
    out = bench("checkout", folders["reference"].name, str(clone), "--registry", str(bench.index))
    assert out.code == 0, out.err
    assert "def shout" in (clone / "src" / "greet.py").read_text()
    assert (clone / "tests" / "test_shout.py").exists()
    listed = bench("list", "--by", "arm", "--json", "--registry", str(bench.index)).document
    assert {(a["model"], a["passed"]) for a in listed} >= {("control/reference", "1/1"), ("control/nop", "0/1")}
    (folders["nop"] / "detail.md").write_text("forged")
    broken = bench("verify", "--registry", str(bench.index))
    assert broken.code == 4
    assert "detail.md was changed" in broken.err
    (folders["nop"] / "manifest.json").unlink()
    broken = bench("verify", "--registry", str(bench.index))
    assert (broken.code, "manifest.json is not the one" in broken.err) == (4, True)


def test_the_same_work_gives_the_same_commit_and_the_same_score_files(bench: Bench) -> None:
    assert bench.run("control/reference", "control/reference").code == 0
    first, second = bench.run_dirs()
    heads = [json.loads((f / "result.json").read_text())["head"] for f in (first, second)]
    assert heads[0] == heads[1]
    assert (first / "scores" / "gates.json").read_bytes() == (second / "scores" / "gates.json").read_bytes()
    branches = [json.loads((f / "lock.json").read_text())["branch"] for f in (first, second)]
    assert branches[0] != branches[1]
