"""What servers of one's own say of themselves, in the words of each."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from runner.gateway.local import Local, look
from runner.gateway.providers import Provider

OLLAMA = {
    "/api/version": {"version": "0.9.0"},
    "/api/show": {
        "template": "{{ .Prompt }}",
        "details": {"family": "qwen3", "quantization_level": "Q4_K_M"},
        "model_info": {"qwen3.context_length": 40960, "general.architecture": "qwen3"},
    },
    "/api/ps": {"models": [{"model": "m", "context_length": 4096}]},
}
LLAMA = {
    "/props": {
        "default_generation_settings": {"n_ctx": 8192},
        "model_path": "/models/Some-Model-7B.Q5_K_S.gguf",
        "chat_template": "{{ .Prompt }}",
        "build_info": "b4242-abc",
    },
    "/v1/models": {"data": [{"id": "m", "meta": {"n_ctx_train": 32768}}]},
}
LM_STUDIO = {
    "/api/v0/models": {
        "data": [
            {"id": "other"},
            {"id": "m", "quantization": "4bit", "max_context_length": 131072, "loaded_context_length": 4096},
        ]
    }
}
VLLM = {
    "/version": {"version": "0.8.1"},
    "/v1/models": {"data": [{"id": "m", "root": "org/Some-Model-AWQ", "max_model_len": 16384}]},
}
HASH = "b507b9c2f6ca"


@contextmanager
def server(pages: dict[str, Any]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            page = pages.get(self.path)
            if page is None or self.headers.get("authorization") != "Bearer k":
                self.send_response(302 if self.path == "/moved" else 404)
                self.end_headers()
                return
            data = page if isinstance(page, bytes) else json.dumps(page).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{http.server_address[1]}"
        http.shutdown()


@pytest.mark.parametrize(
    ("pages", "found"),
    [
        (OLLAMA, Local("Ollama", "0.9.0", "qwen3", "Q4_K_M", 4096, 40960, HASH)),
        (LLAMA, Local("llama.cpp", "b4242-abc", "Some-Model-7B.Q5_K_S.gguf", "Q5_K_S", 8192, 32768, HASH)),
        (LM_STUDIO, Local("LM Studio", None, "m", "4bit", 4096, 131072)),
        (VLLM, Local("vLLM", "0.8.1", "org/Some-Model-AWQ", "AWQ", 16384)),
        (
            {**OLLAMA, "/api/ps": {"models": [{"model": "m:latest", "context_length": 4096}]}},
            Local("Ollama", "0.9.0", "qwen3", "Q4_K_M", 4096, 40960, HASH),
        ),
        ({"/api/version": {"version": "1"}}, Local("Ollama", "1")),
        ({"/v1/models": {"data": [{"id": "m"}]}}, None),
        ({"/props": b"no json", "/version": [1], "/v1/models": {"data": "?"}, "/api/version": 3}, None),
        ({}, None),
    ],
)
def test_each_is_read(pages: dict[str, Any], found: Local | None) -> None:
    with server(pages) as url:
        provider = Provider(name="x", base_url_env="U", key_env="K", local=True)
        assert look(provider, "m", {"U": url, "K": "k"}) == found


def test_nobody_there_is_nothing_said() -> None:
    assert look(Provider(name="x", base_url="http://127.0.0.1:9/v1"), "m", {}) is None


def test_one_line_for_people() -> None:
    assert Local("vLLM", "1", None, "FP8", 4096).words() == "vLLM, version 1, quantization FP8, context 4096"


def test_what_a_server_says_is_a_short_line() -> None:
    odd = {"/version": {"version": "0.8\n| a | b |" + " c" * 500}, "/v1/models": VLLM["/v1/models"]}
    with server(odd) as url:
        found = look(Provider(name="x", base_url_env="U", key_env="K", local=True), "m", {"U": url, "K": "k"})
    assert found is not None
    assert (found.version or "").startswith("0.8 | a | b | c c")
    assert len(found.version or "") == 200
