"""pi's logs (written by the real agent against a scripted model), and how it is told what to do."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from runner.errors import RigError, UsageError
from runner.gateway.providers import Provider
from runner.harness import pi_log, pi_rows
from runner.harness.base import Request, guard_version
from runner.harness.pi import Pi
from runner.harness.summary import LogError

LOGS = Path(__file__).parent / "logs" / "pi"

# case: turns, calls, malformed, failed tools, longest run | context errors, compactions, retries, errors | end
EXPECTED = {
    "happy": (4, 3, {}, 0, 1, 0, 0, 0, 0, "stop"),
    "happy_anthropic": (4, 3, {}, 0, 1, 0, 0, 0, 0, "stop"),
    "happy_responses": (4, 3, {}, 0, 1, 0, 0, 0, 0, "stop"),
    "parallel": (3, 4, {}, 0, 1, 0, 0, 0, 0, "stop"),
    "churn": (9, 8, {}, 0, 1, 0, 0, 0, 0, "stop"),
    "bad_json": (4, 3, {"json": 1}, 0, 1, 0, 0, 0, 0, "stop"),
    "unknown_tool": (4, 3, {"unknown_tool": 1}, 0, 1, 0, 0, 0, 0, "stop"),
    "tool_error": (6, 5, {}, 3, 1, 0, 0, 0, 0, "stop"),
    "loop": (13, 12, {}, 0, 12, 0, 0, 0, 0, "stop"),
    "compact": (8, 7, {}, 0, 1, 1, 1, 0, 1, "stop"),
    "ctx_400": (2, 2, {}, 0, 1, 1, 0, 0, 1, "error"),
    "e401": (0, 0, {}, 0, 0, 0, 0, 0, 1, "error"),
    "e500_forever": (0, 0, {}, 0, 0, 0, 0, 3, 4, "error"),
    "r429": (3, 2, {}, 0, 1, 0, 0, 2, 2, "stop"),
    "trunc": (3, 2, {}, 0, 1, 0, 0, 1, 1, "stop"),
    "max_tokens": (2, 1, {}, 0, 1, 0, 0, 0, 0, "length"),
}


def lay(folder: Path, name: str, *, session: bool = True) -> Path:
    shutil.copy(LOGS / f"{name}.stdout.jsonl", folder / "stdout.jsonl")
    if session:
        (folder / "session").mkdir()
        shutil.copy(LOGS / f"{name}.session.jsonl", folder / "session" / "s.jsonl")
    return folder


@pytest.mark.parametrize("session", [True, False], ids=["session file", "event stream alone"])
@pytest.mark.parametrize("name", EXPECTED)
def test_each_case_is_read(tmp_path: Path, name: str, session: bool) -> None:
    found = Pi().read_summary(lay(tmp_path, name, session=session))
    assert (
        found.turns,
        found.calls,
        found.malformed,
        found.failed_tools,
        found.longest_run,
        found.context_errors,
        found.compactions,
        found.retries,
        found.errors,
        found.stop,
    ) == EXPECTED[name]
    assert found.settled
    assert found.context_death is (name == "ctx_400")


def test_tokens_are_those_of_whole_answers(tmp_path: Path) -> None:
    usage = Pi().read_summary(lay(tmp_path, "happy")).usage
    assert (usage.uncached_input, usage.cache_read, usage.cache_write, usage.output) == (4060, 2400, 160, 246)
    assert usage.reasoning == 64


def test_reasoning_that_was_not_reported_is_unknown(tmp_path: Path) -> None:
    assert Pi().read_summary(lay(tmp_path, "happy_anthropic")).usage.reasoning is None


@pytest.mark.parametrize(("name", "level"), [("effort_off", "off"), ("effort_max", "high"), ("happy", "high")])
def test_the_logged_effort_is_where_it_stands(tmp_path: Path, name: str, level: str) -> None:
    identity = Pi().read_identity(lay(tmp_path, name))
    claim = identity.logged_effort
    assert claim
    assert claim.value == level
    line = (tmp_path / "session" / claim.file).read_text().split("\n")[claim.line - 1]
    assert json.loads(line)["message"]["thinkingLevel"] == level
    assert identity.requested_effort is None


def test_no_log_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="left no log"):
        Pi().read_summary(tmp_path)


@pytest.mark.parametrize(
    "lines",
    [
        ['{"type":"session","version":4}'],
        ['{"type":"hello"}'],
        ["not json"],
        ['{"type":"session","version":3}', '{"type":"telepathy"}'],
        ['{"type":"session","version":3}', '{"type":"model_change"}'],
    ],
)
def test_an_unknown_log_is_an_error(tmp_path: Path, lines: list[str]) -> None:
    (tmp_path / "s.jsonl").write_text("\n".join(lines))
    with pytest.raises(LogError):
        Pi().read_summary(tmp_path)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(min_value=0, max_value=12_000), rubbish=st.binary(max_size=40))
def test_a_torn_log_is_read_as_far_as_it_goes(tmp_path: Path, cut: int, rubbish: bytes) -> None:
    assume(b"}" not in rubbish)  # that could end the torn line, as a whole one of an unknown kind
    whole = (LOGS / "happy.session.jsonl").read_bytes()
    head = whole.split(b"\n", 4)
    keep = len(b"\n".join(head[:4])) + 1 + cut
    (tmp_path / "s.jsonl").write_bytes(whole[:keep] + rubbish.replace(b"\n", b""))
    found = Pi().read_summary(tmp_path)
    assert found.turns <= 4
    assert found.torn_lines <= 1


ANSWER = {"role": "assistant", "stopReason": "toolUse", "timestamp": 1_767_225_600_000,
          "content": [{"type": "toolCall", "id": "a", "name": "bash", "arguments": {"command": "make"}}]}  # fmt: skip
WORDS = [{"type": "text", "text": "no rule"}]
END = {"type": "tool_execution_end", "toolCallId": "a", "result": {"content": WORDS}, "isError": True, "durationMs": 20}
RESULT = {"type": "message_end", "message": {"role": "toolResult", "toolCallId": "a", "content": WORDS,
                                             "isError": True, "timestamp": 1_767_225_603_000}}  # fmt: skip


@pytest.mark.parametrize("told", [[END, RESULT], [RESULT, END], [RESULT, RESULT, END]])
def test_a_call_whose_end_is_told_twice_knows_when_it_ended_and_how_long_it_ran(
    tmp_path: Path, told: list[dict[str, object]]
) -> None:
    """By the tool's event, which knows how long it ran itself, and by the message with its result."""
    events = [{"type": "session", "version": 3}, {"type": "message_end", "message": ANSWER}, *told]
    (tmp_path / "stdout.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    (call,) = pi_log.read_trace(tmp_path).calls
    assert (call.ended, call.duration_ms, call.output, call.failed) == ("2026-01-01T00:00:03.000Z", 20, "no rule", True)


def test_a_call_whose_answer_was_lost_is_told_by_its_start(tmp_path: Path) -> None:
    whole = [json.loads(line) for line in (LOGS / "tool_error.stdout.jsonl").read_text().splitlines()]
    torn = [event for event in whole if event.get("message", {}).get("role") not in ("assistant", "toolResult")]
    for name, events in (("whole", whole), ("torn", torn)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "stdout.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    plain, found = (Pi().read_summary(tmp_path / name) for name in ("whole", "torn"))
    assert (found.turns, found.calls, found.failed_tools) == (0, plain.calls, plain.failed_tools)


# -- starting it


def ask(effort: str = "high", **provider: object) -> Request:
    known = {"name": "p", "base_url": "http://h/v1", "context_window": 8192, "max_tokens": 256}
    served = Provider.model_validate({**known, **provider})
    return Request("http://127.0.0.1:4000", "bench-token", served, "meta/x", effort, "do it")


def test_the_token_is_in_the_environment_alone() -> None:
    plan = Pi().prepare(ask())
    assert [name for name, value in plan.env.items() if "bench-token" in value] == ["BENCH_RUN_TOKEN"]
    assert not any(b"bench-token" in data for data in plan.files.values())
    assert "bench-token" not in " ".join(plan.argv)
    assert plan.stdin == b"do it"


@pytest.mark.parametrize(
    ("wire", "base", "api"),
    [
        ("chat", "http://127.0.0.1:4000/v1", "openai-completions"),
        ("responses", "http://127.0.0.1:4000/v1", "openai-responses"),
        ("anthropic", "http://127.0.0.1:4000", "anthropic-messages"),
    ],
)
def test_the_preferred_protocol_is_spoken(wire: str, base: str, api: str) -> None:
    provider = models(ask(protocols=[wire]))
    assert (provider["baseUrl"], provider["api"]) == (base, api)
    assert ("compat" in provider) is (wire == "chat")


@pytest.mark.parametrize(
    ("dialect", "own", "thinking"), [("generic", False, "openai"), ("openai", True, "openai"),
                                     ("openrouter", False, "openrouter")],
)  # fmt: skip
def test_chats_habits_are_those_of_the_provider_and_not_of_the_gateways_address(
    dialect: str, own: bool, thinking: str
) -> None:
    """Only OpenAI itself has stored answers, developers' words, and a limit that holds the thoughts as well."""
    assert models(ask(protocols=["chat"], dialect=dialect))["compat"] == {
        "supportsStore": own, "supportsDeveloperRole": own, "thinkingFormat": thinking,
        "maxTokensField": "max_completion_tokens" if own else "max_tokens",
        "supportsReasoningEffort": True, "supportsUsageInStreaming": True,
    }  # fmt: skip


@pytest.mark.parametrize(("window", "reserve", "recent"), [(8_192, 2_048, 4_096), (1_000_000, 16_384, 20_000)])
def test_it_compacts_within_the_window(window: int, reserve: int, recent: int) -> None:
    request = ask(context_window=window)
    model = models(request)["models"][0]
    assert (model["contextWindow"], model["maxTokens"]) == (window, 256)
    assert models(request)["apiKey"] == "$BENCH_RUN_TOKEN"
    settings = json.loads(Pi().prepare(request).files["/home/contestant/.pi/agent/settings.json"])
    assert settings["compaction"] == {"reserveTokens": reserve, "keepRecentTokens": recent}


def test_an_effort_that_was_not_asked_for_is_not_sent() -> None:
    assert models(ask("unknown"))["models"][0]["reasoning"] is False
    assert Pi().prepare(ask("unknown")).argv.count("off") == 1
    for effort, level in (("max", "max"), ("none", "off")):  # its own word, and what goes on the wire for it
        model = models(ask(effort))["models"][0]
        assert (model["reasoning"], model["thinkingLevelMap"]) == (True, {level: effort})


def test_an_effort_that_pi_lacks_is_refused() -> None:
    with pytest.raises(UsageError, match="pi has no effort 'ultra' — known are none, minimal, low"):
        Pi().prepare(ask("ultra"))


def test_the_version_must_be_the_pin() -> None:
    assert guard_version(Pi(), lambda _: "1.6.0\n") == "1.6.0"
    for said in ("0.74.2", "", "1.6.01", "pi 1.6.0-beta"):
        with pytest.raises(RigError, match=r"not the pinned 1\.6\.0"):
            guard_version(Pi(), lambda _, said=said: said)


def test_the_layer_is_two_lines_of_copying() -> None:
    assert Pi.layer.dockerfile() == (
        "ARG PARENT\nARG AGENT\nFROM ${AGENT} AS agent\nFROM ${PARENT}\nCOPY --from=agent /opt/pi /opt/pi\n"
    )


def models(request: Request) -> dict[str, object]:  # type: ignore[type-arg]
    files = {path.rpartition("/")[2]: data for path, data in Pi().prepare(request).files.items()}
    return json.loads(files["models.json"])["providers"]["bench"]


def test_what_is_kept_for_an_hour_is_told_apart() -> None:
    """Never more than what was written."""
    said = {"input": 10, "output": 5, "cacheRead": 1, "cacheWrite": 100, "cacheWrite1h": 60}
    kept = [pi_rows.usage_of(said | {"cacheWrite1h": hour}) for hour in (0, 60, 400)]
    assert [usage.cache_write_1h for usage in kept if usage] == [0, 60, 100]


def test_no_thought_in_no_words_and_an_unknown_one_in_some() -> None:
    usages = [pi_rows.usage_of({"input": 1, "output": number}) for number in (0, 5)]
    assert [usage.reasoning for usage in usages if usage] == [0, None]


def test_entries_of_one_id_that_were_written_at_other_times_are_two(tmp_path: Path) -> None:
    """Ids are short, and a session may be long."""
    entries = [{"type": "message", "id": "e", "timestamp": f"2026-01-01T00:00:0{n}.000Z",
                "message": {"role": "assistant", "stopReason": "stop", "timestamp": n}} for n in (1, 2, 2)]  # fmt: skip
    log = [{"type": "session", "version": 3}, *entries]
    (tmp_path / "1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in log))
    assert pi_log.read_summary(tmp_path).turns == 2


@pytest.mark.parametrize("session", [True, False])
def test_how_long_it_waits_before_it_asks_again_is_said_by_the_stream(tmp_path: Path, session: bool) -> None:
    retries = pi_log.read_trace(lay(tmp_path, "r429", session=session)).retries
    events = [json.loads(line) for line in (tmp_path / "stdout.jsonl").read_text().splitlines()]
    said = [event["delayMs"] for event in events if event["type"] == "auto_retry_start"]
    assert [retry.wait_ms for retry in retries] == said
    assert len(said) == 2


def test_a_run_without_an_answer_knows_the_model_it_was_started_with(tmp_path: Path) -> None:
    head = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-29T10:00:00Z"}
    change = {"type": "model_change", "id": "a", "provider": "p", "modelId": "m"}
    asked = {"type": "message", "id": "b", "message": {"role": "user", "content": "go"}}
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in (head, change, asked)))
    found = pi_log.read_identity(tmp_path)
    assert found.logged_model is not None
    assert (found.logged_model.value, found.logged_model.line) == ("m", 2)


def test_a_helpers_model_is_not_the_runs_but_where_nobody_else_spoke(tmp_path: Path) -> None:
    def said(model: str, **tag: Any) -> dict[str, Any]:
        words = {"role": "assistant", "model": model, "provider": model, "thinkingLevel": model, "stopReason": "stop"}
        return {"type": "message_end", "message": {**words, "content": []}, **tag}

    head = {"type": "session", "version": 3, "id": "s"}
    helper = said("small", agent="worker", agentRun=1)
    for log, name in (([said("large"), helper], "large"), ([helper, said("large")], "large"), ([helper], "small")):
        (tmp_path / "stdout.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [head, *log]))
        found = pi_log.read_identity(tmp_path)
        claims = (found.logged_model, found.logged_provider, found.logged_effort)
        assert [claim and claim.value for claim in claims] == [name] * 3
