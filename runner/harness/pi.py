"""The agent pi (npm ``@earendil-works/pi-coding-agent``), headless."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runner.errors import UsageError
from runner.gateway.providers import Protocol as Wire
from runner.gateway.providers import Provider
from runner.harness import pi_log
from runner.harness.base import HOME, HarnessPlan, ImageLayer, Request
from runner.harness.summary import Identity, Summary

PROVIDER = "bench"
TOKEN_VARIABLE = "BENCH_RUN_TOKEN"
LEVELS = {"none": "off", "minimal": "minimal", "low": "low", "medium": "medium", "high": "high"}
LEVELS |= {"xhigh": "xhigh", "max": "max"}
APIS: dict[Wire, str] = {
    "chat": "openai-completions",
    "responses": "openai-responses",
    "anthropic": "anthropic-messages",
}
RESERVED_SHARE = 4
"""A quarter of the context window at most is kept free for compaction's own answer."""


class Pi:
    """Everything is told through files and flags; updates, telemetry and project-local settings are off."""

    name = "pi"
    version = "1.6.0"
    version_argv: Sequence[str] = ("/opt/pi/bin/pi", "--version")
    layer = ImageLayer(name="bench/agent-pi", context="pi", paths=("/opt/pi",))

    def prepare(self, request: Request) -> HarnessPlan:
        if request.effort not in LEVELS and request.effort != "unknown":
            raise UsageError(f"pi has no effort {request.effort!r}", f"known are {', '.join(LEVELS)}")
        agent_dir = f"{HOME}/.pi/agent"
        logs = f"{HOME}/.bench/{request.session}"
        argv = ["/opt/pi/bin/pi", "-p", "--mode", "json", "--provider", PROVIDER, "--model", request.model]
        argv += ["--thinking", LEVELS.get(request.effort, "off"), "--session-dir", logs, "--no-approve", "--no-mcp"]
        return HarnessPlan(
            argv=argv,
            env={
                TOKEN_VARIABLE: request.token,
                "PI_CODING_AGENT_DIR": agent_dir,
                "PI_OFFLINE": "1",
                "PI_TELEMETRY": "0",
                "PI_SKIP_VERSION_CHECK": "1",
                "TERM": "dumb",
            },
            files={
                f"{agent_dir}/models.json": _json(_models(request)),
                f"{agent_dir}/settings.json": _json(_settings(request.provider)),
            },
            stdin=request.prompt.encode(),
            logs=[logs],
        )

    def read_identity(self, log_dir: Path, requested: Request | None = None) -> Identity:
        return pi_log.read_identity(log_dir, requested)

    def read_summary(self, log_dir: Path) -> Summary:
        return pi_log.read_summary(log_dir)


def _models(request: Request) -> dict[str, Any]:
    """``models.json``: one provider, the gateway, with one model.

    pi guesses an endpoint's habits from its address; behind the gateway they must be said. Without a requested
    effort the model is declared as one that is not told how to think, so that nothing about it goes on the wire.
    """
    provider, wire = request.provider, request.provider.protocols[0]
    level = LEVELS.get(request.effort)
    model: dict[str, Any] = {
        "id": request.model,
        "reasoning": level is not None,
        "contextWindow": provider.context_window,
        "maxTokens": provider.max_tokens,
    }
    if level is not None:
        # Unmapped levels are lowered in silence; what was asked for must be what is sent.
        model["thinkingLevelMap"] = {level: request.effort}
    entry: dict[str, Any] = {
        "baseUrl": request.url if wire == "anthropic" else f"{request.url}/v1",
        "api": APIS[wire],
        "apiKey": f"${TOKEN_VARIABLE}",
        "models": [model],
    }
    if wire == "chat":
        entry["compat"] = _chat_habits(provider)
    return {"providers": {PROVIDER: entry}}


def _chat_habits(provider: Provider) -> dict[str, Any]:
    own = provider.dialect == "openai"
    return {
        "supportsStore": own,
        "supportsDeveloperRole": own,
        "supportsReasoningEffort": True,
        "supportsUsageInStreaming": True,
        "maxTokensField": "max_completion_tokens" if own else "max_tokens",
        "thinkingFormat": "openrouter" if provider.dialect == "openrouter" else "openai",
    }


def _settings(provider: Provider) -> dict[str, Any]:
    reserve = min(16_384, provider.context_window // RESERVED_SHARE)
    return {
        "httpIdleTimeoutMs": "disabled",
        "enableInstallTelemetry": False,
        "enableAnalytics": False,
        "compaction": {"reserveTokens": reserve, "keepRecentTokens": min(20_000, provider.context_window // 2)},
    }


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode() + b"\n"
