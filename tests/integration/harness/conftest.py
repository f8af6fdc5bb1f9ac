"""An agent in a sealed pod, a gateway on the host, a stub model server behind it.

A pod is opened once per agent and protocol, and swept between cases: HOME and work tree are empty again.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runner.gateway.client import Gateway, RunDoor
from runner.gateway.limits import Caps
from runner.gateway.providers import Provider
from runner.gateway.totals import read_ledger
from runner.harness.base import Harness, Request, guard_version, under_folders
from runner.harness.layer import ensure_agent, ensure_layered
from runner.sandbox.baseimage import ensure_base, ensure_trusted
from runner.sandbox.box import Box, ExecResult
from runner.sandbox.engine import Engine
from runner.sandbox.pod import Pod, PodSpec
from runner.schema.ledger import LedgerLine, LedgerTotals
from runner.sprint.agent import Stop
from tests.support.stub_llm import StubServer

IMAGES = Path(__file__).parents[3] / "images"
USER = "1000:1000"
PROMPT = "Create hello.py that prints a greeting, run it, and check the file."
SWEEP = "find /home/contestant /tmp -mindepth 1 -delete; rm -rf /work/repo && git init -q /work/repo"
ATTEMPT_REQUESTS = 5
MODEL = {"claude-code": "claude-opus-4-6"}
"""Claude Code decides by the model's name what it sends."""


@dataclass
class Driven:
    """What came of one start of an agent."""

    result: ExecResult
    totals: LedgerTotals
    lines: list[LedgerLine]
    logs: Path
    request: Request
    box: Box
    asked: list[dict[str, Any]] = field(repr=False)
    """What the stub was asked, in order."""


@dataclass
class Stage:
    """One agent on one protocol of one provider; its pod stays."""

    harness: Harness
    provider: Provider
    model: str
    run_id: str
    door: RunDoor
    ledger: Path
    pod: Pod
    image: str
    box: Box | None = None

    def fresh(self) -> Box:
        if self.box is None:
            self.box = self.pod.contestant(self.image)
            box = self.box
            guard_version(self.harness, lambda argv: box.exec(argv, timeout_s=60, user=USER).stdout.decode())
        self.box.exec(["sh", "-c", SWEEP], timeout_s=30, user=USER)
        return self.box


Drive = Callable[..., Driven]


class Stages:
    """All pods of a session, opened when they are first needed."""

    def __init__(self, engine: Engine, gateway: Gateway, stub: StubServer, folder: Path) -> None:
        self._engine, self._gateway, self._stub, self._folder = engine, gateway, stub, folder
        self._stages: dict[str, Stage] = {}
        self._numbers = itertools.count(1)
        self._base = ensure_base(engine, log=print)
        self._trusted = ensure_trusted(engine, self._base, log=print).tag

    def close(self) -> None:
        for stage in self._stages.values():
            assert stage.pod.close() == []
            stage.door.close()

    def stage(self, harness: Harness, provider: Provider | None, model: str, caps: Caps, **fields: Any) -> Stage:
        known = f"{harness.name}-{len(self._stages)}"
        key = "/".join(map(str, [harness.name, harness.version, provider and provider.name, model, caps, fields]))
        if key in self._stages:
            return self._stages[key]
        if provider is None:
            entry = {"name": "stub", "base_url": self._stub.url("any", known), "key_env": "STUB_KEY", **fields}
            provider = Provider.model_validate(entry)
        ledger = self._folder / known / "gateway.jsonl"
        door = self._gateway.open_run(known, provider, model, caps, ledger)
        spec = PodSpec(known, self._trusted, deadline_s=5400, gateway_socket_dir=door.socket_dir)
        pod = Pod(self._engine, spec)
        agent = ensure_agent(self._engine, harness.layer, IMAGES, self._base.tag, log=print)
        image = ensure_layered(self._engine, harness.layer, agent, self._base.tag, log=print).tag
        stage = Stage(harness, provider, model, known, door, ledger, pod, image)
        pod.__enter__()
        self._stages[key] = stage
        return stage

    def drive(
        self,
        harness: Harness,
        scenario: str = "happy",
        *,
        provider: Provider | None = None,
        model: str | None = None,
        effort: str = "unknown",
        prompt: str = PROMPT,
        caps: Caps | None = None,
        timeout_s: float = 90,
        **fields: Any,
    ) -> Driven:
        """Let ``harness`` loose on a scenario of the stub (or on a provider of its own)."""
        if "protocols" not in fields and provider is None:
            fields["protocols"] = [harness.speaks[0]]
        model = model or MODEL.get(harness.name, "stub-model")
        caps = caps or Caps(attempt=Caps(requests=ATTEMPT_REQUESTS))
        stage = self.stage(harness, provider, model, caps, **fields)
        box = stage.fresh()
        number = next(self._numbers)
        label = f"M01-{number}"
        self._stub.play(stage.run_id, scenario)
        seen = len(self._stub.seen)
        asked = Request("http://127.0.0.1:4000", stage.door.token, stage.provider, model, effort, prompt, session=label)
        plan = harness.prepare(asked)
        for folder, files in under_folders(plan.files).items():
            box.put(files, folder, user=USER)
        self._gateway.begin_attempt(stage.run_id, label)
        logs = self._folder / f"{number}-{harness.name}-{scenario}"
        logs.mkdir()
        result = box.exec(
            plan.argv,
            timeout_s=timeout_s,
            cwd=plan.cwd,
            env=plan.env,
            user=USER,
            stdin=plan.stdin or b"",
            stdout_to=logs / "stdout.jsonl",
            stderr_to=logs / "stderr.txt",
            cancel=Stop(threading.Event(), stage.door.capped),
        )
        totals = self._gateway.end_attempt(stage.run_id)
        if result.timed_out:
            stage.box = None
        assert stage.pod.attic is not None
        for path in plan.logs:
            stage.pod.attic.get_tree(path, logs, limit_bytes=64 << 20, limit_files=1000)
        lines = [line for line in read_ledger(stage.ledger) if line.attempt == label]
        return Driven(result, totals, lines, logs, asked, box, self._stub.seen[seen:])


@pytest.fixture(scope="session")
def stages(
    engine: Engine, gateway: Gateway, stub: StubServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stages]:
    opened = Stages(engine, gateway, stub, tmp_path_factory.mktemp("stages"))
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def drive(stages: Stages) -> Drive:
    return stages.drive
