"""``bench-score`` on what a stranger's clone may hold: links, lost commands, foreign commits, lost patches."""

from __future__ import annotations

import json
import re
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from runner.errors import ConfigError
from runner.report.seed import Layers, Stated, seed_detail, seed_row
from runner.schema.seed import DOCUMENTS
from runner.scoring.agentic import agentic_components
from runner.scoring.code import code_components
from runner.scoring.fold import compose
from runner.scoring.seed import corpus_from, gates_from, process_from, recounted
from runner.stages.seed import read_document
from tests.support.seedlike.clone import PROGRAM, Clone, finish, make_clone
from tests.unit.cli.test_score_seed import document, score
from tests.unit.report.test_published_rows import ENTRY


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """Its commands are a script of the repository's own, which the allowlist leaves to the contestant."""
    made = make_clone(tmp_path_factory.mktemp("seed"))
    before = made.git("rev-parse", "--short=7", "HEAD")
    script = made.repo / "run.sh"
    script.write_text('#!/bin/sh\nexec python3 run.py "$@"\n')
    script.chmod(0o755)
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "baseline")
    text = made.registry.read_text().replace(before, made.git("rev-parse", "--short=7", "HEAD"))
    text = text.replace("mutation_e2e: {argv: [python3, run.py]}", "mutation_e2e: {argv: [./run.sh]}")
    text = text.replace("e2e: {argv: [python3, run.py, --ci]}", "e2e: {argv: [python3, ../run.py, --ci], cwd: vault}")
    more = "      - run.sh\n      - prog.py\n"
    made.registry.write_text(text.replace("      - tests_unit.py\n", f"      - tests_unit.py\n{more}"))
    made.branch("bench/good", finish)
    return made


def gates(clone: Clone, branch: str) -> dict[str, Any]:
    found: dict[str, Any] = document(clone, "gates", "--branch", branch)
    return found


@pytest.mark.parametrize("how", ["removed", "not executable"])
def test_a_corpus_whose_command_is_taken_away_earns_nothing(clone: Clone, how: str) -> None:
    def change(repo: Path) -> None:
        finish(repo)
        if how == "removed":
            (repo / "run.sh").unlink()
        else:
            (repo / "run.sh").chmod(0o644)

    found = document(clone, "mutations", "--branch", clone.branch(f"bench/{how.replace(' ', '-')}", change))
    assert found["kill_rate"] == "0/3"
    assert found["unusable"].startswith("the corpus is not green on the frozen program: invalid (exit 127, ")
    assert "run.sh cannot be started" in found["unusable"]


def test_a_folder_that_is_taken_away_is_a_red_gate(clone: Clone) -> None:
    def change(repo: Path) -> None:
        finish(repo)
        shutil.rmtree(repo / "vault/plans/calc")

    found = gates(clone, clone.branch("bench/no-folder", change))
    assert found["e2e"]["pass"] is False
    assert "exit 127" in found["e2e"]["evidence"]
    assert found["ci"]["pass"] is True


def test_a_link_that_leaves_the_tree_is_a_red_gate_on_the_host(clone: Clone) -> None:
    def change(repo: Path) -> None:
        finish(repo)
        (repo / "cases/out.txtar").symlink_to("/etc/passwd")

    found = gates(clone, clone.branch("bench/link", change))
    assert found["scope"]["pass"] is True
    assert found["ci"]["pass"] is False
    assert "is a link to an absolute path" in found["ci"]["evidence"]


@pytest.mark.parametrize("kind", ["folder", "commit"])
def test_something_else_under_the_name_of_the_unit_tests_is_no_absence(clone: Clone, kind: str) -> None:
    def change(repo: Path) -> None:
        finish(repo)
        if kind == "folder":
            (repo / "tests_unit.py").mkdir()
            (repo / "tests_unit.py/x").write_text("x")

    name = clone.branch(f"bench/unit-{kind}", change)
    if kind == "commit":  # of another repository: what a submodule is in a tree
        clone.git("checkout", "-q", name)
        clone.git("update-index", "--add", "--cacheinfo", f"160000,{clone.git('rev-parse', 'HEAD')},tests_unit.py")
        clone.git("commit", "-q", "-m", "more")
        clone.git("checkout", "-q", "-f", "main")
    gate = gates(clone, name)["unit_deleted"]
    assert gate["pass"] is False
    assert "still present" in gate["evidence"]


def test_pages_with_other_line_endings_are_read(clone: Clone) -> None:
    def change(repo: Path) -> None:
        finish(repo)
        page = repo / "vault/plans/calc/milestones/core/M02-drop-units.md"
        page.write_bytes(b"\xef\xbb\xbf---\r\nstatus: pending\r\n---")

    assert gates(clone, clone.branch("bench/crlf", change))["milestones"]["statuses"]["M02-drop-units"] == "pending"


def test_a_patch_that_fits_no_frozen_program_is_nobodys_to_kill(clone: Clone) -> None:
    """One that only the contestant's edits broke stays in the count, one that never fitted does not."""
    lost = clone.registry.parent / "vault/benchmarks/mutations/calc/09_lost.patch"
    lost.write_text(lost.with_name("01_add.patch").read_text().replace("int(words", "float(words"))
    try:
        name = clone.branch("bench/editor", _edit)
        found, good = (document(clone, "mutations", "--branch", branch) for branch in (name, "bench/good"))
        report = score(clone, "report", "--branch", "bench/good", "--dry-run").stdout
    finally:
        lost.unlink()
    assert (found["kill_rate"], found["not_applicable"], found["unfit"]) == ("0/3", 4, ["09_lost.patch"])
    assert (good["kill_rate"], good["not_applicable"], good["unfit"]) == ("3/3", 1, ["09_lost.patch"])
    assert "so it does not count" in good["patches"][3]["evidence"]
    assert "3/3 mutants killed x 25" in report


def _edit(repo: Path) -> None:
    finish(repo)
    text = PROGRAM.replace("int(words[1])", "int(words[-2])").replace("return 2", "return 1 + 1")
    (repo / "prog.py").write_text(text)


def test_counts_raised_by_hand_are_shown_as_a_judges(clone: Clone, tmp_path: Path) -> None:
    corpus = document(clone, "corpus", "--branch", "bench/good")
    corpus["aggregate"]["recall"]["matched"] += 1
    corpus["aggregate"]["gaps"]["matched"] += 1
    given = tmp_path / "corpus.json"
    given.write_text(json.dumps(corpus))
    done = score(clone, "report", "--branch", "bench/good", "--corpus-json", str(given), "--dry-run")
    assert "3/4 etalon cases by exact names + judge, 1 of them by votes x 15" in done.stdout
    assert "| etalon recall | 3/4 (75.0%) | by exact names + judge |" in done.stdout


GRADES = {"correctness": 4, "test_quality": 4, "code_quality": 4, "scope_discipline": 5}


@pytest.mark.parametrize(
    ("reviewers", "said"),
    [(("a/x", "b/good"), "b/good is the contestant"), (("a/x", "b/x"), "1 reviewing models"), (("a/x", "b/y"), None)],
)
def test_grades_given_elsewhere_are_by_two_models_that_are_not_the_contestant(
    clone: Clone, tmp_path: Path, reviewers: tuple[str, ...], said: str | None
) -> None:
    given = tmp_path / "grades.json"
    reviews = [{"reviewer": name, "grades": GRADES} for name in reviewers]
    given.write_text(json.dumps({"rubric": "shared", "reviews": reviews}))
    corpus, gates = tmp_path / "corpus.json", tmp_path / "gates.json"
    corpus.write_text(json.dumps(document(clone, "corpus", "--branch", "bench/good")))
    green = {"milestones": {"pass": True, "statuses": {"M01-x": "done"}}, "ci": {"pass": True}}
    gates.write_text(json.dumps(green))
    mutations = tmp_path / "mutations.json"
    patch = {"patch": "a.patch", "verdict": "killed", "exit": 1, "killed_by": ["x"], "evidence": "x"}
    mutations.write_text(json.dumps({"command": "x", "patch_count": 1, "kill_rate": "1/1", "kill_rate_pct": 100.0,
                                     "patches": [patch]}))  # fmt: skip
    done = score(clone, "report", "--branch", "bench/good", "--gates-json", str(gates), "--corpus-json", str(corpus),
                 "--mutations-json", str(mutations), "--review-json", str(given), "--dry-run", where=None)  # fmt: skip
    if said:
        assert said in str(done.exception)
    else:
        assert "\nreview: 4.25\n" in done.stdout


def _paths(value: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    return [p for key, v in list(below) for p in ((*before, key), *_paths(v, (*before, key)))]


TOKENS = {"prompt": 1, "completion": 1, "cached": 1, "cache_write": 0}
GIVEN: dict[str, Any] = {
    "gates": {"milestones": {"pass": True, "evidence": "x", "statuses": {"M01-x": "done"}},
              "ci": {"pass": True, "evidence": "x"}},
    "corpus": {"cases": {}, "aggregate": {
        "case_count": 3, "four_channel_cases": 2, "four_channel_pct": 66.67, "wildcards": 0, "wildcard_lines": 0,
        "asserted_lines": 6, "wildcard_line_ratio": 0.0,
        "recall": {"matched": 2, "total": 4, "pct": 50.0, "unmatched_etalon": ["a", "b"], "unmatched_branch": ["c"]},
        "gaps": {"matched": 0, "total": 1, "unmatched": ["a"]}}},
    "mutations": {"command": "x", "patch_count": 1, "killed": 1, "total": 1, "kill_rate": "1/1",
                  "kill_rate_pct": 100.0, "patches": [{"patch": "a.patch", "verdict": "killed", "exit": 1,
                                                       "killed_by": ["a"], "evidence": "a"}]},
    "process": {"run": {"model": "m", "run_id": "20260917-040329", "date": "2026-09-17 04:03", "wall_ms": 1000,
                        "wall": "1s", "freezes": 0, "freeze_ms": 0, "retries": 0, "attempts_per_milestone": "1"},
                "milestones": {"M01": {"attempts": 1}},
                "totals": {"tool_calls": 9, "malformed": 0, "loops": 0, "deaths": 0, "blind_rebaselines": 0,
                           "churn": {"pushed_lines": 9, "diff_lines": 9, "ratio": 1.0}}},
    "cost": {"source": "openrouter", "total_cost_usd": 0.5, "tokens": TOKENS,
             "milestones": {"M01": {"ids": 1, "cost": 0.5, **TOKENS}}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("verified", "outcome"), [({"M01": True, "M02": True}, "pass"), ({"M01": True, "M02": False}, "fail@M02")]
)
def test_what_a_given_document_says_of_the_verifies_decides_the_outcome(
    clone: Clone, tmp_path: Path, verified: dict[str, bool], outcome: str
) -> None:
    """And with it whether grades count; a row without a log has the moment of its making for a date, to the minute."""
    gate = {"pass": True, "statuses": {"M01-x": "done", "M02-y": "done"}, "facts": {"verified": verified}}
    argv = []
    for name in ("gates", "corpus", "mutations"):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"milestones": gate, "ci": {"pass": True}} if name == "gates" else GIVEN[name]))
        argv += [f"--{name}-json", str(path)]
    reviews = [{"reviewer": name, "grades": GRADES} for name in ("a/x", "b/y")]
    (tmp_path / "grades.json").write_text(json.dumps({"rubric": "shared", "reviews": reviews}))
    argv += ["--review-json", str(tmp_path / "grades.json")]
    done = score(clone, "report", "--branch", "bench/good", *argv, "--dry-run", where=None)
    assert f"\nreview: {'4.25' if outcome == 'pass' else 'null'}\n" in done.stdout
    assert re.match(r"\| \d{4}-\d\d-\d\d \d\d:\d\d \|", done.stdout)
    assert [c.strip() for c in done.stdout.splitlines()[0].split("|")][6] == outcome


@pytest.mark.parametrize("layer", GIVEN)
def test_a_document_with_a_key_gone_or_wrong_is_folded_or_refused_by_name(
    clone: Clone, tmp_path: Path, layer: str
) -> None:
    where = {name: tmp_path / f"{name}.json" for name in GIVEN}
    argv = [word for name, path in where.items() for word in (f"--{name}-json", str(path))]
    for name, path in where.items():
        path.write_text(json.dumps(GIVEN[name]))
    given = json.dumps(GIVEN[layer])
    assert score(clone, "report", "--branch", "bench/good", *argv, "--dry-run", where=None).exit_code == 0
    refused = 0
    for path, wrong in product(_paths(GIVEN[layer]), ("gone", None, "x", -1, {})):
        changed = json.loads(given)
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        if wrong == "gone":
            del inner[path[-1]]
        else:
            inner[path[-1]] = wrong
        where[layer].write_text(json.dumps(changed))
        try:
            found = read_document(layer, where[layer])
        except ConfigError as error:
            refused += f"{layer}.json: " in error.what and error.fix == f"make it with bench-score {layer}"
        else:
            assert _folds(found, layer), (path, wrong)
    assert refused > 3


def test_a_corpus_whose_recall_was_not_measured_is_folded() -> None:
    assert _folds({"cases": {}, "aggregate": {**GIVEN["corpus"]["aggregate"], "recall": None, "gaps": None}}, "corpus")


@pytest.mark.parametrize(
    ("key", "wrong"),
    [("matched", 5), ("matched", -1), ("matched", "2"), ("matched", True), ("total", -1), ("pct", -1.0), ("pct", "50")],
)
def test_a_count_is_a_count_and_no_more_than_there_is(key: str, wrong: object) -> None:
    recall = {**GIVEN["corpus"]["aggregate"]["recall"], key: wrong}
    document = {"cases": {}, "aggregate": {**GIVEN["corpus"]["aggregate"], "recall": recall}}
    with pytest.raises(ValidationError):
        DOCUMENTS["corpus"].model_validate_json(json.dumps(document))


def _folds(found: dict[str, Any], layer: str) -> bool:
    """All that ``report`` makes of a document."""
    documents = {**GIVEN, layer: found}
    corpus = recounted(documents["corpus"])
    parts = code_components(ENTRY, gates_from(documents["gates"]), corpus_from(corpus, documents["mutations"]), "")
    agentic = agentic_components(ENTRY, process_from(documents["process"], 28), "pass", "")
    layers = Layers(
        gates=documents["gates"], corpus=corpus, mutations=documents["mutations"], process=documents["process"],
        cost=documents["cost"], outcome="pass", diff_lines=28, code=compose(parts, "seed-1"), code_parts=parts,
        agentic=compose(agentic, "seed-1"), agentic_parts=agentic, review="-",
    )  # fmt: skip
    stated = Stated("b", "openrouter", "-", "-")
    row = seed_row(ENTRY, layers, stated, date="d", model="m", report="r")
    return bool(seed_detail(ENTRY, layers, stated, row, "r"))
