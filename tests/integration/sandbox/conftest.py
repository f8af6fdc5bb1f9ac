"""One engine, the real images, and pods that are gone after each test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from runner.sandbox.engine import Engine, connect
from runner.sandbox.pod import Pod, PodSpec, Service


@dataclass(frozen=True)
class Images:
    trusted: str
    base: str
    database: str


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    with connect() as opened:
        yield opened


@pytest.fixture(scope="session")
def images(engine: Engine) -> Images:
    """The images under test: named by variables, or found on the engine under the names that the runner gives them."""
    return Images(
        trusted=_image(engine, "BENCH_TEST_TRUSTED", "bench/trusted"),
        base=_image(engine, "BENCH_TEST_BASE", "bench/base"),
        database=_image(engine, "BENCH_TEST_DATABASE", "bench/test-database"),
    )


def _image(engine: Engine, variable: str, repository: str) -> str:
    named = os.environ.get(variable)
    if named:
        return named
    found = engine.client.images.list(name=repository)
    if not found:
        pytest.fail(f"no image {repository}: build it, or name one in {variable}")
    return str(found[0].tags[0])


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
