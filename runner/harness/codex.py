"""Codex CLI (npm ``@openai/codex``), headless."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from runner.gateway.providers import Protocol as Wire
from runner.harness.base import (
    HOME,
    TOKEN_VARIABLE,
    TRIES,
    HarnessPlan,
    ImageLayer,
    Request,
    choose_effort,
    choose_wire,
)
from runner.harness.summary import Identity, Summary
from runner.schema.arm import EFFORTS, Mode

CODEX_HOME = f"{HOME}/.codex"
PROVIDER = "bench"
COMPACT_SHARE = 0.9
IDLE_MS = 3_600_000
OFF = (
    "apps",
    "browser_use",
    "computer_use",
    "enable_request_compression",
    "image_generation",
    "in_app_browser",
    "plugins",
    "remote_plugin",
    "skill_mcp_dependency_install",
)
"""Features that reach for a host of their own, run at the provider, or pack requests so that nobody can read them."""


class Codex:
    """It speaks the Responses protocol alone. Any effort word passes through it, so ours are sent as they are."""

    name = log_format = "codex"
    version = pin = "0.171.0"
    version_argv: Sequence[str] = ("/opt/codex/bin/codex", "--version")
    layer = ImageLayer(name="bench/agent-codex", context="codex", paths=("/opt/codex",))
    speaks: Sequence[Wire] = ("responses",)
    efforts: Mapping[str, str] = {word: word for word in EFFORTS if word != "unknown"}
    mode: Mode = "adaptive"

    def prepare(self, request: Request) -> HarnessPlan:
        level = choose_effort(self, request.effort)
        choose_wire(self, request.provider)
        argv = ["/opt/codex/bin/codex", "exec", "--json", "--strict-config", "--skip-git-repo-check"]
        argv += ["--dangerously-bypass-approvals-and-sandbox", "-"]
        return HarnessPlan(
            argv=argv,
            env={TOKEN_VARIABLE: request.token, "CODEX_HOME": CODEX_HOME, "TERM": "dumb"},
            files={f"{CODEX_HOME}/config.toml": _config(request, level).encode()},
            stdin=request.prompt.encode(),
            logs=[f"{CODEX_HOME}/sessions"],
        )

    def read_identity(self, log_dir: Path, requested: Request | None = None) -> Identity:
        from runner.harness import codex_log

        return codex_log.read_identity(log_dir, requested)

    def read_summary(self, log_dir: Path) -> Summary:
        from runner.harness import codex_log

        return codex_log.read_summary(log_dir)


def _config(request: Request, level: str | None) -> str:
    """``config.toml``. Retries of a request multiply with those of a stream, and stand in no log: there are none."""
    window = request.provider.context_window
    top: dict[str, object] = {
        "model": request.model,
        "model_provider": PROVIDER,
        "model_context_window": window,
        "model_auto_compact_token_limit": int(window * COMPACT_SHARE),
        "web_search": "disabled",
        "check_for_update_on_startup": False,
    }
    if level:
        top["model_reasoning_effort"] = level
    tables: dict[str, dict[str, object]] = {
        "analytics": {"enabled": False},
        "feedback": {"enabled": False},
        "history": {"persistence": "none"},
        "features": dict.fromkeys(OFF, False),
        f"model_providers.{PROVIDER}": {
            "name": PROVIDER,
            "base_url": f"{request.url}/v1",
            "env_key": TOKEN_VARIABLE,
            "wire_api": "responses",
            "request_max_retries": 0,
            "stream_max_retries": TRIES,
            "stream_idle_timeout_ms": IDLE_MS,
            "supports_websockets": False,
        },
    }
    parts = [_table(top), *(f"[{name}]\n{_table(values)}" for name, values in tables.items())]
    return "\n".join(parts)


def _table(values: Mapping[str, object]) -> str:
    # JSON's text, numbers and truth values are TOML's, too.
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())
