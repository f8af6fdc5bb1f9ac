"""``bench run`` with every agent: both milestones of the tiny benchmark, sealed, through the real gateway."""

from __future__ import annotations

import json
import shutil

import pytest
import yaml

from tests.integration.main.conftest import KEY, ROOT, Bench, run_id_of
from tests.integration.main.test_agents import stub as stub
from tests.support.stub_llm import StubServer

LIMITS = {"attempt_wall_s": 240, "run_wall_s": 900, "memory_mb": 1024, "disk_mb": 256, "pids": 256, "requests": 40}
LOGS = {"claude-code": "*/*.jsonl", "codex": "*/*/*/rollout-*.jsonl", "mini-swe-agent": "traj.json",
        "opencode": "opencode.db", "described": "*/*/*/rollout-*.jsonl"}  # fmt: skip
DESCRIBED = {
    "version": "0.171.0",
    "version_argv": ["/opt/codex/bin/codex", "--version"],
    "image": {"context": "described"},
    "paths": ["/opt/codex"],
    "protocols": ["responses"],
    "efforts": {"high": "high"},
    "argv": ["/opt/codex/bin/codex", "exec", "--json", "--skip-git-repo-check",
             "--dangerously-bypass-approvals-and-sandbox", ["-c", "model_reasoning_effort={effort}"], "-"],
    "stdin": True,
    "env": {"BENCH_RUN_TOKEN": "{token}", "CODEX_HOME": "{home}/.codex"},
    "files": {"{home}/.codex/config.toml": 'model = "{model}"\nmodel_provider = "gate"\nweb_search = "disabled"\n'
              '[model_providers.gate]\nname = "gate"\nbase_url = "{url}/v1"\nenv_key = "BENCH_RUN_TOKEN"\n'
              'wire_api = "responses"\nsupports_websockets = false\n'},
    "logs": ["{home}/.codex/sessions"],
    "log_format": "codex",
}  # fmt: skip


@pytest.mark.parametrize("name", list(LOGS))
def test_an_agent_solves_both_milestones(bench: Bench, stub: StubServer, name: str) -> None:
    bench.change(limits=LIMITS)
    bench.env |= {"LLAMA_LOCAL_URL": stub.url("tiny", name), "LLAMA_LOCAL_KEY": KEY}
    providers = yaml.safe_load((ROOT / "registry" / "providers.yaml").read_text())
    providers["providers"]["llama-local"]["protocols"] = ["chat", "responses", "anthropic"]
    (bench.home / "providers.yaml").write_text(yaml.safe_dump(providers))
    shutil.copytree(ROOT / "images" / "codex", bench.home / "described")
    (bench.home / "harnesses.yaml").write_text(yaml.safe_dump({"harnesses": {"described": DESCRIBED}}))
    model = "claude-opus-4-6" if name == "claude-code" else "stub-model"
    arguments = ("run", "tiny", "--registry", str(bench.index), "--json", "-m", f"llama-local/{model}")
    done = bench(*arguments, "--harness", name, "--effort", "high", timeout=600)
    assert done.code == 0, done.err
    (row,) = done.document["rows"]
    assert (row["cells"]["outcome"], row["cells"]["att"]) == ("pass", "1/1"), row["result"]["detail"]
    assert row["cells"]["harness"].startswith(name)
    (folder,) = bench.run_dirs()
    assert run_id_of(folder)
    for attempt in ("M01-1", "M02-1"):
        assert list((folder / "agent" / attempt).glob(LOGS[name])), attempt
    lock = json.loads((folder / "lock.json").read_text())
    assert lock["log_format"] == {"described": "codex"}.get(name, name)
    told = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert {event["attempt"] for event in told if event["kind"] == "tool_call"} == {1}, "its log was not read"
    lines = [json.loads(line) for line in (folder / "gateway.jsonl").read_text().splitlines()]
    assert {line["effort_wire"] for line in lines} == {"high"}
    assert not [path for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
