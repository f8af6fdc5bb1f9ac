"""Every exchange kept without a secret, and played back."""

from __future__ import annotations

import base64
import gzip
import http.client
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from runner.errors import RigError
from runner.gateway.cassette import FILE, read_cassette
from runner.gateway.client import Gateway
from runner.gateway.limits import Caps
from tests.integration.gateway.conftest import KEY, MODEL, Agent, Open, stub_provider

CONVERSATION = [{"role": "user", "content": "hi"}]


def grown(steps: int) -> list[dict[str, Any]]:
    return CONVERSATION + [{"role": "assistant", "content": f"step {n}"} for n in range(steps)]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
def test_a_run_is_played_back_without_its_provider(
    enter: Open, gateway: Gateway, tmp_path: Path, wire: str, stream: bool
) -> None:
    agent = enter("limited", run={"cassette": tmp_path / "cassette"})
    field = "input" if wire == "responses" else "messages"
    asked = [{field: grown(n)} for n in (0, 1, 1, 2)]
    live = [agent.post(wire, stream=stream, **body) for body in asked]
    gateway.close_run(agent.run_id)

    # No key, no address: nothing but the cassette answers.
    provider = stub_provider("http://127.0.0.1:9/v1", key_env="NOT_SET")
    ledger = tmp_path / "again.jsonl"
    door = gateway.open_run(f"{agent.run_id}-again", provider, MODEL, Caps(), ledger, replay=tmp_path / "cassette")
    again = Agent(f"{agent.run_id}-again", door, ledger)
    replies = [again.post(wire, stream=stream, **body) for body in asked]
    assert [(one.status, one.body) for one in replies] == [(one.status, one.body) for one in live]
    assert [line.usage for line in again.lines()] == [line.usage for line in agent.lines()]
    diverged = again.post(wire, stream=stream, **{field: grown(3)})
    assert diverged.status == 409
    assert door.close().diverged == "the recording has no more requests of this protocol"


def test_a_cut_answer_is_cut_again(enter: Open, tmp_path: Path) -> None:
    agent = enter("cut_forever", run={"cassette": tmp_path / "cassette"})
    with pytest.raises((http.client.HTTPException, OSError)):
        agent.post(stream=True)
    agent.door.close()
    assert [one.cut for one in read_cassette(tmp_path / "cassette")] == [True]
    again = enter(run={"replay": tmp_path / "cassette"})
    with pytest.raises((http.client.HTTPException, OSError)):
        again.post(stream=True)
    assert again.lines()[-1].outcome == "cut"


def test_texts_that_differ_are_reported(enter: Open, tmp_path: Path) -> None:
    agent = enter(run={"cassette": tmp_path / "cassette"})
    agent.post()
    agent.door.close()
    again = enter(run={"replay": tmp_path / "cassette"})
    assert again.post(messages=[{"role": "user", "content": "hello"}]).status == 200
    assert again.lines()[-1].note == "replayed; texts differ: messages[0].content"


def test_no_secret_is_kept_in_any_encoding(enter: Open, tmp_path: Path) -> None:
    agent = enter("unauthorised", run={"cassette": tmp_path / "cassette"})
    for secret in (KEY, agent.door.token):
        text = f"{secret} {quote(secret)} {base64.b64encode(b'x' + secret.encode()).decode()} {secret.encode().hex()}"
        agent.post(messages=[{"role": "user", "content": text}])
    agent.door.close()
    kept = gzip.decompress((tmp_path / "cassette" / FILE).read_bytes())
    for secret in (KEY, agent.door.token):
        forms = [secret.encode(), quote(secret).encode(), secret.encode().hex().encode(), json.dumps(secret).encode()]
        forms += [base64.b64encode(b"x" * n + secret.encode())[4:-4] for n in range(3)]
        assert [form for form in forms if form in kept] == []
    assert kept.count(b"[key]") >= 8


def test_a_torn_cassette_ends_where_it_tore_and_a_foreign_one_is_an_error(enter: Open, tmp_path: Path) -> None:
    agent = enter(run={"cassette": tmp_path / "cassette"})
    agent.post()
    agent.post()
    agent.door.close()
    path = tmp_path / "cassette" / FILE
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    assert len(read_cassette(path.parent)) == 1
    path.write_bytes(gzip.compress(b'{"schema":"other"}'))
    with pytest.raises(RigError, match="no exchange"):
        read_cassette(path.parent)
    path.write_bytes(b"rubbish")
    with pytest.raises(RigError, match="damaged"):
        read_cassette(path.parent)
    with pytest.raises(RigError, match="holds no cassette"):
        read_cassette(tmp_path / "nowhere")
    with pytest.raises(RigError, match="damaged"):
        enter(run={"replay": path.parent})
