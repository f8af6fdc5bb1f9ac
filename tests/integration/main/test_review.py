"""A run that passed is reviewed: pending, then by two models through the gateway, then by grades given elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runner.schema.review import CRITERIA
from tests.integration.main.conftest import Bench
from tests.support import stub_llm

PROVIDERS = """\
providers:
  one: {{base_url: "{one}", key_required: false}}
  two: {{base_url: "{two}", key_required: false, protocols: [anthropic]}}
  control: {{kind: control}}
"""


def answer(grade: int, file: str) -> dict[str, Any]:
    findings = [{"criterion": c, "file": file, "line": 1, "text": "seen"} for c in CRITERIA]
    return {"say": json.dumps({"grades": dict.fromkeys(CRITERIA, grade), "findings": findings})}


def test_a_run_is_reviewed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(stub_llm.SCENARIOS, "judge", [answer(4, "src/greet.py")])
    monkeypatch.setitem(stub_llm.SCENARIOS, "liar", [answer(5, "src/nowhere.py")])
    where = ("--registry", str(bench.index))
    with stub_llm.StubServer() as server:
        urls = {"one": server.url("judge", "1"), "two": server.url("judge", "2")}
        (bench.home / "providers.yaml").write_text(PROVIDERS.format(**urls))
        (row,) = bench.run("control/reference").document["rows"]
        assert row["cells"]["review"] == "pending"
        (folder,) = bench.run_dirs()
        done = bench("score", "review", folder.name, *where)
        assert (done.code, "0 reviewing models" in done.err) == (2, True)

        bench.change(reviewers=["one/stub-model", "two/other-model"])
        (bench.home / "providers.yaml").write_text(PROVIDERS.format(one=urls["one"], two=server.url("liar", "3")))
        done = bench("score", "review", folder.name, *where, "--json")
        assert done.code == 3, done.err
        assert "cites src/nowhere.py:1, which does not exist" in done.document["review"]["reason"]

        (bench.home / "providers.yaml").write_text(PROVIDERS.format(**urls))
        done = bench("score", "review", folder.name, *where, "--json")
        assert done.code == 0, done.err
        assert done.document["review"]["value"] == 4.0
        said = "".join(request for request in map(str, server.seen))
    assert "reference" not in said.replace("src/reference", "")  # blind to who made it
    grades = bench.home / "grades.json"
    reviews = [{"reviewer": name, "grades": dict.fromkeys(CRITERIA, grade)} for name, grade in (("a", 4), ("b", 5))]
    grades.write_text(json.dumps({"rubric": "theirs", "reviews": reviews}))
    done = bench("score", "review", folder.name, "--import", str(grades), *where)
    assert done.code == 0, done.err
    assert "review: 4.0 -> 4.5  [reviews were given]" in done.out
    (listed,) = bench("list", *where, "--json").document
    assert (listed["cells"]["review"], listed["revision"]) == ("4.5", 4)
    assert listed["rubric"]
    detail = (folder / "revisions/4/detail.md").read_text()
    assert "review: 4.5\n" in detail
    assert "disagreement" in detail
    assert bench("verify", *where).code == 0
