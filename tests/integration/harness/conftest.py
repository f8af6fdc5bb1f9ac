"""An agent in a sealed pod, a gateway on the host, a stub model server behind it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from runner.gateway.client import Gateway
from runner.gateway.limits import Caps
from runner.gateway.providers import Provider
from runner.gateway.totals import read_ledger
from runner.harness.base import Harness, Request, guard_version
from runner.harness.layer import ensure_agent, ensure_layered
from runner.harness.pi import Pi
from runner.sandbox.baseimage import ensure_base, ensure_trusted
from runner.sandbox.box import Box, ExecResult
from runner.sandbox.engine import Engine, connect
from runner.sandbox.pod import Pod, PodSpec
from runner.schema.ledger import LedgerLine, LedgerTotals
from tests.support.stub_llm import StubServer

KEY = "sk-live-THE-REAL-KEY/0123456789+abc="
IMAGES = Path(__file__).parents[3] / "images"


@dataclass
class Driven:
    """What came of one start of an agent."""

    result: ExecResult
    totals: LedgerTotals
    lines: list[LedgerLine]
    logs: Path
    request: Request
    box: Box
    inspect: str


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    with connect() as opened:
        yield opened


@pytest.fixture(scope="session")
def stub() -> Iterator[StubServer]:
    with StubServer() as server:
        yield server


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    log = tmp_path_factory.mktemp("gateway") / "gateway.log"
    with Gateway(log=log, env={**os.environ, "STUB_KEY": KEY}) as running:
        yield running


@pytest.fixture(scope="session")
def pi_image(engine: Engine) -> str:
    base = ensure_base(engine, log=print)
    agent = ensure_agent(engine, Pi.layer, IMAGES, base.tag, log=print)
    return ensure_layered(engine, Pi.layer, agent, base.tag, log=print).tag


Drive = Callable[..., Driven]


@pytest.fixture
def drive(
    engine: Engine, gateway: Gateway, stub: StubServer, pi_image: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Drive]:
    """Let an agent loose on a scenario (or on a provider of its own) in a pod of its own."""
    trusted = ensure_trusted(engine, ensure_base(engine, log=print), log=print).tag
    pods: list[Pod] = []

    def drive(
        scenario: str = "happy",
        *,
        harness: Harness | None = None,
        provider: Provider | None = None,
        model: str = "stub-model",
        effort: str = "unknown",
        prompt: str = "Create hello.py that prints a greeting, run it, and check the file.",
        caps: Caps | None = None,
        timeout_s: float = 120,
        **fields: object,
    ) -> Driven:
        harness = harness or Pi()
        run_id = f"{request.node.name}-{len(pods)}"
        if provider is None:
            known = {"name": "stub", "base_url": stub.url(scenario, str(abs(hash(run_id)))), "key_env": "STUB_KEY"}
            provider = Provider.model_validate({**known, **fields})
        ledger = tmp_path / "gateway.jsonl"
        door = gateway.open_run(run_id, provider, model, caps or Caps(), ledger)
        pod = Pod(engine, PodSpec(run_id, trusted, deadline_s=timeout_s + 60, gateway_socket_dir=door.socket_dir))
        pods.append(pod)
        pod.__enter__()
        box = pod.contestant(pi_image)
        guard_version(harness, lambda argv: box.exec(argv, timeout_s=30).stdout.decode())
        asked = Request("http://127.0.0.1:4000", door.token, provider, model, effort, prompt, session="M01-1")
        plan = harness.prepare(asked)
        box.exec(["mkdir", "-p", plan.cwd], timeout_s=10)
        box.put({path.lstrip("/"): data for path, data in plan.files.items()}, "/")
        gateway.begin_attempt(run_id, "M01/1")
        logs = tmp_path / "agent"
        logs.mkdir()
        result = box.exec(
            plan.argv,
            timeout_s=timeout_s,
            cwd=plan.cwd,
            env=plan.env,
            stdin=plan.stdin,
            stdout_to=logs / "stdout.jsonl",
            stderr_to=logs / "stderr.txt",
        )
        totals = gateway.end_attempt(run_id)
        assert pod.attic is not None
        for path in plan.logs:
            pod.attic.get_tree(path, logs / Path(path).name, limit_bytes=64 << 20, limit_files=1000)
        inspect = str(engine.api.inspect_container(box.id)) if not result.timed_out else ""
        door.close()
        return Driven(result, totals, read_ledger(ledger), logs, asked, box, inspect)

    yield drive
    for pod in pods:
        assert pod.close() == []
