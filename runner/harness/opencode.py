"""opencode (npm ``opencode-ai``), headless."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.errors import UsageError
from runner.gateway.providers import Protocol as Wire
from runner.harness.base import (
    HOME,
    TOKEN_VARIABLE,
    HarnessPlan,
    ImageLayer,
    Request,
    choose_effort,
    choose_wire,
    to_json,
)
from runner.harness.summary import Identity, Summary
from runner.schema.arm import EFFORTS, Mode

PROVIDER = "bench"
PACKAGES: dict[Wire, str] = {
    "chat": "@ai-sdk/openai-compatible",
    "responses": "@ai-sdk/openai",
    "anthropic": "@ai-sdk/anthropic",
}
"""The clients that are built into the program; another one would be fetched."""
VARIANT = "bench-"
"""How our variants' names begin: one of its own of the same name would be mixed in (a budget beside an effort)."""
CLAUDES = ("low", "medium", "high", "xhigh", "max")
"""The efforts that its client for Anthropic's protocol takes; it ends at any other."""
OFF = (
    "OPENCODE_DISABLE_AUTOUPDATE",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    "OPENCODE_DISABLE_LSP_DOWNLOAD",
    "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_SHARE",
)


class OpenCode:
    """Its session lies in an SQLite database, beside the write-ahead log that a killed run leaves."""

    name = log_format = "opencode"
    version = pin = "1.18.33"
    version_argv: Sequence[str] = ("/opt/opencode/bin/opencode", "--version")
    layer = ImageLayer(name="bench/agent-opencode", context="opencode", paths=("/opt/opencode",))
    speaks: Sequence[Wire] = ("chat", "responses", "anthropic")
    efforts: Mapping[str, str] = {word: word for word in EFFORTS if word != "unknown"}
    mode: Mode = "adaptive"

    def prepare(self, request: Request) -> HarnessPlan:
        level = choose_effort(self, request.effort)
        wire = choose_wire(self, request.provider)
        if level and wire == "anthropic" and level not in CLAUDES:
            raise UsageError(
                f"{self.name} has no effort {level!r} on Anthropic's protocol", f"known are {', '.join(CLAUDES)}"
            )
        data = f"{HOME}/.bench/{request.session}"
        config = f"{HOME}/.config/opencode/opencode.json"
        argv = ["/opt/opencode/bin/opencode", "run", "--format", "json", "--pure", "--auto"]
        # A title of ours: it would ask the model for one.
        argv += ["--model", f"{PROVIDER}/{request.model}", "--title", "bench"]
        argv += ["--variant", f"{VARIANT}{level}"] if level else []
        return HarnessPlan(
            argv=argv,
            env={
                TOKEN_VARIABLE: request.token,
                "OPENCODE_CONFIG": config,
                "XDG_DATA_HOME": data,
                **dict.fromkeys(OFF, "1"),
                "TERM": "dumb",
            },
            files={config: to_json(_config(request, wire, level)), f"{data}/opencode/.keep": b""},
            stdin=request.prompt.encode(),
            logs=[f"{data}/opencode"],
        )

    def read_identity(self, log_dir: Path, requested: Request | None = None) -> Identity:
        from runner.harness import opencode_log

        return opencode_log.read_identity(log_dir, requested)

    def read_summary(self, log_dir: Path) -> Summary:
        from runner.harness import opencode_log

        return opencode_log.read_summary(log_dir)


def _config(request: Request, wire: Wire, level: str | None) -> dict[str, Any]:
    provider = request.provider
    model: dict[str, Any] = {
        "name": request.model,
        "tool_call": True,
        "reasoning": level is not None,
        "limit": {"context": provider.context_window, "output": provider.max_tokens},
    }
    if level:
        model["variants"] = {f"{VARIANT}{level}": _variant(wire, provider.dialect, level)}
    return {
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "enabled_providers": [PROVIDER],
        "model": f"{PROVIDER}/{request.model}",
        "small_model": f"{PROVIDER}/{request.model}",
        "tools": {"webfetch": False, "websearch": False},
        "provider": {
            PROVIDER: {
                "npm": PACKAGES[wire],
                "name": PROVIDER,
                "options": {"baseURL": f"{request.url}/v1", "apiKey": f"{{env:{TOKEN_VARIABLE}}}"},
                "models": {request.model: model},
            }
        },
    }


def _variant(wire: Wire, dialect: str, level: str) -> dict[str, Any]:
    """The options of its client that put ``level`` on the wire."""
    if wire == "anthropic":
        return {"effort": level}
    if wire == "chat" and dialect == "openrouter":
        return {"reasoning": {"effort": level}}
    return {"reasoningEffort": level}
