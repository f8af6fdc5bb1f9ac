"""What integration tests share: the engine, a stub model server, and a gateway that holds a key worth stealing."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from runner.gateway.client import Gateway
from runner.sandbox.engine import Engine, connect
from tests.support.stub_llm import StubServer

KEY = "sk-live-THE-REAL-KEY/0123456789+abc="


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
