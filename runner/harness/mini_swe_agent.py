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
VERSION = "import importlib.metadata as m; print(m.version('mini-swe-agent'))"


class MiniSweAgent:
    """It asks through litellm, which may drop what it does not know of a model: the effort goes past it, as it stands.

    Its class for the Responses protocol writes another kind of trajectory, which nobody here reads: it is not offered.
    """

    name = log_format = "mini-swe-agent"
    version = pin = "2.4.6"
    version_argv: Sequence[str] = (f"{ROOT}/bin/python", "-c", VERSION)
    layer = ImageLayer(name="bench/agent-mini-swe-agent", context="mini-swe-agent", paths=(ROOT,))
    speaks: Sequence[Wire] = ("chat",)
    efforts: Mapping[str, str] = {word: word for word in EFFORTS if word != "unknown"}
    mode: Mode = "single_agent"

    def prepare(self, request: Request) -> HarnessPlan:
        level = choose_effort(self, request.effort)
        choose_wire(self, request.provider)
        logs = f"{HOME}/.bench/{request.session}"
        config = f"{HOME}/.bench-mini/run.yaml"
        return HarnessPlan(
            argv=[f"{ROOT}/bin/mini", "-c", "mini.yaml", "-c", config, "-o", f"{logs}/traj.json"],
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
            # JSON is YAML. The task goes through a file: an argument may have 128 KiB at most.
            files={config: to_json(_config(request, level)), f"{logs}/.keep": b""},
            logs=[logs],
        )

    def read_identity(self, log_dir: Path, requested: Request | None = None) -> Identity:
        from runner.harness import mini_log

        return mini_log.read_identity(log_dir, requested)

    def read_summary(self, log_dir: Path) -> Summary:
        from runner.harness import mini_log

        return mini_log.read_summary(log_dir)


def _config(request: Request, level: str | None) -> dict[str, Any]:
    """What is laid over its own ``mini.yaml``: no limit (the gateway has them), no question asked."""
    kwargs: dict[str, Any] = {"max_retries": 0, "max_tokens": request.provider.max_tokens}
    if level:
        nested = request.provider.dialect == "openrouter"
        kwargs["extra_body"] = {"reasoning": {"effort": level}} if nested else {"reasoning_effort": level}
    return {
        "run": {"task": request.prompt},
        "agent": {"mode": "yolo", "confirm_exit": False, "cost_limit": 0, "step_limit": 0},
        "environment": {"timeout": COMMAND_S},
        "model": {
            "model_name": f"openai/{request.model}",
            "model_class": "litellm",
            "model_kwargs": kwargs,
        },
    }
