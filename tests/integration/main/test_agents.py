"""A real agent in the sandbox, a stub for its model: what happened decides the row, whoever is to blame."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.main.conftest import KEY, ROOT, Bench, run_id_of
from tests.support.hidden import holders
from tests.support.stub_llm import StubServer


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with StubServer() as server:
        yield server


def point(bench: Bench, stub: StubServer, scenario: str) -> None:
    bench.env["LLAMA_LOCAL_URL"] = stub.url(scenario, "r1")
    bench.env["LLAMA_LOCAL_KEY"] = KEY


def test_an_agent_that_does_the_work_passes_and_its_footprint_is_in_the_row(bench: Bench, stub: StubServer) -> None:
    point(bench, stub, "tiny")
    _change_provider(bench, models={"stub-model": {"body": {"temperature": 0}}})
    done = bench.run("llama-local/stub-model")
    assert done.code == 0, done.err
    (row,) = done.document["rows"]
    assert (row["cells"]["outcome"], row["cells"]["att"]) == ("pass", "1/1")
    assert row["cells"]["harness"] == "pi 1.6.0"
    assert row["cells"]["tokens"].startswith("in ")
    assert row["cells"]["cost"] == "-"
    assert row["result"]["requests"] >= 4
    (folder,) = bench.run_dirs()
    assert list((folder / "agent" / "M01-1").glob("*.jsonl"))
    lines = [json.loads(x) for x in (folder / "gateway.jsonl").read_text().splitlines()]
    assert {x["attempt"] for x in lines} == {"M01-1", "M02-1"}
    lock = json.loads((folder / "lock.json").read_text())
    assert (lock["pinned"], lock["server"]["weights"]) == ({"temperature": 0}, "stub-model")
    assert {(json.loads(x["sampling"])["temperature"], x["note"]) for x in lines} == {(0, "temperature pinned")}
    detail = (folder / "detail.md").read_text()
    assert 'set by the gateway in every request: `{"temperature":0}`' in detail
    assert "the model's own server said: server LM Studio, weights stub-model" in detail
    _leaves_a_trail(folder, row)


def _change_provider(bench: Bench, **keys: Any) -> None:
    providers = yaml.safe_load((ROOT / "registry" / "providers.yaml").read_text())
    providers["providers"]["llama-local"].update(keys)
    (bench.home / "providers.yaml").write_text(yaml.safe_dump(providers))


def _leaves_a_trail(folder: Path, row: dict[str, Any]) -> None:
    """Event log, identity, looks, the layers process and cost: of a run that really was."""
    events = [json.loads(x) for x in (folder / "events.jsonl").read_text().splitlines()]
    kinds = Counter(event["kind"] for event in events)
    assert kinds["agent_start"] == kinds["agent_end"] == 2
    assert kinds["run_start"] == kinds["run_end"] == 1
    answers = [event["data"] for event in events if event["kind"] == "answer"]
    assert all(answer["logged"] and answer["ledger_line"] for answer in answers)
    assert len(answers) == row["result"]["requests"]
    process = json.loads((folder / "scores" / "process.json").read_text())["figures"]
    assert process["tool_calls"]["value"] == kinds["tool_call"] > 0
    assert process["malformed"]["value"] == 0
    looks = [event["data"] for event in events if event["kind"] == "snapshot"]
    assert any(look["lines"] for look in looks)
    # What was seen to change, added up, is at least what is there in the end.
    assert process["churn_snapshots"]["value"] >= 1
    assert json.loads((folder / "scores" / "cost.json").read_text())["figures"]["cost_usd"]["value"] is None
    identity = json.loads((folder / "identity.json").read_text())
    assert identity["facets"]["model"]["agrees"] is True
    assert identity["facets"]["effort"]["on_wire"]["value"] is None
    assert identity["facets"]["system_prompt"]["on_wire"]["value"]
    assert identity["confounds"] == row["result"]["identity"]["confounds"] == []
    assert row["cells"]["freeze"] == "0s"
    assert row["result"]["agentic"]["reason"] or row["cells"]["agentic"] != "-"


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("unauthorised", "401"),
        ("broken_forever", "500"),
        ("limited_forever", "429"),
        ("other_model", "somebody-else"),
        ("cut_forever", ""),
    ],
)
def test_a_provider_that_fails_makes_the_run_invalid(
    bench: Bench, stub: StubServer, scenario: str, words: str, left_behind: Callable[[str], list[str]]
) -> None:
    point(bench, stub, scenario)
    _change_provider(bench, served="exact")
    done = bench.run("llama-local/stub-model")
    assert done.code == 3, done.err
    (row,) = done.document["rows"]
    assert (row["cells"]["outcome"], row["result"]["cause"]) == ("invalid", "provider")
    assert words in row["result"]["detail"]
    assert row["cells"]["att"] == "0"
    (folder,) = bench.run_dirs()
    assert left_behind(run_id_of(folder)) == []


def test_a_model_that_never_answers_is_no_models_failure(bench: Bench, stub: StubServer) -> None:
    bench.change(limits={"attempt_wall_s": 8, "run_wall_s": 16, "memory_mb": 512, "disk_mb": 64, "pids": 64})
    point(bench, stub, "silent")
    done = bench.run("llama-local/stub-model")
    assert done.code == 3
    assert done.document["rows"][0]["result"]["cause"] == "provider"


def test_nobody_at_the_address(bench: Bench) -> None:
    bench.env["LLAMA_LOCAL_URL"] = "http://127.0.0.1:9/v1"
    done = bench.run("llama-local/x")
    assert done.code == 3
    assert done.document["rows"][0]["result"]["cause"] == "provider"


def test_a_cap_is_the_contestants_limit(bench: Bench, stub: StubServer) -> None:
    bench.change(
        limits={"attempt_wall_s": 60, "run_wall_s": 60, "memory_mb": 512, "disk_mb": 64, "pids": 64, "requests": 4}
    )
    point(bench, stub, "endless")
    done = bench.run("llama-local/stub-model")
    assert done.code == 0, done.err
    (row,) = done.document["rows"]
    assert (row["cells"]["outcome"], row["result"]["cause"]) == ("fail@M01", "model")
    assert "4 requests" in row["result"]["detail"]


def test_a_full_disk_is_the_contestants_own_doing(bench: Bench, stub: StubServer) -> None:
    """What fitted its disk is judged; that it leaves no room for a second attempt makes no run invalid."""
    point(bench, stub, "fill")
    done = bench.run("llama-local/stub-model")
    assert done.code == 0, done.err
    (row,) = done.document["rows"]
    assert (row["cells"]["outcome"], row["result"]["cause"]) == ("fail@M01", "model")
    assert [a["verify_exit"] for a in row["result"]["attempts"]] == [1, 1]


@pytest.mark.parametrize("scenario", ["sparse", "unsettle"])
def test_what_a_contestant_leaves_cannot_make_its_run_invalid(bench: Bench, stub: StubServer, scenario: str) -> None:
    """Files that cost it nothing and would fill the lab; a file that breaks the benchmark's own setup."""
    bench.change(setup={"argv": ["sh", "-c", "! test -e unsettled"], "timeout_s": 20})
    point(bench, stub, scenario)
    done = bench.run("llama-local/stub-model")
    assert done.code == 0, done.err
    (row,) = done.document["rows"]
    assert (row["cells"]["outcome"], row["result"]["cause"]) == ("fail@M01", "model")


def test_the_key_is_nowhere(bench: Bench, stub: StubServer) -> None:
    point(bench, stub, "spy")
    done = bench.run("llama-local/stub-model")
    files = {str(path.relative_to(bench.home)): path for path in bench.home.rglob("*") if path.is_file()}
    for kind in ("exchanges.jsonl.gz", "journal.jsonl", "events.jsonl", "gateway.jsonl", "stdout.jsonl", "result.json"):
        assert any(name.endswith(kind) for name in files), f"there is no {kind} to search"
    places = [("stdout", done.out.encode()), ("stderr", done.err.encode())]
    assert holders(KEY, [*places, *((name, path.read_bytes()) for name, path in files.items())]) == []
    assert any(KEY in str(entry) for entry in stub.seen), "the stub must have seen the real key"


def test_doctor_makes_one_tiny_completion(bench: Bench, stub: StubServer) -> None:
    point(bench, stub, "talk")
    done = bench("doctor", "--model", "llama-local/stub-model", "--registry", str(bench.index))
    assert "answered in" in done.out, done.err
    assert "as stub-model; price unknown" in done.out
    point(bench, stub, "forgets")
    _change_provider(bench, context_window=8192)
    done = bench("doctor", "--model", "llama-local/stub-model", "--registry", str(bench.index))
    assert done.code == 2
    assert "MEND: the server cut a prompt of" in done.out
    point(bench, stub, "unauthorised")
    done = bench("doctor", "--model", "llama-local/stub-model", "--registry", str(bench.index))
    assert done.code == 3
    assert "401" in done.err
