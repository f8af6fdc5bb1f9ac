"""The ladder of efforts: a program in the sandbox, two of whose levels are one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from runner.doctor.ladder import draw, levels
from runner.errors import UsageError
from runner.gateway.providers import Provider
from runner.harness.base import Harness, HarnessPlan, ImageLayer, Request
from runner.harness.pi import Pi
from runner.sandbox.baseimage import ensure_base, ensure_trusted
from runner.sandbox.engine import Engine, connect

pytestmark = pytest.mark.engine

SENDS = """
import json, os, sys, urllib.request
url, token, model, effort = sys.argv[1:]
def ask(**more):
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "hi"}], **more}).encode()
    headers = {"authorization": "Bearer " + token, "content-type": "application/json"}
    return urllib.request.urlopen(urllib.request.Request(url + "/v1/chat/completions", body, headers)).read()
if effort == "max":
    sys.exit("no such level here")
ask(reasoning_effort="minimal")  # a title
tools = [{"type": "function", "function": {"name": "bash"}}]
ask(tools=tools, **({} if effort == "unknown" else {"reasoning_effort": "high" if effort == "xhigh" else effort}))
"""


class Talker(Pi):
    """Sends what it is told, and cannot tell ``xhigh`` from ``high``."""

    name = "talker"
    version = pin = "1.0.0"
    version_argv: Sequence[str] = ("echo", "1.0.0")
    layer = ImageLayer(name="bench/agent-talker", context="talker", paths=())

    def prepare(self, request: Request) -> HarnessPlan:
        if request.effort not in ("unknown", "low", "high", "xhigh", "max"):
            raise UsageError("no such effort")
        argv = ["python3", "-c", SENDS, request.url, request.token, request.model, request.effort]
        return HarnessPlan(argv=argv, env={}, files={"/home/contestant/.talker/x": b""})


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with connect() as found:
        yield found


def test_levels_that_send_the_same_are_one_arm(engine: Engine, tmp_path: Path) -> None:
    provider = Provider(name="stub", base_url="http://nowhere.invalid/v1", key_env="NOT_SET", protocols=["chat"])
    harness: Harness = Talker()
    assert levels(harness, provider, "m") == ["unknown", "low", "high", "xhigh", "max"]
    base = ensure_base(engine, log=print)
    rungs = draw(engine, base.tag, ensure_trusted(engine, base, log=print).tag, harness, provider, "m")
    assert [(rung.effort, rung.sent.get("reasoning_effort"), rung.same_as) for rung in rungs] == [
        ("unknown", None, None),
        ("low", "low", None),
        ("high", "high", None),
        ("xhigh", "high", "high"),
        ("max", None, None),
    ]
    assert rungs[-1].problem == "the agent sent nothing: no such level here"
