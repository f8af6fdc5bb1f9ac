"""A run's folder made from stored logs of a real agent and of the wire beside them."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runner.schema.arm import Arm, Mode
from runner.schema.ledger import LedgerLine, Usage
from runner.schema.run import RunLock
from runner.store.files import append_line
from runner.store.rundir import RunDir
from tests.support.seedlog import LOGS

OUTCOMES = {"ok": "answered", "truncated": "cut"}
HARNESS = {"claude": "claude-code", "mini": "mini-swe-agent"}
VERSIONS = {"pi": "1.6.0", "claude": "2.1.332", "codex": "0.171.0", "mini": "2.4.6"}


def effort_word(said: dict[str, Any]) -> str | None:
    """As the gateway words it."""
    if "budget_tokens" in said.get("thinking", {}) and "output_config" not in said:
        return f"budget_tokens={said['thinking']['budget_tokens']}"
    return said.get("reasoning_effort") or said.get("reasoning", said.get("output_config", {})).get("effort")


def ledger_line(said: dict[str, Any], seq: int, attempt: str, **more: Any) -> LedgerLine:
    outcome = OUTCOMES.get(said["answer"], "error")
    used = said.get("usage", {})
    usage = None
    if outcome != "error":
        usage = Usage(uncached_input=used["input"], cache_read=used["cache_read"], cache_write=used["cache_write"],
                      output=used["output"], reasoning=used.get("reasoning"))  # fmt: skip
    at = datetime.fromtimestamp(said["t"], UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    facts: dict[str, Any] = {
        "time": at, "run_id": "r", "attempt": attempt, "seq": seq, "protocol": said["proto"], "path": "POST /x",
        "model_asked": said["model"], "model_served": said["model"] if usage else None, "status": said.get("status", 0),
        "response_id": said["response_id"] if usage else None, "outcome": outcome, "usage": usage,
        "price_usd": 0.01 if usage else 0.0, "price_source": "test", "latency_ms": 5.0, "request_bytes": said["bytes"],
        "response_bytes": 10, "effort_wire": effort_word(said["effort"]),
        "context": outcome == "error" and said.get("status") == 400, "cut": outcome == "cut",
        "fault": f"HTTP {said.get('status')}" if outcome == "error" else None,
    }  # fmt: skip
    return LedgerLine(**(facts | more))


def stored_run(
    folder: Path, agent: str, *cases: str, effort: str = "high", model: str = "stub-model", mode: Mode = "unknown"
) -> RunDir:
    """One attempt of milestone M01 per case; the controller's clock is that of the logs."""
    lock = RunLock(
        run_id="r", sample=1, benchmark="b", benchmark_hash="h", baseline="c", branch="bench/x", images={}, limits={},
        attempts=len(cases), environment={}, runner_version="0", formula="runner-1", templates="t", series="s",
        arm=Arm(provider="p", model=model, harness=HARNESS.get(agent, agent), harness_version=VERSIONS[agent],
                effort=effort, mode=mode),
    )  # fmt: skip
    run = RunDir.create(folder, "r", lock)
    run.event("run_start", benchmark="b", arm="p/m", sample=1)
    seq = 0
    for number, case in enumerate(cases, 1):
        logs = run.agent / f"M01-{number}"
        logs.mkdir()
        for kind in ("session.jsonl", "traj.json", "db.jsonl", "stdout.jsonl"):
            source = LOGS / agent / f"{case}.{kind}"
            if source.exists():
                target = logs / "own" / kind if kind != "stdout.jsonl" else logs / kind
                target.parent.mkdir(exist_ok=True)
                shutil.copy(source, target)
        for line in (LOGS / agent / f"{case}.journal.jsonl").read_text().splitlines():
            seq += 1
            append_line(run.ledger, ledger_line(json.loads(line), seq, f"M01-{number}"))
    return run
