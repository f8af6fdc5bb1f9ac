"""One engine, the real images, and pods that are gone after each test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runner.sandbox.baseimage import ensure_base, ensure_postgres, ensure_trusted
from runner.sandbox.engine import Engine, connect
from runner.sandbox.images import ImageSpec, ensure
from runner.sandbox.pod import Pod, PodSpec, Service

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Images:
    trusted: str
    base: str
    postgres: str
    database: str


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    with connect() as opened:
        yield opened


@pytest.fixture(scope="session")
def images(engine: Engine) -> Images:
    """The runner's own images, built where they are not there yet, and a database image made from them."""
    base = ensure_base(engine, log=print)
    postgres = ensure_postgres(engine, base, log=print)
    seeded = ImageSpec(name="bench/test-database", context=HERE / "database", parents={"PARENT": postgres.tag})
    return Images(
        trusted=ensure_trusted(engine, base, log=print).tag,
        base=base.tag,
        postgres=postgres.tag,
        database=ensure(engine, seeded, log=print).tag,
    )


@pytest.fixture(scope="session")
def service(images: Images) -> Service:
    return Service(image=images.database, user="app", database="app", password="app")


OpenPod = Callable[..., Pod]


@pytest.fixture
def open_pod(engine: Engine, images: Images, request: pytest.FixtureRequest) -> Iterator[OpenPod]:
    """Opens pods with ``PodSpec``'s fields; each is closed at the end of the test and must leave nothing."""
    with ExitStack() as stack:
        pods = []

        def make(**fields: Any) -> Pod:
            spec = PodSpec(run_id=f"test-{os.getpid()}", trusted_image=images.trusted, **{"deadline_s": 300} | fields)
            pods.append(stack.enter_context(Pod(engine, spec)))
            return pods[-1]

        yield make
        for pod in pods:
            assert pod.close() == []
