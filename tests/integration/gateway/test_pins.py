"""What the gateway fixes for a run: the host behind a broker, options of a model, which tools, how much."""

from __future__ import annotations

import http.client
import json
import threading
import time
from typing import Any

import pytest

from runner.gateway.client import Gateway
from runner.gateway.limits import Caps
from tests.integration.gateway.conftest import KEY, MODEL, PATHS, Open
from tests.support.stub_llm import StubServer

ROUTING = {"only": ["some-host/fp8"], "quantizations": ["fp8"]}
SENT = {"allow_fallbacks": False, "only": ["some-host/fp8"], "quantizations": ["fp8"]}


@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
@pytest.mark.parametrize("given", [None, {"order": ["cheap-host"]}])
def test_the_host_behind_a_broker_is_pinned(enter: Open, stub: StubServer, wire: str, given: Any) -> None:
    agent = enter("brokered", routing=ROUTING)
    agent.post(wire, **({"provider": given} if given else {}))
    assert stub.seen[-1]["body"]["provider"] == SENT
    line = agent.lines()[-1]
    assert line.note == ("provider pinned in place of the agent's" if given else "provider pinned")
    assert line.host_served == "Some Host"
    assert agent.door.totals().hosts_served == ["Some Host"]


def test_another_host_ends_the_run(enter: Open) -> None:
    agent = enter("brokered", routing={"only": ["other-host"]})
    assert [agent.post(stream=stream).status for stream in (True, False)] == [200, 403]
    assert agent.door.fault() == "wrong host served: Some Host instead of other-host"


def test_options_of_a_model_reach_it_and_a_packed_body_stays_readable(enter: Open, stub: StubServer) -> None:
    import gzip

    agent = enter("talk", models={MODEL: {"body": {"temperature": 0.5}, "rates": {"uncached_input": 2, "output": 10}}})
    body = gzip.compress(json.dumps({"model": MODEL, "messages": [], "stream": True}).encode())
    headers = {"x-api-key": agent.door.token, "content-encoding": "gzip"}
    assert agent.send("POST", PATHS["chat"], body, headers).status == 200
    assert stub.seen[-1]["body"]["temperature"] == 0.5
    assert "content-encoding" not in stub.seen[-1]["headers"]
    line = agent.lines()[-1]
    assert line.note == "include_usage added; temperature pinned"
    assert (line.price_source, line.price_usd) == ("registry", pytest.approx((1000 * 2 + 60 * 10) / 1e6))


@pytest.mark.parametrize(
    ("wire", "more", "kinds"),
    [
        ("chat", {"web_search_options": {}}, "web_search"),
        ("responses", {"tools": [{"type": "mcp"}, {"type": "code_interpreter"}]}, "code_execution, mcp"),
        ("anthropic", {"tools": [{"type": "web_search_20250305"}]}, "web_search"),
    ],
)
def test_tools_of_the_providers_are_refused_unless_allowed(
    enter: Open, stub: StubServer, wire: str, more: dict[str, Any], kinds: str
) -> None:
    agent = enter()
    before = len(stub.seen)
    reply = agent.post(wire, **more)
    assert reply.status == 403
    assert kinds in reply.body.decode()
    assert (len(stub.seen), agent.lines()[-1].refused) == (before, f"tool: {kinds}")
    assert agent.door.totals().tools_refused == [kinds]
    assert enter(run={"tools": kinds.split(", ")}).post(wire, **more).status == 200


def test_what_the_provider_searched_by_itself_is_noted(enter: Open) -> None:
    agent = enter("searching")
    agent.post("anthropic", stream=True)
    assert agent.lines()[-1].note == "the provider used tools: web_search_requests=2"


def test_a_broker_is_asked_about_an_answer_that_broke_off(enter: Open, gateway: Gateway, stub: StubServer) -> None:
    agent = enter("cut_forever", dialect="openrouter", accounting="generation")
    with pytest.raises((http.client.HTTPException, OSError)):
        agent.post(stream=True)
    totals = gateway.end_attempt(agent.run_id)
    line = agent.lines()[0]
    assert (line.outcome, line.host_served, line.usage_reason) == ("cut", "Some Host", "as the broker booked it")
    assert (totals.usage.uncached_input, totals.usage.cache_read, totals.usage.output) == (1000, 400, 7)
    assert (totals.unmetered, totals.price_usd) == (0, 0.25)
    asked = next(seen for seen in reversed(stub.seen) if seen["scenario"] == "generation")
    assert asked["raw"].endswith(f"/generation?id={line.response_id}")
    assert asked["headers"]["authorization"] == f"Bearer {KEY}"


# -- caps


@pytest.mark.parametrize(
    ("caps", "words"),
    [
        (Caps(input_tokens=1500), "1500 input tokens"),
        (Caps(output_tokens=100), "100 output tokens"),
        (Caps(attempt=Caps(requests=2)), "2 requests an attempt"),
        (Caps(attempt=Caps(tokens=1500)), "1500 tokens an attempt"),
    ],
)
def test_a_cap_names_itself_and_tells_the_controller(enter: Open, gateway: Gateway, caps: Caps, words: str) -> None:
    agent = enter("endless", caps=caps)
    assert [agent.post().status for _ in range(2)] == [200, 200]
    assert not agent.door.capped.is_set()
    assert agent.post().status == 402
    assert agent.door.capped.wait(5)
    assert gateway.end_attempt(agent.run_id).cap == words
    gateway.begin_attempt(agent.run_id, "M01/2")
    assert agent.door.capped.is_set() is False
    assert agent.post().status == (200 if caps.attempt else 402)


def test_the_time_of_an_attempt_ends_what_is_under_way(enter: Open, gateway: Gateway) -> None:
    agent = enter("silent", caps=Caps(attempt=Caps(wall_s=0.5)))
    assert agent.post().status == 504
    assert gateway.end_attempt(agent.run_id).cap == "1 s an attempt" or agent.lines()[-1].note == "cap: 0 s an attempt"


def test_too_many_at_once_are_told_to_come_back(enter: Open, gateway: Gateway) -> None:
    agent = enter("waits", caps=Caps(concurrent=2))
    codes: list[int] = []
    threads = [threading.Thread(target=lambda: codes.append(agent.post(stream=True).status)) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    reply = agent.post()
    assert (reply.status, reply.headers["retry-after"]) == (429, "1")
    for thread in threads:
        thread.join()
    assert codes == [200, 200]
    totals = gateway.end_attempt(agent.run_id)
    assert (totals.cap, totals.refused, totals.provider_fault) == (None, 1, None)


def test_a_flood_of_refusals_leaves_a_small_ledger(enter: Open) -> None:
    agent = enter()
    connection = agent.connection()
    for _ in range(600):
        connection.request("POST", "/v1/files", b"{}", {"authorization": f"Bearer {agent.door.token}"})
        connection.getresponse().read()
    connection.close()
    assert agent.door.totals().refused == 600
    assert len(agent.lines()) < 40
