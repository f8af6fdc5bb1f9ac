"""One question to several models: each is asked alone, and what one does not answer is told of that one."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from runner.errors import ProviderError, UsageError
from runner.gateway.providers import Provider
from runner.scoring import panel

NAMES = ["ollama/a/one", "vllm/two", "ollama/a/three"]
GATEWAY: Any = None


def test_each_is_asked_alone_and_heard_in_its_own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, str] = {}
    together = threading.Barrier(len(NAMES), timeout=10)

    def ask(gateway: object, run_id: str, provider: Provider, model: str, text: str, journal: Path) -> str:
        together.wait()
        asked[run_id] = f"{provider.name}/{model}: {text}"
        if model == "two":
            raise ProviderError("no key")
        journal.write_text(model)
        return f"{model} says so"

    def read(name: str, said: Any) -> tuple[str, str]:
        return name, said.what if isinstance(said, ProviderError) else said

    monkeypatch.setattr(panel, "ask", ask)
    with panel.answers(GATEWAY, tmp_path, NAMES, "r-review", "what?", read) as (found, journals):
        assert found == [(NAMES[0], "a/one says so"), (NAMES[1], "no key"), (NAMES[2], "a/three says so")]
        assert [journal.read_text() for journal in journals] == ["a/one", "a/three"]
    assert asked == {f"r-review-{number}": f"{name}: what?" for number, name in enumerate(NAMES, 1)}
    assert not any(journal.exists() for journal in journals)


def test_nobody_is_asked_where_one_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panel, "ask", lambda *given: pytest.fail("asked"))
    with (
        pytest.raises(UsageError, match="nowhere"),
        panel.answers(GATEWAY, tmp_path, [*NAMES, "nowhere/x"], "r", "what?", lambda name, said: name),
    ):
        pytest.fail("answered")
