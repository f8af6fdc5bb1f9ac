"""A gateway, a stub model server behind it, and an agent's end to speak through."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runner.errors import RigError
from runner.gateway.client import Gateway, RunDoor
from runner.gateway.limits import Caps
from runner.gateway.providers import Provider
from runner.gateway.totals import read_ledger
from runner.schema.ledger import LedgerLine
from tests.integration.conftest import KEY as KEY
from tests.support.stub_llm import StubServer

MODEL = "stub-model"
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "anthropic": "/v1/messages"}


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket, as the relay in a pod does it."""

    def __init__(self, path: Path, timeout: float = 20) -> None:
        super().__init__("gateway", timeout=timeout)
        self.path = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Agent:
    """The contestant's side of one door."""

    run_id: str
    door: RunDoor
    ledger: Path

    def connection(self, timeout: float = 20) -> UnixConnection:
        return UnixConnection(self.door.socket_dir / "gw.sock", timeout)

    def post(self, wire: str = "chat", *, stream: bool = False, timeout: float = 20, **more: Any) -> Reply:
        body = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}], **more}
        if stream:
            body["stream"] = True
        return self.send("POST", PATHS[wire], json.dumps(body).encode(), timeout=timeout)

    def send(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None, timeout: float = 20
    ) -> Reply:
        connection = self.connection(timeout)
        given = {"authorization": f"Bearer {self.door.token}", "content-type": "application/json"}
        connection.request(method, path, body, given if headers is None else headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, data)

    def lines(self) -> list[LedgerLine]:
        return read_ledger(self.ledger)

    def own(self) -> list[LedgerLine]:
        """The lines of its own requests: not those that the gateway made itself."""
        return [line for line in self.lines() if not line.ours]


Open = Callable[..., Agent]


@pytest.fixture
def enter(gateway: Gateway, stub: StubServer, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Open]:
    """Open a run against a scenario: ``enter("happy", caps=Caps(requests=3))``; ``run``: more for ``open_run``."""
    opened: list[str] = []

    def enter(
        scenario: str = "talk",
        *,
        caps: Caps | None = None,
        url: str | None = None,
        run: dict[str, Any] | None = None,
        **more: Any,
    ) -> Agent:
        run_id = f"{request.node.name}-{len(opened)}"
        provider = stub_provider(url or stub.url(scenario, str(abs(hash(run_id)))), **more)
        ledger = tmp_path / f"run-{len(opened)}" / "gateway.jsonl"
        door = gateway.open_run(run_id, provider, MODEL, caps or Caps(), ledger, **(run or {}))
        gateway.begin_attempt(run_id, "M01/1")
        opened.append(run_id)
        return Agent(run_id, door, ledger)

    yield enter
    for run_id in opened:
        with suppress(RigError):  # the test has closed it
            gateway.close_run(run_id)


def stub_provider(url: str, **more: Any) -> Provider:
    fields: dict[str, Any] = {"name": "stub", "base_url": url, "key_env": "STUB_KEY", **more}
    return Provider.model_validate(fields)
