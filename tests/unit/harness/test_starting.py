"""How each agent is told what to do: command line, environment, configuration; and what is refused."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from runner.errors import RigError, UsageError
from runner.gateway.providers import Provider
from runner.harness.base import Harness, HarnessPlan, Request, guard_version
from runner.harness.known import harness, shipped

IMAGES = Path(__file__).parents[3] / "images"
TOKEN = "bench-token-1"
ALL = list(shipped())


def ask(effort: str = "unknown", prompt: str = "do it", **provider: Any) -> Request:
    known = {"name": "p", "base_url": "http://h/v1", "context_window": 150_000, "max_tokens": 256}
    served = Provider.model_validate({**known, "protocols": ["chat", "responses", "anthropic"], **provider})
    return Request("http://127.0.0.1:4000", TOKEN, served, "meta/x", effort, prompt, session="M01-1")


def plan(name: str, effort: str = "unknown", **more: Any) -> HarnessPlan:
    return harness(name).prepare(ask(effort, **more))


def config(made: HarnessPlan, end: str) -> Any:
    (data,) = (data for path, data in made.files.items() if path.endswith(end))
    return tomllib.loads(data.decode()) if end.endswith(".toml") else json.loads(data)


@pytest.mark.parametrize("name", ALL)
def test_the_token_and_the_address_are_no_arguments(name: str) -> None:
    made = plan(name, "high")
    assert any(TOKEN in value for value in made.env.values())
    assert not any(TOKEN.encode() in data for data in made.files.values())
    told = " ".join([*made.env.values(), *(data.decode() for data in made.files.values())])
    assert "http://127.0.0.1:4000" in told
    assert TOKEN not in " ".join(made.argv)


@pytest.mark.parametrize("name", ALL)
def test_a_long_brief_reaches_it(name: str) -> None:
    """An argument may have 128 KiB at most."""
    brief = "long " * 60_000 + "END"
    made = plan(name, prompt=brief)
    assert all(len(word) < 10_000 for word in made.argv)
    assert brief.encode() == made.stdin or any(brief in data.decode() for data in made.files.values())


@pytest.mark.parametrize("name", ALL)
def test_all_that_it_leaves_is_under_its_home(name: str) -> None:
    made = plan(name)
    assert made.logs
    assert all(path.startswith("/home/contestant/") for path in [*made.logs, *made.files])


@pytest.mark.parametrize("name", ALL)
def test_the_program_is_in_what_is_copied(name: str) -> None:
    one = harness(name)
    assert one.layer is not None
    for argv in (plan(name).argv, one.version_argv):
        assert any(argv[0].startswith(f"{path}/") for path in one.layer.paths)
    dockerfile = (IMAGES / one.layer.context / "Dockerfile").read_text()
    assert one.pin in dockerfile, "the image must check the pin, too"


@pytest.mark.parametrize("name", ALL)
def test_the_version_must_be_the_pin(name: str) -> None:
    one = harness(name)
    for said in (one.pin, f"it is {one.pin} (Agent)\n", f"v {one.pin}."):
        assert guard_version(one, lambda _, said=said: said) == one.pin  # type: ignore[misc]
    for said in ("", "0.0.1", f"1{one.pin}", f"{one.pin}1", f"{one.pin}-beta", f"{one.pin}.1"):
        with pytest.raises(RigError, match=f"not the pinned {re.escape(one.pin)}"):
            guard_version(one, lambda _, said=said: said)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "serves"),
    [("claude-code", ["chat", "responses"]), ("codex", ["chat"]), ("mini-swe-agent", ["anthropic"])],
)
def test_a_provider_that_it_cannot_speak_with_is_refused(name: str, serves: list[str]) -> None:
    with pytest.raises(UsageError, match=rf"{name} speaks .* only, and the provider p serves .* — take --harness pi"):
        plan(name, protocols=serves)


@pytest.mark.parametrize(
    ("name", "words"), [("pi", {"ultra", "turbo"}), ("claude-code", {"none", "minimal", "ultra"}), ("codex", {"turbo"})]
)
def test_an_effort_that_it_lacks_is_refused(name: str, words: set[str]) -> None:
    for word in words:
        with pytest.raises(UsageError, match=f"{name} has no effort '{word}' — known are"):
            plan(name, word)


def test_the_first_protocol_that_both_know_is_spoken() -> None:
    made = plan("mini-swe-agent", protocols=["anthropic", "responses", "chat"])
    assert config(made, "run.yaml")["model"]["model_class"] == "litellm_response"
    assert made.argv[1] in made.files
    made = plan("mini-swe-agent", protocols=["anthropic", "chat", "responses"])
    assert config(made, "run.yaml")["model"]["model_class"] == "litellm"
    assert not any(path.endswith("start.py") for path in made.files)
    made = plan("opencode", protocols=["anthropic", "responses", "chat"])
    assert config(made, "opencode.json")["provider"]["bench"]["npm"] == "@ai-sdk/anthropic"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pi", "-p --mode json --provider bench --model meta/x --thinking high "
               "--session-dir /home/contestant/.bench/M01-1 --no-approve --no-mcp"),
        ("claude-code", "-p --model meta/x --output-format stream-json --verbose --dangerously-skip-permissions "
                        "--strict-mcp-config --no-chrome --effort high --autocompact 150000 "
                        "--disallowedTools WebSearch WebFetch"),
        ("codex", "exec --json --strict-config --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -"),
        ("mini-swe-agent", "-c mini.yaml -c /home/contestant/.bench-mini/run.yaml "
                           "-o /home/contestant/.bench/M01-1/traj.json"),
        ("opencode", "run --format json --pure --auto --model bench/meta/x --title bench --variant bench-high"),
    ],
)  # fmt: skip
def test_its_command_line_asks_no_question_and_says_where_the_log_goes(name: str, words: str) -> None:
    made = plan(name, "high")
    assert made.argv[1:] == words.split()
    told = [word for word in words.split() if word.startswith("/home/contestant/.bench/")]
    assert all(word == made.logs[0] or word.startswith(f"{made.logs[0]}/") for word in told)


def holds(whole: Any, part: Any) -> bool:
    """Whether all that ``part`` says stands in ``whole``, at the same places."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and holds(whole[key], part[key]) for key in part)
    return bool(whole == part)


CONFIGS = {"pi": "settings.json", "codex": "config.toml", "mini-swe-agent": "run.yaml", "opencode": "opencode.json"}
OFF = {"enabled": False}
SILENT = [
    ("pi", {"PI_OFFLINE": "1", "PI_TELEMETRY": "0", "PI_SKIP_VERSION_CHECK": "1"},
     {"enableInstallTelemetry": False, "enableAnalytics": False}),
    ("claude-code", {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
                     "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1"}, {}),
    ("codex", {}, {"check_for_update_on_startup": False, "analytics": OFF, "feedback": OFF,
                   "features": {"enable_request_compression": False, "plugins": False, "apps": False}}),
    ("mini-swe-agent", {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}, {}),
    ("opencode", {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
                  "OPENCODE_DISABLE_SHARE": "1"}, {"autoupdate": False, "share": "disabled"}),
]  # fmt: skip
QUIET = [
    ("mini-swe-agent",
     {"MSWEA_CONFIGURED": "true", "MSWEA_SILENT_STARTUP": "1", "MSWEA_COST_TRACKING": "ignore_errors"},
     {"agent": {"mode": "yolo", "confirm_exit": False}}),
    *((name, {"TERM": "dumb"}, {}) for name in ALL),
]  # fmt: skip
PATIENT = [  # a request is tried again in one place alone, and a slow model is waited for
    ("pi", {}, {"httpIdleTimeoutMs": "disabled"}),
    ("claude-code", {"CLAUDE_CODE_MAX_RETRIES": "5"}, {}),
    ("codex", {}, {"model_providers": {"bench": {"stream_max_retries": 5, "stream_idle_timeout_ms": 3_600_000,
                                                 "supports_websockets": False}}}),
    ("mini-swe-agent", {"MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "5"},
     {"model": {"model_kwargs": {"max_retries": 0}}, "environment": {"timeout": 600}}),
]  # fmt: skip
ADDRESSED = [
    ("pi", {"PI_CODING_AGENT_DIR": "/home/contestant/.pi/agent"}, {}),
    ("codex", {"CODEX_HOME": "/home/contestant/.codex"},
     {"model_provider": "bench", "model_providers": {"bench": {"env_key": "BENCH_RUN_TOKEN"}},
      "history": {"persistence": "none"}}),
    ("mini-swe-agent", {"MSWEA_GLOBAL_CONFIG_DIR": "/home/contestant/.bench-mini",
                        **dict.fromkeys(("OPENAI_API_BASE", "OPENAI_BASE_URL"), "http://127.0.0.1:4000/v1")},
     {"model": {"model_name": "openai/meta/x"}}),
]  # fmt: skip
HOLDS = [  # 150,000 tokens, of which an answer has 256 at most
    ("pi", {}, {"compaction": {"reserveTokens": 16_384, "keepRecentTokens": 20_000}}),
    ("claude-code", {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "256"}, {}),
    ("codex", {}, {"model_context_window": 150_000, "model_auto_compact_token_limit": 135_000}),
    ("mini-swe-agent", {}, {"model": {"model_kwargs": {"max_tokens": 256}}}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "env", "settings"), [*SILENT, *QUIET, *PATIENT, *ADDRESSED, *HOLDS])
def test_what_it_is_told(name: str, env: dict[str, str], settings: dict[str, Any]) -> None:
    made = plan(name, protocols=["chat", "responses", "anthropic"])
    assert holds(made.env, env)
    assert not settings or holds(config(made, CONFIGS[name]), settings)


@pytest.mark.parametrize("name", ALL)
def test_its_folders_are_there_before_it_starts_and_hold_what_it_writes(name: str) -> None:
    """An agent that makes no folder for its log has it made by a file of ours."""
    made = plan(name)
    if name in ("mini-swe-agent", "opencode"):
        assert made.files[f"{made.logs[0]}/.keep"] == b""
    folder = {"claude-code": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}.get(name)
    assert folder is None or made.logs[0] in (f"{made.env[folder]}/sessions", f"{made.env[folder]}/projects")


def test_nobody_lists_the_harnesses_in_vain() -> None:
    with pytest.raises(UsageError, match="known: pi, claude-code, codex, mini-swe-agent, opencode"):
        harness("cursor")


# -- each by itself


def test_claude_code_asks_no_other_model() -> None:
    made = plan("claude-code", "xhigh")
    others = [name for name, value in made.env.items() if value == "meta/x"]
    assert {"ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL"} <= set(others)
    assert made.argv[made.argv.index("--effort") + 1] == "xhigh"
    assert made.argv[made.argv.index("--autocompact") + 1] == "150000"
    assert made.argv[-3:] == ["--disallowedTools", "WebSearch", "WebFetch"]


@pytest.mark.parametrize("window", [32_768, 200_000, 1_000_000])
def test_claude_code_is_told_only_a_window_that_it_takes(window: int) -> None:
    assert "--autocompact" not in plan("claude-code", context_window=window).argv


def test_codex_is_configured_by_a_file() -> None:
    made = config(plan("codex", "ultra"), "config.toml")
    served = made["model_providers"]["bench"]
    assert (made["model"], made["model_reasoning_effort"], made["web_search"]) == ("meta/x", "ultra", "disabled")
    assert (served["wire_api"], served["base_url"]) == ("responses", "http://127.0.0.1:4000/v1")
    assert served["request_max_retries"] == 0
    assert not any(made["features"].values())
    assert "model_reasoning_effort" not in config(plan("codex"), "config.toml")


@pytest.mark.parametrize(
    ("dialect", "sent"),
    [
        ("generic", {"reasoning_effort": "low"}),
        ("openai", {"reasoning_effort": "low"}),
        ("openrouter", {"reasoning": {"effort": "low"}}),
    ],
)
def test_mini_swe_agent_sends_the_effort_as_the_provider_wants_it(dialect: str, sent: Any) -> None:
    made = config(plan("mini-swe-agent", "low", dialect=dialect), "run.yaml")
    assert made["model"]["model_kwargs"]["extra_body"] == sent
    assert made["agent"]["cost_limit"] == made["agent"]["step_limit"] == 0
    asked_nothing = config(plan("mini-swe-agent"), "run.yaml")
    assert "extra_body" not in asked_nothing["model"]["model_kwargs"]
    responses = config(plan("mini-swe-agent", "low", dialect=dialect, protocols=["responses"]), "run.yaml")["model"]
    assert responses["model_kwargs"]["extra_body"] == {"reasoning": {"effort": "low"}}
    assert "max_output_tokens" in responses["model_kwargs"]


def test_mini_swe_agent_gives_back_no_field_that_nobody_sent(tmp_path: Path) -> None:
    """What starts it on the Responses protocol, over a package that stands in for the agent's own."""
    fields = {"type": "message", "status": None, "content": [{"text": "hm", "logprobs": None, "n": 0}]}
    package = {
        "models/litellm_response_model.py": "class LitellmResponseModel:\n"
        "    def _prepare_messages_for_api(self, messages):\n        return messages\n",
        "run/mini.py": "import json\nfrom minisweagent.models.litellm_response_model import *\n"
        "def app(prog_name):\n"
        f"    print(prog_name, json.dumps(LitellmResponseModel()._prepare_messages_for_api([{fields!r}, 'x'])))\n",
    }  # fmt: skip
    for name, code in package.items():
        (tmp_path / "minisweagent" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "minisweagent" / name).write_text(code)
    made = plan("mini-swe-agent", protocols=["responses"])
    start = tmp_path / "start.py"
    start.write_bytes(made.files[made.argv[1]])
    said = subprocess.run([sys.executable, start], capture_output=True, text=True, check=True).stdout
    name, _, sent = said.partition(" ")
    assert (name, json.loads(sent)) == ("mini", [{"type": "message", "content": [{"text": "hm", "n": 0}]}, "x"])


@pytest.mark.parametrize(
    ("wire", "dialect", "option"),
    [
        ("chat", "generic", {"reasoningEffort": "low"}),
        ("chat", "openrouter", {"reasoning": {"effort": "low"}}),
        ("responses", "openai", {"reasoningEffort": "low"}),
        ("anthropic", "anthropic", {"effort": "low"}),
    ],
)
def test_opencode_has_a_variant_of_the_model(wire: str, dialect: str, option: Any) -> None:
    made = plan("opencode", "low", protocols=[wire], dialect=dialect)
    model = config(made, "opencode.json")["provider"]["bench"]["models"]["meta/x"]
    assert model["variants"] == {"bench-low": option}
    assert made.argv[-2:] == ["--variant", "bench-low"]
    assert "--title" in made.argv  # else it asks the model for one
    assert "variants" not in config(plan("opencode"), "opencode.json")["provider"]["bench"]["models"]["meta/x"]


@pytest.mark.parametrize("level", ["none", "minimal", "ultra"])
def test_opencode_is_asked_for_no_effort_that_its_client_refuses(level: str) -> None:
    """Its client for Anthropic's protocol ends at a level that it does not know: nothing is sent at all."""
    with pytest.raises(UsageError, match=rf"no effort '{level}' on Anthropic's protocol — known are low, "):
        plan("opencode", level, protocols=["anthropic"])
    assert plan("opencode", level, protocols=["chat"])


def test_every_npm_agent_is_fetched_by_the_same_npm() -> None:
    """One step of four builds, so that it runs once."""
    locks = {path.read_bytes() for path in IMAGES.glob("*/npm.lock")}
    assert len(locks) == 1


@pytest.mark.parametrize("lock", sorted(IMAGES.glob("*/*lock*")), ids=lambda path: "/".join(path.parts[-2:]))
def test_no_lock_names_an_address(lock: Path) -> None:
    urls = re.findall(r"https?://[^\s\"]+", lock.read_text())
    assert [url for url in urls if "registry" in url or "pypi" in url] == []


def test_harness_is_what_all_of_them_are() -> None:
    made: list[Harness] = [one() for one in shipped().values()]
    assert [one.name for one in made] == ALL
    assert len({one.layer.name for one in made if one.layer}) == len(made)


def test_mode_says_which_agents_can_start_others() -> None:
    assert {name: make().mode for name, make in shipped().items()} == {
        "pi": "single_agent",
        "claude-code": "adaptive",
        "codex": "adaptive",
        "mini-swe-agent": "single_agent",
        "opencode": "adaptive",
    }
