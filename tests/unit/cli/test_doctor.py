"""``bench doctor`` on a model server of one's own, and ``--efforts`` on an agent that the registry describes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from runner.cli.doctor import _ladder
from runner.cli.main import app
from runner.errors import UsageError
from runner.gateway.providers import Provider

MINE = """harnesses:
  mine: {version: "1", version_argv: [mine], protocols: [chat], argv: [mine, "{url}", "{token}", "{prompt_file}"]}
"""
DECLARED = 2048


class _Own(ThreadingHTTPServer):
    """As LM Studio says what it has loaded; it counts the words of a prompt."""

    holds = DECLARED


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        one = {"id": "m", "state": "loaded", "loaded_context_length": cast(_Own, self.server).holds}
        self._send({"data": [one]} if self.path == "/api/v0/models" else {})

    def do_POST(self) -> None:
        words = len(self.rfile.read(int(self.headers["content-length"])).split())
        usage = {"prompt_tokens": words, "completion_tokens": 1}
        choice = {"index": 0, "message": {"role": "assistant", "content": "ready"}, "finish_reason": "stop"}
        self._send({"id": "r", "model": "m", "choices": [choice], "usage": usage})

    def _send(self, said: dict[str, Any]) -> None:
        data = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Own]:
    monkeypatch.setattr("runner.doctor.run_checks", lambda registry: [])  # of the machine: not what is asked here
    (tmp_path / "registry").mkdir()
    with _Own(("127.0.0.1", 0), _Handler) as found:
        entry = {"base_url": f"http://127.0.0.1:{found.server_address[1]}/v1", "local": True, "free": True,
                 "context_window": DECLARED}  # fmt: skip
        (tmp_path / "providers.yaml").write_text(json.dumps({"providers": {"own": entry}}))
        threading.Thread(target=found.serve_forever, args=(0.02,), daemon=True).start()
        yield found
        found.shutdown()


@pytest.mark.parametrize(
    ("holds", "words", "code"),
    [
        (DECLARED, "is read whole", 0),
        (DECLARED - 1, f"MEND: the server says that it holds {DECLARED - 1} tokens, though {DECLARED} are declared: "
         "correct context_window in providers.yaml", 2),
    ],
)  # fmt: skip
def test_a_context_that_is_not_what_agents_are_told_is_to_be_mended(
    server: _Own, tmp_path: Path, holds: int, words: str, code: int
) -> None:
    server.holds = holds
    done = CliRunner().invoke(app, ["doctor", "--model", "own/m", "--registry", str(tmp_path / "registry")])
    assert words in done.stdout
    assert done.exit_code == code


def test_the_same_as_json(server: _Own, tmp_path: Path) -> None:
    server.holds = 1024
    done = CliRunner().invoke(app, ["doctor", "-m", "own/m", "--json", "--registry", str(tmp_path / "registry")])
    said = json.loads(done.stdout)["model"]
    long = said["long_prompt"]
    assert (long["verdict"], long["ok"], long["declared"]) == ("small", False, DECLARED)
    assert said["server"]["context"] == 1024
    assert done.exit_code == 2


def test_an_agent_of_the_registrys_is_known(tmp_path: Path) -> None:
    (tmp_path / "harnesses.yaml").write_text(MINE)
    provider = Provider(name="x", base_url="http://h/v1")
    with pytest.raises(UsageError, match="mine has no image of its own"):
        _ladder(provider, "m", "mine", tmp_path, quiet=True)
    with pytest.raises(UsageError, match="there is no harness 'yours'"):
        _ladder(provider, "m", "yours", tmp_path, quiet=True)
