"""What goes through the gateway, and what the ledger says about it."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from runner.gateway.client import Gateway
from runner.gateway.limits import Caps
from tests.integration.gateway.conftest import KEY, MODEL, PATHS, Open, stub_provider
from tests.support.stub_llm import StubServer

WIRES = ["chat", "responses", "anthropic"]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_passes_and_is_metered(enter: Open, wire: str, stream: bool) -> None:
    agent = enter("happy")
    replies = [agent.post(wire, stream=stream) for _ in range(3)]
    assert [reply.status for reply in replies] == [200, 200, 200]
    lines = agent.lines()
    assert [line.outcome for line in lines] == ["answered"] * 3
    assert [line.protocol for line in lines] == [wire] * 3
    assert [(u.uncached_input, u.cache_read, u.output) for line in lines if (u := line.usage)] == [
        (1000, 0, 60),
        (1010, 400, 61),
        (1020, 800, 62),
    ]
    assert [line.usage.reasoning for line in lines if line.usage] == [None if wire == "anthropic" else 16] * 3
    assert {line.model_served for line in lines} == {MODEL}
    assert all(line.response_id and line.response_id in replies[n].body.decode() for n, line in enumerate(lines))
    assert [line.seq for line in lines] == [1, 2, 3]
    assert {line.attempt for line in lines} == {"M01/1"}
    assert all(line.response_bytes == len(reply.body) for line, reply in zip(lines, replies, strict=True))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("wire", WIRES)
def test_what_is_written_to_the_cache_is_told_apart(enter: Open, wire: str, stream: bool) -> None:
    agent = enter("written")
    agent.post(wire, stream=stream)
    usage = agent.lines()[-1].usage
    assert usage is not None
    assert (usage.uncached_input, usage.cache_read, usage.cache_write, usage.output) == (1000, 0, 100, 60)


def test_bodies_pass_as_they_come(enter: Open, stub: StubServer) -> None:
    agent = enter("talk")
    odd = b'{ "model" : "stub-model", "messages":[{"role":"user","content":"\\u00e9 1.0 1e3"}],"temperature":1.0 }'
    agent.send("POST", PATHS["chat"], odd)
    assert stub.seen[-1]["raw"].encode("latin-1") == odd
    assert agent.lines()[-1].note is None


def test_a_zipped_request_passes_zipped(enter: Open, stub: StubServer) -> None:
    agent = enter("talk")
    body = gzip.compress(json.dumps({"model": MODEL, "messages": []}).encode())
    headers = {"x-api-key": agent.door.token, "content-encoding": "gzip"}
    assert agent.send("POST", PATHS["chat"], body, headers).status == 200
    assert stub.seen[-1]["raw"].encode("latin-1") == body


@pytest.mark.parametrize("stream", [False, True])
def test_a_zipped_answer_passes_zipped_and_is_read(enter: Open, stream: bool) -> None:
    agent = enter("zipped")
    body = json.dumps({"model": MODEL, "messages": [], "stream": stream}).encode()
    reply = agent.send("POST", PATHS["chat"], body, {"x-api-key": agent.door.token, "accept-encoding": "gzip, br"})
    assert reply.headers["content-encoding"] == "gzip"
    assert b"Done." in gzip.decompress(reply.body)
    assert agent.lines()[-1].usage is not None


def test_usage_is_asked_for_where_a_streaming_agent_forgot(enter: Open, stub: StubServer) -> None:
    agent = enter("talk")
    agent.post(stream=True)
    assert stub.seen[-1]["body"]["stream_options"] == {"include_usage": True}
    assert agent.lines()[-1].note == "include_usage added"
    agent.post(stream=True, stream_options={"include_usage": True})
    assert agent.lines()[-1].note is None


def test_the_key_is_added_and_the_token_is_not_passed_on(enter: Open, stub: StubServer) -> None:
    agent = enter("talk")
    agent.send("POST", PATHS["chat"], json.dumps({"model": MODEL}).encode(), {"x-api-key": agent.door.token})
    assert stub.seen[-1]["headers"]["authorization"] == f"Bearer {KEY}"
    assert agent.door.token not in json.dumps(stub.seen[-1]["headers"])
    other = enter("talk", key_header="x-api-key")
    other.post("anthropic")
    assert stub.seen[-1]["headers"]["x-api-key"] == KEY
    assert "authorization" not in stub.seen[-1]["headers"]


def test_models_and_count_tokens(enter: Open) -> None:
    agent = enter("talk")
    assert b"stub-model" in agent.send("GET", "/v1/models").body
    counted = agent.send("POST", "/v1/messages/count_tokens", json.dumps({"model": MODEL}).encode())
    assert json.loads(counted.body) == {"input_tokens": 42}
    assert [line.protocol for line in agent.lines()] == ["models", "count_tokens"]


@pytest.mark.parametrize(
    ("asked", "effort"),
    [
        ({"reasoning_effort": "high"}, "high"),
        ({"reasoning": {"effort": "low"}}, "low"),
        ({"output_config": {"effort": "max"}}, "max"),
        ({"thinking": {"type": "enabled", "budget_tokens": 31999}}, "budget_tokens=31999"),
        ({}, None),
    ],
)
def test_the_effort_on_the_wire(enter: Open, asked: dict[str, Any], effort: str | None) -> None:
    agent = enter("talk")
    agent.post(**asked)
    assert agent.lines()[-1].effort_wire == effort


def test_a_stream_arrives_as_it_is_made(enter: Open) -> None:
    agent = enter("slow")
    connection = agent.connection()
    body = json.dumps({"model": MODEL, "messages": [], "stream": True})
    connection.request("POST", PATHS["chat"], body, {"x-api-key": agent.door.token})
    answer = connection.getresponse()
    started = time.monotonic()
    first = answer.read1()
    assert time.monotonic() - started < 0.4
    assert first.startswith(b"data: ")
    assert answer.read().endswith(b"data: [DONE]\n\n")
    assert time.monotonic() - started > 0.5
    connection.close()


def test_a_request_is_told_of_when_it_comes_not_when_it_is_answered(enter: Open, gateway: Gateway) -> None:
    agent = enter("silent")
    passed = agent.door.passed
    connection = agent.connection()
    body = json.dumps({"model": MODEL, "messages": []})
    connection.request("POST", PATHS["chat"], body, {"x-api-key": agent.door.token})
    assert passed.more.wait(10)
    assert (passed.count, agent.lines()) == (1, [])
    connection.close()
    gateway.begin_attempt(agent.run_id, "M01/2")
    assert (passed.count, passed.more.is_set()) == (0, False)


def test_many_requests_are_told_of_together_and_none_is_forgotten(enter: Open) -> None:
    agent = enter("endless")
    for _ in range(20):
        agent.post()
    deadline = time.monotonic() + 10
    while agent.door.passed.count < 20 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert agent.door.passed.count == 20
    assert agent.send("GET", "/v1/nowhere").status == 404
    time.sleep(0.3)
    assert agent.door.passed.count == 20


def test_the_gateway_dies_with_its_controller(tmp_path: Path) -> None:
    code = (
        "import os, signal; from runner.gateway.client import Gateway; gateway = Gateway(); gateway.start();"
        "print(gateway.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env)
    pid = int(said.stdout)
    deadline = time.monotonic() + 20
    while _alive(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _alive(pid)
    assert list(tmp_path.iterdir()) == []


def test_a_closed_gateway_leaves_no_socket(stub: StubServer, tmp_path: Path) -> None:
    with Gateway(env={**os.environ, "STUB_KEY": KEY}) as gateway:
        door = gateway.open_run("r", stub_provider(stub.url("talk")), MODEL, Caps(), tmp_path / "gateway.jsonl")
        assert (door.socket_dir / "gw.sock").is_socket()
    assert not door.socket_dir.exists()


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
