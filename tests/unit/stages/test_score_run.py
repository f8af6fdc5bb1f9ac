"""``bench-score process|cost`` as people call them, and what their documents must never say."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from runner.errors import ConfigError, UsageError
from runner.gateway.providers import Provider
from runner.harness.reading import summarise
from runner.harness.summary import LogError
from runner.schema.entry import Entry
from runner.stages.score_cost import cost_document, parts_of, parts_of_document
from runner.stages.score_run import Selection, find_work, process_document
from tests.support.seedlog import Pi, log, stored
from tests.unit.harness.test_more import EVERY, own

ENTRY = """---
benchmarks:
- id: b
  source_repo: repo
  baseline: HEAD~1
  plan: plan/index.md
  branch_scheme: bench/{model_slug}
  logs_dir: LOGS
  api_key_env: BROKER_KEY
  scope_allowlist: ["**"]
  commands: {ci: {argv: ["true"]}}
  process:
    shell_tool: bash
    rebaseline_pattern: --update
    e2e_pattern: make e2e
  cost: {endpoint: "http://127.0.0.1:1/generation", retries: 1, backoff_seconds: 0, timeout_seconds: 5}
---
"""
GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    repo = tmp_path / "repo"
    for name in ("M01-one", "M02-two", "M03-three"):
        folder = repo / "plan" / "milestones" / name
        folder.mkdir(parents=True)
        (folder / f"{name}.md").write_text("---\nstatus: pending\n---\n")
    (tmp_path / "logs").mkdir()

    def git(*arguments: str) -> None:
        subprocess.run([*GIT, "-C", str(repo), *arguments], check=True, capture_output=True)

    git("init", "-b", "main")
    git("add", "-A")
    git("commit", "-m", "base")
    git("checkout", "-b", "bench/m")
    (repo / "new.txt").write_text("1\n2\n3\n4\n")
    (repo / "plan" / "milestones" / "M01-one" / "feedback.md").write_text("**Blocked (1/2)**\n")
    git("add", "-A")
    git("commit", "-m", "work")
    index = tmp_path / "index.md"
    index.write_text(ENTRY.replace("LOGS", str(tmp_path / "logs")))
    return index


def shared(registry: Path, name: str = "20260101-000000-m.ndjson") -> Path:
    first = Pi().call("write", {"path": "new.txt", "content": "1\n2\n3\n4\n5\n6\n"}).call("bash", {"command": "make"})
    second = Pi().call("bash", {"command": "make e2e --update"}, "3 passed", agent="worker")
    parts = [("M01-one", first.end().text), ("M01-one", stored("pi", "bad_json")), ("M02-two", second.end().text)]
    return log(registry.parent / "logs" / name, *parts)


def document(registry: Path, branch: str | None = "bench/m", **selection: Any) -> dict[str, Any]:
    return process_document(find_work(registry, "b", branch, None, Selection(**selection)))


def test_the_document_of_a_branch_and_its_log(registry: Path) -> None:
    found = document(registry, log=shared(registry))
    run, totals = found["run"], found["totals"]
    assert (run["run_id"], run["model"], run["model_slug"]) == ("20260101-000000", "m", "m")
    assert (run["attempts_per_milestone"], run["attempts_total"], run["retries"]) == ("2/1", 3, 1)
    assert (run["schemas"], run["milestone_count"], run["logs"]) == (["pi"], 3, ["20260101-000000-m.ndjson"])
    assert (run["wall_ms"], run["wall"], run["span"]) == (3 * 1_800_000, "1h30m00s", "2h30m00s")
    assert (run["freezes"], run["freeze_ms"]) == (0, 0)
    first, second, third = found["milestones"].values()
    assert (first["attempts"], first["feedback_files"], first["attempts_consistent"]) == (2, 1, True)
    assert [a["tool_calls"] for a in first["log_attempts"]] == [2, 3]
    assert (second["blind_rebaselines"], second["agents"]) == (1, {"worker#1": 1})
    assert (third["state"], third["attempts"], third["attempts_consistent"]) == ("not reached", 0, None)
    assert totals["churn"] == {"pushed_lines": 7, "diff_lines": 5, "ratio": 1.4}
    assert (totals["tool_calls"], totals["malformed"], totals["malformed_kinds"]) == (6, 1, {"json": 1})
    assert (totals["deaths"], totals["loops"], totals["blind_rebaselines"]) == (0, 0, 1)


def test_blind_updates_stand_at_their_milestone_in_both_versions_or_are_unknown(registry: Path) -> None:
    """A plan's milestones go by their ids, attempts in a published log by the name of the milestone's page."""
    listed = "  milestones: [{id: M01, file: plan/milestones/M01-one/M01-one.md}]\n  process:\n"
    registry.write_text(registry.read_text().replace("  process:\n", listed))
    pi = Pi().call("bash", {"command": "make e2e"}, "1 failed").call("bash", {"command": "make e2e --update"})
    logged = log(registry.parent / "logs" / "x.ndjson", ("M01-one", pi.end().text))

    def blind() -> list[tuple[int | None, int | None]]:
        found = document(registry, None, log=logged)
        return [(one["blind_rebaselines"], one["blind_rebaselines_2"])
                for one in (found["milestones"]["M01"], found["totals"])]  # fmt: skip

    assert blind() == [(1, 0), (1, 0)]
    registry.write_text(registry.read_text().replace("    rebaseline_pattern: --update\n", ""))
    assert blind() == [(None, None), (None, None)]


def test_without_a_branch_there_is_no_diff_and_no_ratio(registry: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.ndjson"
    plan.write_text(stored("claude", "unknown_tool"))
    found = document(registry, None, ndjson=[plan])
    assert found["totals"]["churn"] == {"pushed_lines": 1, "diff_lines": None, "ratio": None}
    (attempt,) = found["milestones"]["plan"]["log_attempts"]
    assert attempt["result_tokens"] == {"prompt": 4060, "completion": 246, "cached": 2400, "cache_write": 160}
    assert (attempt["num_turns"], attempt["stop_reason"], attempt["schema"]) == (4, "end_turn", "claude-code")


def test_the_log_of_a_branch_is_found_only_when_it_is_the_one(registry: Path) -> None:
    shared(registry)
    (registry.parent / "logs" / "20260102-000000-other-m.ndjson").write_text("")
    assert document(registry)["run"]["attempts_total"] == 3
    shared(registry, "20260103-000000-m.ndjson")
    with pytest.raises(UsageError, match="2 logs of m — name one by --log"):
        document(registry)
    work = find_work(registry, "b", None, None, Selection(log=registry.parent / "logs" / "20260103-000000-m.ndjson"))
    assert len(work.segments) == 3


@pytest.mark.parametrize(
    ("selection", "labels"),
    [
        ({"since": "20260101-010000"}, ["M01-one", "M02-two"]),
        ({"until": "20260101-003000"}, ["M01-one"]),
        ({"plan_segment": "M01-one"}, ["M01-one"]),
    ],
)
def test_attempts_are_chosen_by_stamp_and_label(registry: Path, selection: dict[str, str], labels: list[str]) -> None:
    work = find_work(registry, "b", None, None, Selection(log=shared(registry), **selection))
    assert [segment.label for segment in work.segments] == labels


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        ({"since": "yesterday"}, "no stamp"),
        ({"plan_segment": "plan"}, "no segment is labelled 'plan' — there are: M01-one, M02-two"),
        ({"since": "20270101-000000"}, "no attempt lies between"),
    ],
)
def test_a_choice_that_leaves_nothing_is_an_error(registry: Path, selection: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        find_work(registry, "b", None, None, Selection(log=shared(registry), **selection))


# -- cost


class Broker(BaseHTTPRequestHandler):
    status: dict[str, list[int]] = {}
    asked: list[tuple[str, str | None]] = []

    def do_GET(self) -> None:
        ident = parse_qs(urlsplit(self.path).query)["id"][0]
        self.asked.append((ident, self.headers["Authorization"]))
        plan = self.status.get(ident, [200])
        code = plan.pop(0) if len(plan) > 1 else plan[0]
        data = {"total_cost": 0.25, "native_tokens_prompt": 100, "native_tokens_completion": 10,
                "native_tokens_cached": 5}  # fmt: skip
        body = json.dumps({"data": data}).encode() if code == 200 else b"no"
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def broker() -> Iterator[str]:
    Broker.status, Broker.asked = {}, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Broker)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/generation"
    server.shutdown()
    server.server_close()


def cost(registry: Path, events: str, endpoint: str | None = None, provider: Provider | None = None) -> dict[str, Any]:
    path = log(registry.parent / "c.ndjson", ("M01-one", events))
    work = find_work(registry, "b", None, None, Selection(log=path))
    return cost_document(
        work.entry, parts_of(work), endpoint=endpoint, provider=provider, env={"BROKER_KEY": "secret-key"}
    )


def test_each_answer_is_looked_up_once_and_added(registry: Path, broker: str) -> None:
    found = cost(registry, Pi().call("read", {"path": "a"}).call("read", {"path": "b"}).end().text, broker)
    assert (found["source"], found["total_cost_usd"], found["partial"]) == ("openrouter", 0.75, False)
    assert found["tokens"] == {"prompt": 300, "completion": 30, "cached": 15, "cache_write": 0}
    assert found["milestones"]["M01-one"]["ids"] == found["unique_ids"] == found["fetched"] == len(Broker.asked) == 3
    assert {key for _, key in Broker.asked} == {"Bearer secret-key"}


def test_one_failed_lookup_leaves_a_partial_total_and_no_invented_price(registry: Path, broker: str) -> None:
    events = Pi().call("read", {"path": "a"}).call("read", {"path": "b"}).end().text
    Broker.status = {"gen-1": [404], "gen-4": [503, 200]}
    found = cost(registry, events, broker)
    assert (found["total_cost_usd"], found["partial"], found["failures"]) == (0.5, True, {"expired": 1})
    assert found["reason"] == "1 of 3 lookups failed"
    assert [ident for ident, _ in Broker.asked].count("gen-4") == 2


@pytest.mark.parametrize(("code", "named"), [(401, "auth"), (403, "auth"), (500, "http_500")])
def test_when_nothing_is_known_the_cost_is_null(registry: Path, broker: str, code: int, named: str) -> None:
    Broker.status = {"gen-1": [code], "gen-4": [code]}
    found = cost(registry, Pi().call("read", {"path": "a"}).end().text, broker)
    assert (found["total_cost_usd"], found["failures"], found["source"]) == (None, {named: 2}, "none")


def test_a_missing_key_is_said_before_anybody_is_asked(registry: Path, broker: str) -> None:
    path = log(registry.parent / "c.ndjson", ("M01-one", Pi().call("read", {"path": "a"}).end().text))
    work = find_work(registry, "b", None, None, Selection(log=path))
    with pytest.raises(ConfigError, match="BROKER_KEY is not set") as error:
        cost_document(work.entry, parts_of(work), endpoint=broker, provider=None, env={})
    assert error.value.exit_code == 2
    assert Broker.asked == []


def test_ids_of_another_provider_are_never_looked_up_and_its_price_never_printed(registry: Path, broker: str) -> None:
    found = cost(registry, stored("claude", "happy"), broker)
    assert Broker.asked == []
    assert (found["total_cost_usd"], found["source"], found["unique_ids"]) == (None, "worker-usage", 0)
    assert found["fallback_cost_usd"] == 0.01719
    assert "no bill" in found["fallback_label"]
    assert found["reason"] == "no provider is declared: name it by --provider"


def test_a_declared_provider_prices_answer_by_answer(registry: Path) -> None:
    listed = cost(
        registry, stored("claude", "happy"), provider=Provider(name="a", base_url="http://h", price="anthropic")
    )
    assert listed["total_cost_usd"] == pytest.approx(0.01719)
    assert listed["source"].startswith("genai-prices ")
    free = cost(registry, stored("claude", "happy"), provider=Provider(name="f", base_url="http://h", free=True))
    assert (free["total_cost_usd"], free["source"]) == (0.0, "free")
    unknown = cost(registry, stored("pi", "happy"), provider=Provider(name="u", base_url="http://h"))
    assert (unknown["total_cost_usd"], unknown["reason"]) == (None, "no price list for this provider")


def test_the_process_document_is_enough_to_ask_for_the_cost(registry: Path, broker: str, tmp_path: Path) -> None:
    stored_document = tmp_path / "process.json"
    stored_document.write_text(json.dumps(document(registry, log=shared(registry))))
    entry = Entry.model_validate({"id": "b", "source_repo": ".", "baseline": "x", "plan": "p", "scope_allowlist": [],
                                  "commands": {"ci": {"argv": ["true"]}}})  # fmt: skip
    parts = parts_of_document(stored_document)
    found = cost_document(entry, parts, endpoint=broker, provider=None, env={"OPENROUTER_API_KEY": "k"})
    assert (found["unique_ids"], found["fetched"]) == (3, 3)
    stored_document.write_text("{}")
    with pytest.raises(UsageError, match="no document of bench-score process"):
        parts_of_document(stored_document)


def test_the_commands_print_one_document(registry: Path) -> None:
    path = shared(registry)

    def score(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "runner.cli.main", "score", *arguments, "--benchmark", "b"]
        return subprocess.run([*command, "--registry", str(registry)], capture_output=True, text=True)

    done = score("process", "--log", str(path), "--branch", "bench/m")
    assert json.loads(done.stdout)["run"]["attempts_per_milestone"] == "2/1", done.stderr
    done = score("cost", "--log", str(path))
    assert done.returncode == 2
    assert "BROKER_KEY is not set" in done.stderr
    done = score("process")
    assert (done.returncode, done.stdout) == (2, "")
    assert "name --branch, or logs by --ndjson or --log" in done.stderr


# -- every agent's own log, named as one file


PRICED = Provider(name="a", base_url="http://h", price="anthropic")
NAMED = [
    row for row in EVERY if row[2] in ("bad_schema", "compact", "compact_window", "loop", "ctx_400_once", "refusal")
]


@pytest.mark.parametrize(("folder", "agent", "case"), NAMED, ids=[f"{a}-{c}" for _, a, c in NAMED])
def test_process_says_what_the_agents_own_log_says(registry: Path, folder: Path, agent: str, case: str) -> None:
    path = own(folder, agent, case)
    work = find_work(registry, "b", None, None, Selection(ndjson=[path]))
    found = process_document(work)
    trace = work.segments[0].trace
    assert trace
    summary = summarise(trace)
    (attempt,) = (one for milestone in found["milestones"].values() for one in milestone["log_attempts"])
    tokens = attempt["result_tokens"] or dict.fromkeys(("prompt", "completion", "cached", "cache_write"), 0)
    assert (attempt["tool_calls"], attempt["malformed_kinds"], attempt["longest_run"], attempt["compactions"]) == (
        summary.calls, summary.malformed, summary.longest_run, summary.compactions,
    )  # fmt: skip
    assert (tokens["prompt"], tokens["cached"], tokens["cache_write"], tokens["completion"]) == (
        summary.usage.uncached_input, summary.usage.cache_read, summary.usage.cache_write, summary.usage.output,
    )  # fmt: skip
    names = {"pi-old": "pi", "claude": "claude-code", "mini": "mini-swe-agent", "mini-responses": "mini-swe-agent"}
    assert found["run"]["schemas"] == [names.get(agent, agent)]
    date = found["run"]["date"]
    assert date is None or (len(date), date[10]) == (len("2026-09-17 04:03"), " ")


def test_a_rollout_alone_cannot_say_that_nothing_was_asked_again(registry: Path) -> None:
    path = next(own(*row) for row in EVERY if row[1:] == ("codex", "r429"))
    (attempt,) = process_document(find_work(registry, "b", None, None, Selection(ndjson=[path])))["milestones"][
        path.stem
    ]["log_attempts"]
    assert (attempt["freezes"], attempt["freeze_ms"]) == (None, None)


def by_list(registry: Path, path: Path) -> dict[str, Any]:
    work = find_work(registry, "b", None, None, Selection(ndjson=[path]))
    return cost_document(work.entry, parts_of(work), endpoint=None, provider=PRICED, env={})


def test_a_log_without_tokens_costs_an_unknown_sum_never_nothing(registry: Path) -> None:
    """Claude Code's stream, killed before its last word: no line of it says what an answer took."""
    lines = [line for line in stored("claude", "happy").splitlines() if '"type": "result"' not in line]
    path = registry.parent / "killed.ndjson"
    path.write_text("\n".join(lines))
    found = by_list(registry, path)
    assert (found["total_cost_usd"], found["tokens"]) == (None, None)
    assert "says nothing of tokens" in found["reason"]


def test_tokens_beside_the_work_leave_the_cost_partial(registry: Path) -> None:
    path = next(own(*row) for row in EVERY if row[1:] == ("claude", "compact"))
    found = by_list(registry, path)
    assert found["total_cost_usd"] > 0
    assert (found["partial"], found["reason"]) == (
        True, "1160 tokens of calls beside the work stand in the agent's totals alone",
    )  # fmt: skip


@pytest.mark.parametrize("content", ['{"type": "hello"}\n', "words\n", "", '{"trajectory_format": "other"}'])
def test_a_log_of_nobodys_is_an_error_for_both(registry: Path, content: str) -> None:
    path = registry.parent / "x.ndjson"
    path.write_text(content)
    with pytest.raises(LogError, match=r"^x\.ndjson: "):
        find_work(registry, "b", None, None, Selection(ndjson=[path]))
