"""What an order takes along of its provider: what is pinned, what a server of one's own says, which limits hold."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest

from runner.fleet.arms import Arms
from runner.lab.kit import Kit
from runner.registry.benchmark import Benchmark
from runner.sandbox.engine import Engine
from runner.schema.entry import Entry
from runner.stages.run import Order

ENTRY = {"id": "b", "source_repo": ".", "baseline": "0000000", "plan": "p", "scope_allowlist": [],
         "commands": {"ci": {"argv": ["true"]}}}  # fmt: skip
AGENT = {
    "version": "1",
    "version_argv": ["x"],
    "protocols": ["chat"],
    "argv": ["x", "{url}", "{token}", "{prompt_file}"],
}


class _LmStudio(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        one = {"id": "m", "state": "loaded", "quantization": "Q4_K_M", "loaded_context_length": 4096}
        data = json.dumps({"data": [one]} if self.path == "/api/v0/models" else {}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _LmStudio) as server:
        url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        models = {"m": {"body": {"temperature": 0}}}
        providers = {"own": {"base_url": url, "local": True, "free": True, "models": models},
                     "far": {"base_url": url, "models": {}}}  # fmt: skip
        (tmp_path / "providers.yaml").write_text(json.dumps({"providers": providers}))
        (tmp_path / "harnesses.yaml").write_text(json.dumps({"harnesses": {"mine": AGENT}}))
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield tmp_path
        server.shutdown()


def test_an_order_says_what_is_pinned_what_is_served_and_which_limits_do_not_hold(home: Path) -> None:
    benchmark = Benchmark(Entry.model_validate(ENTRY), home / "index.md", home, home, {}, "h")
    said: list[str] = []
    orders: list[Order] = []
    with Arms(benchmark) as arms:
        for name in ("own/m", "far/m"):
            draft = arms.draft(name, harness="mine", effort=None)
            orders.append(arms.job(draft, Kit(cast(Engine, None), benchmark), 1, said.append).order)
    own, far = orders
    assert own.pinned == {"temperature": 0}
    assert own.server is not None
    assert (own.server["server"], own.server["quantization"], own.server["context"]) == ("LM Studio", "Q4_K_M", 4096)
    assert (dict(far.pinned), far.server) == ({}, None)  # nobody asks a stranger's server what it serves
    assert said == ["far/m: its price is not known, so limits in USD do not hold"]
