"""``bench-score`` on a plain clone with the seed's registry: its flags, its documents, none of its flaws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from runner.cli.score import score_app
from runner.errors import BenchError
from tests.support.seedlike.clone import Clone, case, finish, make_clone


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    made = make_clone(tmp_path_factory.mktemp("seed"))
    made.branch("bench/good", finish)
    made.branch("bench/nothing", lambda repo: finish(repo, {}))
    made.branch("bench/idle", lambda repo: None)
    made.branch("bench/red", lambda repo: finish(repo, {"adds.txtar": case("add 1 2", 0, "4\n")}))
    return made


def score(clone: Clone, *argv: str, where: str | None = "--on-host", registry: Path | None = None) -> Result:
    more = ["--benchmark", "calc", "--registry", str(registry or clone.registry), "--repo", str(clone.repo)]
    return CliRunner().invoke(score_app, [*argv, *more, *([where] if where else [])])


def refused(result: Result) -> tuple[int, str]:
    """Exit code and sentence of an error that reached the top."""
    assert isinstance(result.exception, BenchError), result.output
    return result.exception.exit_code, str(result.exception)


def document(clone: Clone, *argv: str) -> Any:
    done = score(clone, *argv)
    assert done.exit_code == 0, done.exception
    return json.loads(done.stdout)


def test_gates_have_the_seeds_names_and_a_sentence_each(clone: Clone) -> None:
    found = document(clone, "gates", "--branch", "bench/good")
    assert list(found)[:6] == ["milestones", "ci", "e2e", "determinism", "unit_deleted", "scope"]
    assert {name: gate["pass"] for name, gate in found.items() if name in list(found)[:6]} == dict.fromkeys(
        list(found)[:6], True
    )
    assert found["milestones"]["statuses"] == {"M01-cases": "done", "M02-drop-units": "done"}
    assert found["ci"]["evidence"] == "python3 run.py --ci exit 0"
    assert found["scope"]["evidence"].startswith("6 changed path(s) vs ")


def test_a_clone_may_be_bare_linked_dirty_or_oddly_named(clone: Clone, tmp_path: Path) -> None:
    linked, bare, odd = tmp_path / "linked", tmp_path / "bare.git", tmp_path / "ein Ordner ü" / "klön 1"
    clone.git("worktree", "add", "-q", "--detach", str(linked), "main")
    clone.git("clone", "-q", "--bare", str(clone.repo), str(bare))
    clone.git("clone", "-q", "-b", "bench/good", str(clone.repo), str(odd))
    (odd / "prog.py").write_text("import sys\nsys.exit(3)\n")  # not committed, so of no account
    (odd / "cases" / "more.txtar").write_text("-- args --\n")
    expected = {layer: document(clone, layer, "--branch", "bench/good") for layer in ("gates", "corpus", "mutations")}
    for repo in (linked, bare, odd):
        for layer, found in expected.items():
            done = score(Clone(repo, clone.registry), layer, "--branch", "bench/good")
            assert done.exit_code == 0, (repo, layer, done.exception)
            assert json.loads(done.stdout) == found, (repo, layer)
        done = score(Clone(repo, clone.registry), "report", "--branch", "bench/good", "--dry-run")
        assert done.exit_code == 0, (repo, done.exception)
        assert done.stdout.startswith("| "), done.stdout


def test_on_the_host_is_said_aloud(clone: Clone) -> None:
    assert "warning: --on-host runs the branch's code" in score(clone, "gates", "--branch", "bench/idle").stderr


def test_corpus_needs_no_engine_and_has_the_seeds_names(clone: Clone) -> None:
    done = score(clone, "corpus", "--branch", "bench/good", where=None)
    found = json.loads(done.stdout)["aggregate"]
    assert (found["case_count"], found["four_channel_cases"], found["four_channel_pct"]) == (3, 2, 66.67)
    assert (found["wildcard_lines"], found["wildcard_line_ratio"]) == (0, 0.0)
    recall = found["recall"]
    assert (recall["matched"], recall["total"], recall["pct"]) == (2, 4, 50.0)
    assert recall["unmatched_etalon"] == ["refuses-nothing.txtar", "refuses-unknown.txtar"]
    assert recall["unmatched_branch"] == ["no-words.txtar"]
    assert recall["source"] == "exact names"
    assert found["gaps"] == {"matched": 0, "total": 1, "unmatched": ["refuses-unknown.txtar"], "judged": 0}


def test_three_votes_raise_recall_and_are_marked(clone: Clone, tmp_path: Path) -> None:
    votes = tmp_path / "votes.json"
    votes.write_text(json.dumps({"votes": [
        {"by": "a", "mapping": {"refuses-nothing.txtar": "no-words.txtar"}},
        {"by": "b", "mapping": {"refuses-nothing.txtar": "no-words.txtar", "refuses-unknown.txtar": "invented.txtar"}},
        {"by": "c", "mapping": {"refuses-unknown.txtar": None}},
    ]}))  # fmt: skip
    done = score(clone, "corpus", "--branch", "bench/good", "--mapping", str(votes), where=None)
    recall = json.loads(done.stdout)["aggregate"]["recall"]
    assert (recall["matched"], recall["judged"]) == (3, ["refuses-nothing.txtar"])
    assert recall["source"] == "exact names + judge"
    assert recall["agreement"] == 0.833  # 2 of 3 and, for the invented case, 3 of 3


def test_kills_name_their_cases(clone: Clone) -> None:
    found = document(clone, "mutations", "--branch", "bench/good")
    assert (found["killed"], found["total"], found["kill_rate"], found["kill_rate_pct"]) == (3, 3, "3/3", 100.0)
    assert found["survivors"] == found["inapplicable"] == []
    assert found["patches"][0] == {"patch": "01_add.patch", "verdict": "killed", "exit": 1,
                                   "killed_by": ["adds.txtar"], "evidence": "adds.txtar"}  # fmt: skip


@pytest.mark.parametrize("branch", ["bench/nothing", "bench/red"])
def test_an_empty_or_red_corpus_kills_nothing(clone: Clone, branch: str) -> None:
    found = document(clone, "mutations", "--branch", branch)
    assert (found["killed"], found["total"], found["kill_rate"]) == (0, 3, "0/3")
    assert found["unusable"]


def test_an_empty_corpus_folds_to_forty_and_a_ratio_of_nothing_is_null(clone: Clone) -> None:
    assert document(clone, "corpus", "--branch", "bench/nothing")["aggregate"]["wildcard_line_ratio"] is None
    done = score(clone, "report", "--branch", "bench/nothing", "--dry-run")
    cells = [c.strip() for c in done.stdout.splitlines()[0].split("|")[1:-1]]
    assert (cells[5], cells[7]) == ("pass", "40.0")
    assert "\nreview: null\n" in done.stdout
    assert "40 of 100 available weight" in done.stdout


def test_the_row_is_the_seeds_and_the_detail_is_written_once(clone: Clone, tmp_path: Path) -> None:
    process = {
        "run": {"run_id": "20260917-040329", "date": "2026-09-17 04:03", "model": "some-model", "retries": 0,
                "attempts_per_milestone": "1/1", "wall_ms": 1131000, "freezes": 0, "freeze_ms": 0},
        "totals": {"tool_calls": 40, "malformed": 1, "loops": 0, "deaths": 0, "blind_rebaselines": 1,
                   "churn": {"pushed_lines": 30, "diff_lines": None, "ratio": None}},
        "milestones": {"M01-cases": {"attempts": 1}, "M02-drop-units": {"attempts": 1}},
    }  # fmt: skip
    tokens = {"prompt": 100_000, "completion": 56_500, "cached": 3_800_000, "cache_write": 0}
    cost = {"source": "worker-usage", "total_cost_usd": 0.0, "tokens": tokens, "milestones": {}}
    (tmp_path / "p.json").write_text(json.dumps(process))
    (tmp_path / "c.json").write_text(json.dumps(cost))
    argv = ["report", "--branch", "bench/good", "--process-json", str(tmp_path / "p.json"), "--cost-json",
            str(tmp_path / "c.json"), "--provider", "local", "--orch", "direct", "--effort", "medium"]  # fmt: skip
    done = score(clone, *argv)
    assert done.exit_code == 0, done.exception
    # gates 40, mutation 25, recall 7.5, four-channel 6.67, gaps 0, wildcard 5; agentic 30 + 10 + 28 + 20
    assert done.stdout.strip() == (
        "| 2026-09-17 04:03 | `some-model` | local | direct | medium | pass | 1/1 | 84.2 | 88.0 | _pending_ | 28 "
        "| in 3.9M out 56.5k | in 3.8M out 0 | $0.00 | 18m51s | 0s "
        "| [20260917-040329](runs/20260917-040329-good.md) |  |"
    )
    detail = clone.registry.parent / "runs/20260917-040329-good.md"
    text = detail.read_text()
    headings = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["Summary", "Gates", "Corpus quality", "Mutation kills", "Process profile", "Cost", "Composites",
                        "Review", "History row"]  # fmt: skip
    assert "code: 84.17\nagentic: 88.0\nreview: null\nstatus: measuring" in text
    assert score(clone, *argv).exit_code == 0  # as long as it is being measured it may be made anew
    detail.write_text(text.replace("status: measuring", "status: done"))
    code, said = refused(score(clone, *argv))
    assert code == 2
    assert "published already" in said


def test_process_and_cost_are_read_from_a_log(clone: Clone, tmp_path: Path) -> None:
    log = tmp_path / "20260917-040329-good.ndjson"
    lines: list[dict[str, Any]] = [
        {"type": "run_segment", "event": "start", "segment": "M01-cases", "timestamp": "2026-09-17T04:03:29Z"},
        {"type": "system", "subtype": "init", "session_id": "s", "model": "some-model"},
        {"type": "assistant", "message": {"id": "m1", "model": "some-model", "content": [
            {"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "a", "content": "1\n2\n"}}],
            "usage": {"input_tokens": 5, "output_tokens": 7}}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]}},
        {"type": "result", "subtype": "success", "is_error": False, "duration_ms": 1000, "num_turns": 1,
         "session_id": "s", "total_cost_usd": 1.25, "usage": {"input_tokens": 5, "output_tokens": 7}},
        {"type": "run_segment", "event": "end", "segment": "M01-cases", "timestamp": "2026-09-17T04:04:29Z"},
    ]  # fmt: skip
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = score(clone, "report", "--branch", "bench/good", "--log", str(log), "--provider", "local", "--dry-run")
    assert done.exit_code == 0, done.exception
    cells = [c.strip() for c in done.stdout.splitlines()[0].split("|")[1:-1]]
    assert (cells[0], cells[5], cells[11], cells[13]) == ("2026-09-17 04:03", "pass", "in 5 out 7", "$0.00")
    assert cells[8] != "-"


def test_a_page_alone_makes_no_milestone_done(clone: Clone) -> None:
    def lie(repo: Path) -> None:
        finish(repo)
        (repo / "cases/adds.txtar").write_text(case("add 1 2", 0, "4\n"))

    clone.branch("bench/liar", lie)
    done = score(clone, "report", "--branch", "bench/liar", "--dry-run")
    cells = [c.strip() for c in done.stdout.splitlines()[0].split("|")[1:-1]]
    assert cells[5] == "fail@M02"
    assert cells[7:10] == ["-", "-", "-"]


def test_a_rename_out_of_a_forbidden_path_is_out_of_scope(clone: Clone) -> None:
    def move(repo: Path) -> None:
        finish(repo)
        (repo / "prog.py").rename(repo / "cases/a b.txtar")

    clone.branch("bench/mover", move)
    gate = document(clone, "gates", "--branch", "bench/mover")["scope"]
    assert gate["pass"] is False
    assert gate["facts"]["outside"] == ["prog.py"]


def test_mutants_reach_a_program_outside_the_allowlist(clone: Clone) -> None:
    """The program is restored before it is mutated, not afterwards: that would undo the mutation."""

    def edit(repo: Path) -> None:
        finish(repo)
        (repo / "prog.py").write_text("print('3')\n")

    clone.branch("bench/editor", edit)
    assert document(clone, "mutations", "--branch", "bench/editor")["killed"] == 3


def test_a_machine_without_the_tool_is_never_the_branchs_fault(clone: Clone) -> None:
    text = clone.registry.read_text()
    other = clone.registry.with_name("other.md")
    other.write_text(text.replace("ci: {argv: [python3, run.py, --ci]}", "ci: {argv: [no-such-tool]}"))
    code, said = refused(score(clone, "gates", "--branch", "bench/good", registry=other))
    assert code == 2
    assert "this machine has no 'no-such-tool'" in said
    other.write_text(text.replace("ci: {argv: [python3, run.py, --ci]}", "ci: {argv: [python3, -c, 'import nothing']}"))
    code, said = refused(score(clone, "gates", "--branch", "bench/good", registry=other))
    assert code == 3
    assert "fails on the untouched baseline" in said


def test_an_unknown_branch_is_a_sentence(clone: Clone) -> None:
    code, said = refused(score(clone, "gates", "--branch", "bench/none"))
    assert code == 2
    assert "branch bench/none is no commit" in said
