"""What the registry says of the layers ``process`` and ``cost``: the seed's keys, and a few of ours."""

from __future__ import annotations

import re
from typing import Self

from pydantic import AliasChoices, Field, field_validator, model_validator

from runner.schema.base import Strict


class ProcessSettings(Strict):
    """How the process layer reads an agent's log. Patterns are regular expressions; upper and lower case are one.

    A blind rebaseline needs ``rebaseline_pattern`` and ``e2e_pattern``; without them it is not measured.
    """

    loop_threshold: int = Field(3, ge=2)
    edit_tools: list[str] = ["Write", "Edit", "NotebookEdit", "write", "edit"]
    edit_input_keys: list[str] = ["content", "new_string", "new_source", "edits"]
    shell_tools: list[str] = Field(
        ["Bash", "bash", "exec_command"], validation_alias=AliasChoices("shell_tools", "shell_tool")
    )
    shell_input_key: str = "command"
    rebaseline_pattern: str | None = None
    e2e_pattern: str | None = None
    green_pattern: str = r"\b\d+ passed\b"
    red_pattern: str = r"\b\d+ (failed|error)"
    malformed_patterns: list[str] = []
    context_death_patterns: list[str] = []
    context_death_stop_reasons: list[str] = ["max_tokens", "context_overflow", "length"]
    min_tool_calls: int = Field(1, ge=1)

    @field_validator("shell_tools", mode="before")
    @classmethod
    def _one_or_many(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _patterns_compile(self) -> Self:
        named = [self.rebaseline_pattern, self.e2e_pattern, self.green_pattern, self.red_pattern]
        for pattern in [*named, *self.malformed_patterns, *self.context_death_patterns]:
            try:
                re.compile(pattern or "")
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
        return self


class CostSettings(Strict):
    """Where the provider itself says what a request cost, and how patiently it is asked. Times in seconds."""

    endpoint: str | None = None
    retries: int = Field(3, ge=0, le=10)
    backoff_seconds: float = Field(1.0, ge=0, le=60)
    concurrency: int = Field(8, ge=1, le=64)
    timeout_seconds: float = Field(30, gt=0, le=300)
