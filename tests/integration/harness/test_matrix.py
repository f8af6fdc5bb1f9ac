"""Every harness, for real, in its own image and a sealed pod: what its model does wrong, and what befalls it.

The same eight things happen to each. What the runner must know comes from the gateway; what the agent's own log says
of it has to agree.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from runner.errors import RigError
from runner.gateway.limits import Caps
from runner.harness import claude_code, codex, mini_swe_agent
from runner.harness.base import Harness, guard_version
from runner.harness.known import shipped
from runner.harness.layer import ensure_agent
from runner.sandbox.baseimage import ensure_base
from runner.sandbox.engine import Engine
from tests.integration.conftest import KEY
from tests.integration.harness.conftest import ATTEMPT_REQUESTS, IMAGES, USER, Drive, Driven
from tests.support.hidden import holders

pytestmark = pytest.mark.engine

WROTE = b"print('hello')\n"
BY_DEFAULT = {"claude-code": "high"}
"""The effort that an agent sends though nobody asked for one."""


@pytest.fixture(scope="module")
def built(engine: Engine) -> None:
    """All agents' images, two at a time: one waits for the network while another works."""
    base = ensure_base(engine, log=print).tag
    layers = [layer for one in shipped().values() if (layer := one().layer)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda layer: ensure_agent(engine, layer, IMAGES, base, log=print), reversed(layers)))


@pytest.fixture(scope="module", params=list(shipped()))
def harness(request: pytest.FixtureRequest, built: None) -> Harness:
    return shipped()[request.param]()


def written(done: Driven) -> bytes:
    return done.box.get("/work/repo/hello.py", limit_bytes=1000)


def test_it_works_and_its_log_agrees_with_the_wire(drive: Drive, engine: Engine, harness: Harness) -> None:
    done = drive(harness, "happy", effort="high")
    assert done.result.exit_code == 0
    assert written(done) == WROTE
    assert (done.totals.answered, done.totals.refused, done.totals.provider_fault) == (3, 0, None)
    assert done.totals.efforts_wire == ["high"]
    summary = harness.read_summary(done.logs)
    assert (summary.turns, summary.malformed, summary.failed_tools, summary.settled) == (3, {}, 0, True)
    assert summary.usage.model_copy(update={"reasoning": None}) == done.totals.usage.model_copy(
        update={"reasoning": None}
    )
    if summary.response_ids:
        assert [line.response_id for line in done.lines] == list(summary.response_ids)
    identity = harness.read_identity(done.logs, done.request)
    assert identity.logged_model
    assert identity.logged_model.value.endswith(done.request.model)
    assert identity.logged_effort
    assert identity.logged_effort.value == "high"
    _no_key_in(done, engine)


def test_no_effort_asked_for_and_nothing_asked_besides(drive: Drive, harness: Harness) -> None:
    done = drive(harness, "talk")
    assert done.totals.efforts_wire == [BY_DEFAULT.get(harness.name)]
    assert done.totals.answered == 1, "a title, or anything else, was asked for besides"
    other = shipped()[harness.name]()
    other.pin = "0.0.1"
    with pytest.raises(RigError, match=r"the image holds .* \d+\.\d+\.\d+, not the pinned 0\.0\.1"):
        guard_version(other, lambda argv: done.box.exec(argv, timeout_s=60, user=USER).stdout.decode())


@pytest.mark.parametrize("kind", ["json", "unknown_tool"])
def test_a_call_that_cannot_be_used_is_seen(drive: Drive, harness: Harness, kind: str) -> None:
    done = drive(harness, "bad_json" if kind == "json" else kind)
    assert harness.read_summary(done.logs).malformed == {kind: 1}
    assert written(done) == WROTE  # it went on


def test_a_loop_is_ended_by_the_cap(drive: Drive, harness: Harness) -> None:
    done = drive(harness, "endless")
    assert done.totals.answered == ATTEMPT_REQUESTS
    assert (done.totals.cap, done.totals.provider_fault) == (f"{ATTEMPT_REQUESTS} requests an attempt", None)
    assert harness.read_summary(done.logs).longest_run >= ATTEMPT_REQUESTS - 1


def test_a_rate_limit_is_ridden_out(drive: Drive, harness: Harness) -> None:
    done = drive(harness, "limited")
    assert written(done) == WROTE
    assert (done.totals.errors, done.totals.recovered_faults, done.totals.provider_fault) == (1, 1, None)


def test_a_provider_that_stays_broken_is_the_providers(
    drive: Drive, harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (claude_code, codex, mini_swe_agent):
        monkeypatch.setattr(module, "TRIES", 2)
    # It cannot be told how often to try, and its fifth time comes after a minute.
    caps = Caps(attempt=Caps(requests=3)) if harness.name == "opencode" else None
    done = drive(harness, "broken_forever", caps=caps)
    assert (done.totals.answered, done.totals.provider_fault) == (0, "HTTP 500")
    passed = [line for line in done.lines if line.outcome != "refused" and not line.ours]
    assert len(passed) == {"pi": 4, "mini-swe-agent": 2}.get(harness.name, 3)


def test_a_full_context_is_the_models(drive: Drive, harness: Harness) -> None:
    done = drive(harness, "context")
    assert done.totals.provider_fault is None
    assert done.totals.context_death
    assert harness.read_summary(done.logs).context_death


def test_a_cut_stream_is_recovered(drive: Drive, harness: Harness) -> None:
    done = drive(harness, "cut")
    assert written(done) == WROTE
    assert (done.totals.cut, done.totals.recovered_faults, done.totals.provider_fault) == (1, 1, None)
    whole = [line for line in done.lines if line.outcome == "answered" and not line.ours]
    assert harness.read_summary(done.logs).turns == len(whole)


@pytest.mark.parametrize(
    ("name", "wire", "sent"),
    [
        ("pi", "responses", "high"),
        ("pi", "anthropic", "budget_tokens=15360"),
        ("mini-swe-agent", "responses", "high"),
        ("opencode", "responses", "high"),
        ("opencode", "anthropic", "high"),
    ],
)
def test_the_other_protocols(drive: Drive, name: str, wire: str, sent: str) -> None:
    harness = shipped()[name]()
    done = drive(harness, "happy", protocols=[wire], effort="high")
    assert done.result.exit_code == 0
    assert written(done) == WROTE
    assert {line.protocol for line in done.lines} == {wire}
    assert done.totals.efforts_wire == [sent]
    found = harness.read_summary(done.logs)
    assert found.turns == 3
    if found.response_ids:
        assert list(found.response_ids) == [line.response_id for line in done.lines]
    assert "async_" not in json.dumps(done.asked), "fields of its client's own types, which OpenAI refuses"


def _no_key_in(done: Driven, engine: Engine) -> None:
    """The real key is nowhere in the container, nor in the logs: plain, or encoded."""
    inspect = str(engine.api.inspect_container(done.box.id)).encode()
    find = "find / -xdev -type f -newer /proc/1/cmdline -size -2M 2>/dev/null; find /home /tmp /work /run -type f"
    seen = [inspect, done.box.exec(["env"], timeout_s=10).stdout]
    seen.append(done.box.exec(["sh", "-c", f"({find}) | sort -u | xargs cat 2>/dev/null"], timeout_s=60).stdout)
    seen += [path.read_bytes() for path in done.logs.rglob("*") if path.is_file()]
    assert done.request.token.encode() not in inspect
    assert holders(KEY, [(str(number), place) for number, place in enumerate(seen)]) == []
