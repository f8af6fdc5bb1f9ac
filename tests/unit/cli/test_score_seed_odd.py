"""``bench-score`` on what a stranger's clone may hold: links, lost commands, foreign commits, lost patches."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.seedlike.clone import PROGRAM, Clone, finish, make_clone
from tests.unit.cli.test_score_seed import document, score


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
        page.write_bytes(b"---\r\nstatus: pending\r\n---")

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
