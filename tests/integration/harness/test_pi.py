"""pi itself, in a pod without a network, against a scripted model."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest

from runner.gateway.limits import Caps
from runner.harness.pi import Pi
from tests.integration.harness.conftest import KEY, Drive

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
def test_pi_works_through_the_gateway(drive: Drive, wire: str) -> None:
    done = drive("happy", protocols=[wire], effort="high")
    assert done.result.exit_code == 0
    assert done.box.get("/work/repo/hello.py", limit_bytes=1000) == b"print('hello')\n"
    summary = Pi().read_summary(done.logs)
    assert (summary.turns, summary.calls, summary.malformed, summary.failed_tools) == (3, 2, {}, 0)
    assert (summary.stop, summary.settled) == ("stop", True)
    assert done.totals.provider_fault is None
    assert done.totals.usage == summary.usage
    assert [line.response_id for line in done.lines] == list(summary.response_ids)
    identity = Pi().read_identity(done.logs, done.request)
    assert identity.logged_effort
    assert identity.logged_effort.value == "high"
    assert identity.logged_model
    assert identity.logged_model.value == "stub-model"


@pytest.mark.parametrize(
    ("asked", "on_wire"), [("unknown", None), ("none", "none"), ("max", "max")]
)
def test_the_effort_asked_for_is_the_effort_sent(drive: Drive, asked: str, on_wire: str | None) -> None:
    done = drive("talk", effort=asked)
    assert done.totals.efforts_wire == [on_wire]


@pytest.mark.parametrize(
    ("scenario", "kinds"), [("bad_json", {"json": 1}), ("unknown_tool", {"unknown_tool": 1}), ("loop", {})]
)
def test_what_the_model_did_wrong_is_read(drive: Drive, scenario: str, kinds: dict[str, int]) -> None:
    done = drive(scenario)
    summary = Pi().read_summary(done.logs)
    assert summary.malformed == kinds
    assert summary.longest_run == (6 if scenario == "loop" else 1)


def test_a_full_context_is_the_models(drive: Drive) -> None:
    done = drive("context")
    assert done.result.exit_code == 0  # its exit code is no verdict
    assert Pi().read_summary(done.logs).context_death
    assert (done.totals.context_death, done.totals.provider_fault) == (True, None)


@pytest.mark.parametrize("scenario", ["unauthorised", "broken_forever", "other_model"])
def test_the_providers_fault_is_the_providers(drive: Drive, scenario: str) -> None:
    done = drive(scenario)
    assert done.totals.provider_fault


def test_a_cut_stream_is_recovered(drive: Drive) -> None:
    done = drive("cut")
    summary = Pi().read_summary(done.logs)
    assert (summary.turns, summary.calls, summary.retries) == (3, 2, 1)
    assert (done.totals.cut, done.totals.provider_fault, done.totals.recovered_faults) == (1, None, 1)


def test_a_cap_stops_an_agent_that_never_stops(drive: Drive) -> None:
    done = drive("endless", caps=Caps(requests=5))
    assert not done.result.timed_out
    assert done.totals.answered == 5
    assert (done.totals.cap, done.totals.provider_fault) == ("5 requests", None)


def test_a_model_that_never_answers_is_ended_with_the_agent(drive: Drive) -> None:
    done = drive("silent", timeout_s=5)
    assert done.result.timed_out
    assert done.totals.provider_fault
    assert done.totals.provider_fault.startswith("no answer in")


def test_no_key_enters_the_container(drive: Drive) -> None:
    done = drive("happy")
    seen = [done.inspect.encode(), done.box.exec(["env"], timeout_s=10).stdout]
    find = "find / -xdev -type f -newer /proc/1/cmdline -size -2M 2>/dev/null; find /home /tmp /work /run -type f"
    seen.append(done.box.exec(["sh", "-c", f"({find}) | sort -u | xargs cat 2>/dev/null"], timeout_s=60).stdout)
    seen += [path.read_bytes() for path in done.logs.rglob("*") if path.is_file()]
    key = KEY.encode()
    forms = [key, base64.b64encode(key), quote(KEY, safe="").encode(), key.hex().encode()]
    assert done.request.token.encode() not in done.inspect.encode()
    assert not [form for form in forms for place in seen if form in place]
