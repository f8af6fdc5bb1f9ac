"""mini-swe-agent (PyPI ``mini-swe-agent``), headless."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.gateway.providers import Protocol as Wire
from runner.harness.base import HOME, TRIES, HarnessPlan, ImageLayer, Request, choose_effort, choose_wire, to_json
from runner.harness.summary import Identity, Summary
from runner.schema.arm import EFFORTS, Mode

ROOT = "/opt/mini-swe-agent"
COMMAND_S = 600
"""How long one of its commands may take, in seconds: its own 30 would cut off what a benchmark's checks need."""
CLASSES: Mapping[Wire, str] = {"chat": "litellm", "responses": "litellm_response"}
LIMITS: Mapping[Wire, str] = {"chat": "max_tokens", "responses": "max_output_tokens"}
START = b"""# Starts mini-swe-agent. It gives an answer's items back as its client's types hold them, with fields that
# nobody sent (async_, caller): OpenAI refuses a field that it does not know. A null says what a missing field says.
from minisweagent.models.litellm_response_model import LitellmResponseModel
from minisweagent.run.mini import app


def bare(value):
    if isinstance(value, dict):
        return {name: bare(inner) for name, inner in value.items() if inner is not None}
    return [bare(inner) for inner in value] if isinstance(value, list) else value


whole = LitellmResponseModel._prepare_messages_for_api
LitellmResponseModel._prepare_messages_for_api = lambda self, messages: bare(whole(self, messages))
app(prog_name="mini")
"""
"""What starts it on the Responses protocol, in place of its own ``mini``."""
VERSION = "import importlib.metadata as m; print(m.version('mini-swe-agent'))"


class MiniSweAgent:
    """It asks through litellm, which may drop what it does not know of a model: the effort goes past it unread."""

    name = log_format = "mini-swe-agent"
    version = pin = "2.4.6"
    version_argv: Sequence[str] = (f"{ROOT}/bin/python", "-c", VERSION)
    layer = ImageLayer(name="bench/agent-mini-swe-agent", context="mini-swe-agent", paths=(ROOT,))
    speaks: Sequence[Wire] = ("chat", "responses")
    efforts: Mapping[str, str] = {word: word for word in EFFORTS if word != "unknown"}
    mode: Mode = "single_agent"

    def prepare(self, request: Request) -> HarnessPlan:
        level = choose_effort(self, request.effort)
        wire = choose_wire(self, request.provider)
        logs = f"{HOME}/.bench/{request.session}"
        config, start = f"{HOME}/.bench-mini/run.yaml", f"{HOME}/.bench-mini/start.py"
        # JSON is YAML. The task goes through a file: an argument may have 128 KiB at most.
        files = {config: to_json(_config(request, wire, level)), f"{logs}/.keep": b""}
        files |= {start: START} if wire == "responses" else {}
        program = [f"{ROOT}/bin/python", start] if wire == "responses" else [f"{ROOT}/bin/mini"]
        return HarnessPlan(
            argv=[*program, "-c", "mini.yaml", "-c", config, "-o", f"{logs}/traj.json"],
            env={
                "OPENAI_API_KEY": request.token,
                "OPENAI_API_BASE": f"{request.url}/v1",
                "OPENAI_BASE_URL": f"{request.url}/v1",
                "MSWEA_CONFIGURED": "true",
                "MSWEA_COST_TRACKING": "ignore_errors",
                "MSWEA_GLOBAL_CONFIG_DIR": f"{HOME}/.bench-mini",
                "MSWEA_SILENT_STARTUP": "1",
                "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": str(TRIES),
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
                "LITELLM_TELEMETRY": "False",
                "TERM": "dumb",
            },
            files=files,
            logs=[logs],
        )

    def read_identity(self, log_dir: Path, requested: Request | None = None) -> Identity:
        from runner.harness import mini_log

        return mini_log.read_identity(log_dir, requested)

    def read_summary(self, log_dir: Path) -> Summary:
        from runner.harness import mini_log

        return mini_log.read_summary(log_dir)


def _config(request: Request, wire: Wire, level: str | None) -> dict[str, Any]:
    """What is laid over its own ``mini.yaml``: no limit (the gateway has them), no question asked."""
    kwargs: dict[str, Any] = {"max_retries": 0, LIMITS[wire]: request.provider.max_tokens}
    if level:
        nested = wire == "responses" or request.provider.dialect == "openrouter"
        kwargs["extra_body"] = {"reasoning": {"effort": level}} if nested else {"reasoning_effort": level}
    return {
        "run": {"task": request.prompt},
        "agent": {"mode": "yolo", "confirm_exit": False, "cost_limit": 0, "step_limit": 0},
        "environment": {"timeout": COMMAND_S},
        "model": {
            "model_name": f"openai/{request.model}",
            "model_class": CLASSES[wire],
            "model_kwargs": kwargs,
        },
    }
