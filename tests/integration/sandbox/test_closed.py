"""The pod is proven closed before anything runs in it, and an open one is refused."""

from __future__ import annotations

import os
import time
from importlib import resources

import pytest

from runner.sandbox import gate
from runner.sandbox.box import Box, waiting
from runner.sandbox.container import ContainerSpec, Limits
from runner.sandbox.engine import Engine

from .conftest import Images, OpenPod

pytestmark = pytest.mark.engine


def test_a_pod_is_closed(open_pod: OpenPod, images: Images) -> None:
    pod = open_pod()
    pod.contestant(images.base)
    assert pod._holder is not None
    gate.prove_closed(pod._holder, gate.host_addresses())


def test_an_open_pod_is_refused(engine: Engine, images: Images) -> None:
    """A container in the engine's default network, as a broken engine or a plugin would make it."""
    spec = ContainerSpec(
        run_id=f"test-{os.getpid()}", role="holder", pod="open", image=images.trusted, argv=waiting(60), user="0:0",
        network="bridge", limits=Limits(memory_mb=128, pids=64),
    )  # fmt: skip
    box = Box(engine, spec, deadline=time.monotonic() + 60)
    try:
        box.start()
        with pytest.raises(gate.NotClosed, match="the pod is not closed: ") as caught:
            gate.prove_closed(box, gate.host_addresses())
    finally:
        box.remove()
    assert (caught.value.cause, caught.value.retry) == ("rig", False)


def test_the_probe_needs_nothing_but_python() -> None:
    source = resources.files("runner.sandbox").joinpath("closed.py").read_text(encoding="utf-8")
    assert "import runner" not in source
    assert "from runner" not in source
