"""A helper, or a call beside the work, says nothing of the run: no model, window, prompt or effort, and no end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.harness import claude_log, codex_log, opencode_log, pi_log
from runner.harness.summary import Claim
from tests.unit.harness.test_codex import answered, begins, ends
from tests.unit.harness.test_opencode import row, said
from tests.unit.harness.test_versions import block, codex, lines


def values(*claims: Claim | None) -> list[str | None]:
    return [claim and claim.value for claim in claims]


def rollout(second: int, name: str, window: int, **source: Any) -> list[dict[str, Any]]:
    """A thread of one turn whose every word is ``name``."""
    return [
        codex("session_meta", second, id=name, model_provider=name, cli_version=name, **source),
        codex("event_msg", second + 1, type="task_started", turn_id=name, model_context_window=window),
        codex("turn_context", second + 2, turn_id=name, model=name, effort=name),
        answered(second + 3, response_id=name),
        ends(second + 4, name),
    ]


HELPER: dict[str, Any] = {"source": {"subagent": "review"}, "agent_nickname": "h"}


@pytest.mark.parametrize("order", ["after", "before"])
def test_codexs_helper_is_not_the_run(tmp_path: Path, order: str) -> None:
    lines(tmp_path / "rollout-1.jsonl", *rollout(10, "own", 200))
    lines(tmp_path / "rollout-2.jsonl", *rollout(20 if order == "after" else 0, "small", 50, **HELPER))
    found = codex_log.read_identity(tmp_path)
    claims = (found.logged_model, found.logged_effort, found.logged_provider, found.logged_context_window)
    assert values(*claims, found.logged_version) == ["own", "own", "own", "200", "own"]


def test_where_only_codexs_helper_left_a_log_its_program_is_known(tmp_path: Path) -> None:
    lines(tmp_path / "rollout-2.jsonl", *rollout(20, "small", 50, **HELPER))
    found = codex_log.read_identity(tmp_path)
    assert values(found.logged_version, found.logged_model) == ["small", None]


def test_a_thread_that_names_no_model_has_not_its_helpers(tmp_path: Path) -> None:
    lines(tmp_path / "rollout-1.jsonl", *rollout(10, "small", 50, **HELPER))
    meta, begun, _, answer, end = rollout(20, "own", 200)
    lines(tmp_path / "rollout-2.jsonl", meta, begun, answer, end)
    models = {answer.stream: (answer.model, answer.effort) for answer in codex_log.read_trace(tmp_path).answers}
    assert models == {"h": ("small", "small"), "": (None, None)}


def test_what_a_helper_did_last_is_no_summary_of_anothers_thread(tmp_path: Path) -> None:
    """Each file's first compaction is about that file."""
    quiet = [codex("session_meta", 0, id="a"), begins(1, "a"), answered(2, response_id="a")]
    lines(tmp_path / "rollout-1.jsonl", *quiet)
    lines(tmp_path / "rollout-2.jsonl", codex("session_meta", 5, id="b"), codex("compacted", 6, message=""))
    trace = codex_log.read_trace(tmp_path)
    assert [answer.side for answer in trace.answers] == [True]  # nothing was said in it at all
    said = codex("response_item", 2, type="message", role="assistant")
    lines(tmp_path / "rollout-1.jsonl", *quiet[:2], said, *quiet[2:])
    assert [answer.side for answer in codex_log.read_trace(tmp_path).answers] == [False]


@pytest.mark.parametrize("beside", [{"isSidechain": True, "agentId": "h"}, {}])
def test_claudes_window_is_that_of_its_own_model(tmp_path: Path, beside: dict[str, Any]) -> None:
    """The totals name all models that were asked, a helper's or that of a title first."""
    used = {"inputTokens": 1, "outputTokens": 1}
    total = {"haiku": {**used, "contextWindow": 200_000}, "opus": {**used, "contextWindow": 1_000_000}}
    last = {"type": "result", "session_id": "s", "subtype": "success", "modelUsage": total}
    own = {"type": "assistant", "session_id": "s", "message": {"id": "m", "model": "opus", "content": []}}
    head = {"type": "system", "subtype": "init", "session_id": "s", "model": "opus[1m]"}
    for log, window in (([head, own], "1000000"), ([head], "1000000"), ([], None)):
        lines(tmp_path / "stdout.jsonl", *log, last)
        assert values(claude_log.read_identity(tmp_path).logged_context_window) == [window]
    lines(tmp_path / "stdout.jsonl", {**last, "modelUsage": {"haiku": total["haiku"]}})
    assert values(claude_log.read_identity(tmp_path).logged_context_window) == ["200000"]


@pytest.mark.parametrize(
    "source", ["compact", "generate_session_title", "prompt_suggestion", "hook_agent", "side_question"]
)
def test_what_claude_asks_beside_the_work_is_not_its_effort(tmp_path: Path, source: str) -> None:
    def request(effort: str, source: str) -> dict[str, Any]:
        params = {"output_config": {"effort": effort}}
        return {"type": "api-request", "sessionId": "s", "params": params, "querySource": source}

    beside = request("low", source)
    for own in ("sdk", "repl_main_thread", "repl_main_thread:outputStyle:x"):
        for log in ([request("high", own), beside], [beside, request("high", own)]):
            lines(tmp_path / "1.jsonl", *log, block("a", "m1"))
            assert values(claude_log.read_trace(tmp_path).effort) == ["high"]
    lines(tmp_path / "1.jsonl", beside, block("a", "m1"))
    assert values(claude_log.read_trace(tmp_path).effort) == [None]


def spoke(model: str, *, level: str | None = None, stop: str = "stop", **tag: Any) -> dict[str, Any]:
    words = {"role": "assistant", "model": model, "stopReason": stop, "content": [], "usage": {"output": 1}}
    return {"type": "message_end", "message": {**words, **({"thinkingLevel": level} if level else {})}, **tag}


def events(tmp_path: Path, *log: dict[str, Any]) -> Path:
    head = {"type": "session", "version": 3, "id": "s"}
    (tmp_path / "stdout.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [head, *log]))
    return tmp_path


TAG = {"agent": "worker", "agentRun": 1}


def test_pis_helper_has_a_prompt_and_an_effort_of_its_own(tmp_path: Path) -> None:
    def prompt(words: str, **tag: Any) -> dict[str, Any]:
        return {"type": "message_end", "message": {"role": "system", "content": words}, **tag}

    own = [prompt("own"), spoke("large")]
    alone = pi_log.read_identity(events(tmp_path, *own))
    for log in ([*own, prompt("other", **TAG), spoke("small", level="low", **TAG)],
                [prompt("other", **TAG), spoke("small", level="low", **TAG), *own]):  # fmt: skip
        found = pi_log.read_identity(events(tmp_path, *log))
        assert values(found.logged_prompt, found.logged_model) == values(alone.logged_prompt, alone.logged_model)
        assert found.logged_effort is None


def test_what_pis_helper_gave_up_was_not_asked_again_by_the_run(tmp_path: Path) -> None:
    """Where no retry is announced: each asks again for itself."""
    busy = spoke("small", stop="error", **TAG)
    asked = {"type": "message_end", "message": {"role": "user", "content": "go"}, **TAG}
    for log, retries in (
        ([spoke("large"), busy, spoke("large")], 0),
        ([spoke("large"), busy, spoke("small", **TAG), spoke("large")], 1),
        ([spoke("large", stop="error"), asked, spoke("small", **TAG), spoke("large")], 1),
    ):
        assert pi_log.read_summary(events(tmp_path, *log)).retries == retries


def test_the_model_that_makes_opencodes_summaries_is_not_the_runs(tmp_path: Path) -> None:
    own = said("a", finish="stop", modelID="large", providerID="p", variant="high")
    summary = said("b", at=2, finish="stop", modelID="small", providerID="q", summary=True, variant="low")
    for log in ([own, summary], [summary, own]):
        lines(tmp_path / "1.jsonl", row("session", "s"), *log)
        found = opencode_log.read_identity(tmp_path)
        claims = values(found.logged_model, found.logged_provider, found.logged_effort)
        assert claims == ["large", "p", "high"]
        trace = opencode_log.read_trace(tmp_path)
        assert (trace.stop, sum(answer.side for answer in trace.answers)) == ("stop", 1)


def test_a_summary_that_fails_is_the_end_where_nothing_follows(tmp_path: Path) -> None:
    own = said("a", finish="tool-calls", modelID="large")
    summary = said("b", at=2, summary=True, error={"name": "ContextOverflowError"})
    lines(tmp_path / "1.jsonl", row("session", "s"), own, summary)
    found = opencode_log.read_summary(tmp_path)
    assert (found.stop, found.context_death, found.settled) == ("error", True, False)


@pytest.mark.parametrize("helper", [True, False])
def test_beside_a_session_the_stream_says_how_the_run_waited_and_rested_and_not_a_helper(
    tmp_path: Path, helper: bool
) -> None:
    def told(**event: Any) -> dict[str, Any]:
        return {**event, **(TAG if helper else {})}

    head = {"type": "session", "version": 3, "id": "s"}
    said = [spoke("large", stop="error")["message"], spoke("large")["message"]]
    lines(
        tmp_path / "s.jsonl", head, *({"type": "message", "id": str(n), "message": one} for n, one in enumerate(said))
    )
    events(tmp_path, {"type": "agent_start"}, told(type="auto_retry_start", delayMs=9000),
           {"type": "auto_retry_start", "delayMs": 2000}, told(type="agent_settled"))  # fmt: skip
    trace = pi_log.read_trace(tmp_path)
    assert ([retry.wait_ms for retry in trace.retries], trace.settled) == ([2000 if helper else 9000], not helper)
