"""Whose fault it is when something goes wrong, and that nothing hangs."""

from __future__ import annotations

import http.client
import json
import time
from pathlib import Path

import pytest

from runner.errors import ConfigError, ProviderError, UsageError
from runner.gateway.client import Gateway
from runner.gateway.limits import Caps
from runner.gateway.probe import probe
from runner.gateway.providers import Provider
from tests.integration.gateway.conftest import KEY, MODEL, PATHS, Agent, Open, stub_provider
from tests.support.hidden import holders
from tests.support.stub_llm import StubServer


@pytest.mark.parametrize(
    ("scenario", "status", "fault"),
    [
        ("unauthorised", 401, "HTTP 401"),
        ("unpaid", 402, "HTTP 402"),
        ("unknown_model", 404, "HTTP 404"),
        ("limited_forever", 429, "HTTP 429"),
        ("broken_forever", 500, "HTTP 500"),
        ("redirect", 502, "HTTP 307"),
    ],
)
def test_an_error_passes_and_is_the_providers(enter: Open, scenario: str, status: int, fault: str) -> None:
    agent = enter(scenario)
    for _ in range(3):
        assert agent.post().status == status
    totals = agent.door.totals()
    assert (totals.answered, totals.errors, totals.provider_fault) == (0, 3, fault)
    assert totals.price_usd == 0.0


def test_a_fault_that_a_later_answer_made_good_is_none(enter: Open) -> None:
    agent = enter("limited")
    assert [agent.post().status for _ in range(3)] == [200, 429, 200]
    totals = agent.door.totals()
    assert (totals.provider_fault, totals.recovered_faults) == (None, 1)


def test_a_fault_at_the_end_is_the_providers_whatever_came_before(enter: Open, gateway: Gateway) -> None:
    agent = enter("broken_late")
    assert [agent.post().status for _ in range(2)] == [200, 500]
    assert gateway.end_attempt(agent.run_id).provider_fault == "HTTP 500"
    assert [(line.ours, line.status) for line in agent.lines()] == [(False, 200), (False, 500), (True, 500)]


def test_a_full_context_is_not_the_providers(enter: Open) -> None:
    agent = enter("context")
    assert [agent.post().status for _ in range(2)] == [200, 400]
    totals = agent.door.totals()
    assert totals.provider_fault is None
    assert (totals.context_errors, totals.context_death) == (1, True)


@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
def test_a_stream_that_turns_into_an_error(enter: Open, wire: str) -> None:
    agent = enter("full_midway")
    assert agent.post(wire, stream=True).status == 200
    line = agent.lines()[0]
    assert (line.outcome, line.context, line.fault) == ("error", True, None)
    agent = enter("overloaded_midway")
    agent.post(wire, stream=True)
    line = agent.lines()[0]
    assert (line.outcome, line.context, line.cut) == ("error", False, False)
    assert line.fault in ("error: invalid_request_error", "error: server_error")


@pytest.mark.parametrize("stream", [False, True])
def test_a_cut_answer_is_seen_as_cut(enter: Open, stream: bool) -> None:
    agent = enter("cut_forever")
    with pytest.raises((http.client.HTTPException, OSError)):
        agent.post("anthropic", stream=stream)
    totals = agent.door.totals()
    assert (totals.cut, totals.provider_fault) == (1, "the answer was cut off")
    line = agent.lines()[0]
    assert line.cut
    # Anthropic's stream opens with the input tokens: they count, though the agent never saw the end.
    assert (line.usage is not None) == stream
    assert totals.unmetered == (0 if stream else 1)


def test_a_cut_answer_that_was_asked_again_is_recovered(enter: Open) -> None:
    agent = enter("cut")
    agent.post(stream=True)
    with pytest.raises((http.client.HTTPException, OSError)):
        agent.post(stream=True)
    agent.post(stream=True)
    assert agent.door.fault() is None


@pytest.mark.parametrize("stream", [False, True])
def test_another_model_ends_the_run(enter: Open, stream: bool) -> None:
    agent = enter("other_model")
    agent.post(stream=stream)
    assert agent.post().status == 403
    assert agent.door.fault() == "wrong model served: somebody-else instead of stub-model"
    assert [line.refused for line in agent.lines()] == [None, "wrong_model"]


def test_a_declared_alias_is_the_model(enter: Open) -> None:
    agent = enter("dated_model", served_aliases=["{model}-[0-9-]{{10}}"])
    agent.post()
    assert agent.door.fault() is None
    assert enter("dated_model").post().status == 200


def test_a_server_with_any_name_must_keep_it(enter: Open) -> None:
    agent = enter("other_model", served="first")
    agent.post()
    agent.post()
    assert agent.door.fault() is None
    assert agent.door.totals().models_served == ["somebody-else"]


def test_a_model_that_never_answers_ends_with_the_run(enter: Open) -> None:
    agent = enter("silent", caps=Caps(wall_s=4.0))  # time enough to ask, also on a busy machine
    started = time.monotonic()
    assert agent.post().status == 504
    assert time.monotonic() - started < 9
    totals = agent.door.totals()
    assert str(totals.provider_fault).startswith("no answer in ")
    assert agent.post().status == 402


def test_an_agent_that_leaves_ends_its_request(enter: Open, gateway: Gateway) -> None:
    agent = enter("silent")
    with pytest.raises(TimeoutError):
        agent.post(timeout=0.5)
    totals = gateway.end_attempt(agent.run_id)
    assert (totals.abandoned, totals.answered) == (1, 0)
    assert totals.provider_fault in ("no answer in 0 s", "no answer in 1 s")


def test_unreachable(enter: Open) -> None:
    agent = enter(url="http://127.0.0.1:9/v1")
    assert agent.post().status == 502
    assert agent.door.fault() == "127.0.0.1:9 is unreachable (Connection refused)"


def test_no_usage_is_unknown_not_zero(enter: Open) -> None:
    agent = enter("no_usage", price="openai")
    agent.post()
    totals = agent.door.totals()
    assert (totals.unmetered, totals.price_usd) == (1, None)
    assert agent.lines()[0].usage_reason == "the provider reported no usage"


# -- who may pass


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer nonsense"}, {"x-api-key": KEY}])
def test_only_the_runs_token_passes(enter: Open, stub: StubServer, headers: dict[str, str]) -> None:
    agent = enter("talk")
    before = len(stub.seen)
    assert agent.send("POST", PATHS["chat"], b"{}", headers).status == 401
    assert len(stub.seen) == before
    assert agent.lines()[0].refused == "token"


def test_only_the_pinned_model_passes(enter: Open, stub: StubServer) -> None:
    agent = enter("talk")
    before = len(stub.seen)
    assert agent.send("POST", PATHS["chat"], json.dumps({"model": "dearer"}).encode()).status == 403
    assert agent.send("POST", PATHS["chat"], b"{}").status == 403
    assert agent.send("POST", PATHS["chat"], b"\x28\xb5").status == 415
    assert len(stub.seen) == before
    assert [line.refused for line in agent.lines()] == ["model", "model", "body"]
    assert agent.lines()[0].model_asked == "dearer"


@pytest.mark.parametrize("path", ["/v1/files", "/v1/models/../keys", "/api/keys", "/v1/messages/batches"])
def test_only_known_paths_pass(enter: Open, path: str) -> None:
    agent = enter("talk")
    assert agent.send("GET", path).status == 404
    assert agent.lines()[0].refused == "path"


# -- caps


@pytest.mark.parametrize(("caps", "words"), [(Caps(requests=2), "2 requests"), (Caps(tokens=1500), "1500 tokens")])
def test_a_cap_ends_the_run_and_says_so(enter: Open, caps: Caps, words: str) -> None:
    agent = enter("endless", caps=caps)
    assert [agent.post().status for _ in range(4)] == [200, 200, 402, 402]
    totals = agent.door.totals()
    assert (totals.cap, totals.provider_fault, totals.refused) == (words, None, 2)


def test_a_cap_in_usd(gateway: Gateway, stub: StubServer, tmp_path: Path) -> None:
    provider = stub_provider(stub.url("gpt", "usd"), price="openai")
    door = gateway.open_run("usd", provider, "gpt-4o", Caps(usd=0.004), tmp_path / "gateway.jsonl")
    agent = Agent("usd", door, tmp_path / "gateway.jsonl")
    assert [agent.post(model="gpt-4o").status for _ in range(3)] == [200, 200, 402]
    totals = door.close()
    assert totals.cap == "0.004 USD"
    assert totals.price_usd == pytest.approx((1000 * 2.5 + 60 * 10 + 1010 * 2.5 + 400 * 1.25 + 61 * 10) / 1e6)
    assert agent.lines()[0].price_source.startswith("genai-prices ")


def test_a_cap_in_usd_needs_a_price(gateway: Gateway, stub: StubServer, tmp_path: Path) -> None:
    ledger = tmp_path / "gateway.jsonl"
    with pytest.raises(ConfigError, match="price of stub/stub-model is unknown"):
        gateway.open_run("usd", stub_provider(stub.url("talk")), MODEL, Caps(usd=1), ledger)


def test_a_resumed_run_goes_on_with_its_ledger(gateway: Gateway, stub: StubServer, tmp_path: Path) -> None:
    ledger = tmp_path / "gateway.jsonl"
    provider = stub_provider(stub.url("endless", "resume"))
    for opening in range(2):
        door = gateway.open_run(f"resume-{opening}", provider, MODEL, Caps(requests=3), ledger)
        agent = Agent(f"resume-{opening}", door, ledger)
        codes = [agent.post().status for _ in range(2)]
        door.close()
        with ledger.open("ab") as file:
            file.write(b'{"torn')
    assert codes == [200, 402]
    ledger.write_bytes(ledger.read_bytes().removesuffix(b'{"torn'))
    assert [line.seq for line in agent.lines()] == [1, 2, 3, 4]


# -- the key


def test_the_key_is_nowhere(enter: Open, stub: StubServer, gateway: Gateway) -> None:
    agent = enter("unauthorised")
    plain = enter("talk", url=f"http://127.0.0.1:1/{'x' * 5}")
    reply, refused = agent.post(), plain.post()
    agent.send("POST", "/v1/nowhere", b"{}")
    with pytest.raises(ProviderError) as caught:
        probe(stub_provider(stub.url("unauthorised", "probe")), MODEL, gateway=gateway)
    places = [reply.body, json.dumps(reply.headers).encode(), refused.body, str(caught.value).encode()]
    places += [repr(agent.door).encode(), repr(gateway).encode()]
    assert gateway._log is not None
    assert gateway._folder is not None
    for folder in (agent.ledger.parent.parent, gateway._log.parent, gateway._folder):
        places += [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
        places += [str(path).encode() for path in folder.rglob("*")]
    assert KEY in json.dumps(stub.seen[-1]["headers"])
    assert holders(KEY, [(str(number), place) for number, place in enumerate(places)]) == []


def test_a_packed_error_that_quotes_the_key_does_not_pass(enter: Open) -> None:
    agent = enter("echo_zipped")
    body = json.dumps({"model": MODEL}).encode()
    reply = agent.send("POST", PATHS["chat"], body, {"x-api-key": agent.door.token, "accept-encoding": "gzip"})
    assert reply.status == 500
    assert "content-encoding" not in reply.headers
    assert b"the stub says 500: Bearer [key]" in reply.body


def test_a_background_answer_is_refused(enter: Open) -> None:
    agent = enter("talk")
    assert agent.post("responses", background=True).status == 415
    assert agent.lines()[-1].refused == "body"


# -- probing


def test_a_probe_says_who_answers(gateway: Gateway, stub: StubServer) -> None:
    found = probe(stub_provider(stub.url("talk", "probe")), MODEL, gateway=gateway)
    assert (found.served, found.price_known) == (MODEL, False)
    assert 0 < found.latency_s < 5


@pytest.mark.parametrize(
    ("scenario", "sentence"),
    [
        ("unauthorised", r"stub/stub-model refuses the key \(HTTP 401\) — check \$STUB_KEY"),
        ("unpaid", "wants to be paid first"),
        ("unknown_model", "is not known there"),
        ("limited_forever", "is rate-limited"),
        ("broken_forever", "answers with HTTP 500"),
        ("other_model", "wrong model served: somebody-else instead of stub-model — load that model"),
        ("cut_forever", "breaks its answer off"),
        ("silent", "gives no answer within 1 s"),
    ],
)
def test_a_probe_says_what_is_wrong_and_the_fix(
    gateway: Gateway, stub: StubServer, scenario: str, sentence: str
) -> None:
    with pytest.raises(ProviderError, match=sentence):
        probe(
            stub_provider(stub.url(scenario, "p")), MODEL, gateway=gateway, timeout_s=1 if scenario == "silent" else 20
        )


def test_controls_need_no_gateway(gateway: Gateway, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="asks no model"):
        gateway.open_run("c", Provider(name="control", kind="control"), "nop", Caps(), tmp_path / "gateway.jsonl")
