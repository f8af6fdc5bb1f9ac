"""The agent pi (npm ``@earendil-works/pi-coding-agent``), headless."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.gateway.providers import Protocol as Wire
from runner.gateway.providers import Provider
from runner.harness import pi_log
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
from runner.schema.arm import Mode

PROVIDER = "bench"
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

    name = log_format = "pi"
    version = pin = "1.6.0"
    version_argv: Sequence[str] = ("/opt/pi/bin/pi", "--version")
    layer = ImageLayer(name="bench/agent-pi", context="pi", paths=("/opt/pi",))
    speaks: Sequence[Wire] = ("chat", "responses", "anthropic")
    efforts: Mapping[str, str] = LEVELS
    mode: Mode = "single_agent"

    def prepare(self, request: Request) -> HarnessPlan:
        level = choose_effort(self, request.effort)
        wire = choose_wire(self, request.provider)
        agent_dir = f"{HOME}/.pi/agent"
        logs = f"{HOME}/.bench/{request.session}"
        argv = ["/opt/pi/bin/pi", "-p", "--mode", "json", "--provider", PROVIDER, "--model", request.model]
        argv += ["--thinking", level or "off", "--session-dir", logs, "--no-approve", "--no-mcp"]
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
                f"{agent_dir}/models.json": to_json(_models(request, wire, level)),
                f"{agent_dir}/settings.json": to_json(_settings(request.provider)),
            },
            stdin=request.prompt.encode(),
            logs=[logs],
        )

    def read_identity(self, log_dir: Path, requested: Request | None = None) -> Identity:
        return pi_log.read_identity(log_dir, requested)

    def read_summary(self, log_dir: Path) -> Summary:
        return pi_log.read_summary(log_dir)


def _models(request: Request, wire: Wire, level: str | None) -> dict[str, Any]:
    """``models.json``: one provider, the gateway, with one model.

    pi guesses an endpoint's habits from its address; behind the gateway they must be said. Without a requested
    effort the model is declared as one that is not told how to think, so that nothing about it goes on the wire.
    """
    provider = request.provider
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
