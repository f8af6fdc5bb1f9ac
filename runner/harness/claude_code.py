"""Claude Code (npm ``@anthropic-ai/claude-code``), headless."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from runner.gateway.providers import Protocol as Wire
from runner.harness.base import HOME, TRIES, HarnessPlan, ImageLayer, Request, choose_effort, choose_wire
from runner.harness.summary import Identity, Summary
from runner.schema.arm import Mode

CONFIG = f"{HOME}/.claude"
COMPACT_FROM, COMPACT_TO = 100_000, 200_000
"""The windows, in tokens, that it can be told of: below it refuses, and 200,000 is what it takes for granted."""
OFF = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_BUG_COMMAND": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}


class ClaudeCode:
    """It speaks Anthropic's protocol alone. Every model it might ask besides the main one is the pinned one."""

    name = log_format = "claude-code"
    version = pin = "2.1.332"
    version_argv: Sequence[str] = ("/opt/claude-code/bin/claude", "--version")
    layer = ImageLayer(name="bench/agent-claude-code", context="claude-code", paths=("/opt/claude-code",))
    speaks: Sequence[Wire] = ("anthropic",)
    efforts: Mapping[str, str] = {word: word for word in ("low", "medium", "high", "xhigh", "max")}
    mode: Mode = "adaptive"

    def prepare(self, request: Request) -> HarnessPlan:
        level = choose_effort(self, request.effort)
        choose_wire(self, request.provider)
        argv = ["/opt/claude-code/bin/claude", "-p", "--model", request.model]
        argv += ["--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]
        argv += ["--strict-mcp-config", "--no-chrome"]
        argv += ["--effort", level] if level else []
        if COMPACT_FROM <= request.provider.context_window < COMPACT_TO:
            argv += ["--autocompact", str(request.provider.context_window)]
        # Last: the flag takes all that follows it. A search runs at the provider, and there is nothing to fetch from.
        argv += ["--disallowedTools", "WebSearch", "WebFetch"]
        others = ("ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL",
                  "ANTHROPIC_SMALL_FAST_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL")  # fmt: skip
        return HarnessPlan(
            argv=argv,
            env={
                "ANTHROPIC_BASE_URL": request.url,
                "ANTHROPIC_API_KEY": request.token,
                **dict.fromkeys(others, request.model),
                "CLAUDE_CODE_MAX_RETRIES": str(TRIES),
                "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(request.provider.max_tokens),
                "CLAUDE_CONFIG_DIR": CONFIG,
                **OFF,
                "TERM": "dumb",
            },
            files={},
            stdin=request.prompt.encode(),
            logs=[f"{CONFIG}/projects"],
        )

    def read_identity(self, log_dir: Path, requested: Request | None = None) -> Identity:
        from runner.harness import claude_log

        return claude_log.read_identity(log_dir, requested)

    def read_summary(self, log_dir: Path) -> Summary:
        from runner.harness import claude_log

        return claude_log.read_summary(log_dir)
