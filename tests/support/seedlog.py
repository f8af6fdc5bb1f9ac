"""Builds logs as the published wrapper writes them: agents' events between ``run_segment`` markers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LOGS = Path(__file__).parents[1] / "unit" / "harness" / "logs"


def mark(event: str, label: str, at: str) -> str:
    return json.dumps({"type": "run_segment", "event": event, "segment": label, "timestamp": at})


def stored(agent: str, case: str) -> str:
    """The event stream of a real agent."""
    return (LOGS / agent / f"{case}.stdout.jsonl").read_text().rstrip()


class Pi:
    """A stream of pi's, call by call; ``second`` is the clock of its messages."""

    def __init__(self, start: int = 1_767_225_600) -> None:
        self.second = start
        self.lines = [json.dumps({"type": "session", "version": 3, "id": "s", "cwd": "/repo"})]

    def add(self, **event: Any) -> Pi:
        self.lines.append(json.dumps(event))
        return self

    def call(
        self, tool: str, arguments: dict[str, Any], said: str = "", *, error: bool = False, agent: str | None = None
    ) -> Pi:
        number = len(self.lines)
        self.second += 1
        tag = {"agent": agent, "agentRun": 1} if agent else {}
        answer = {
            "role": "assistant", "model": "m", "stopReason": "toolUse", "timestamp": self.second * 1000,
            "responseId": f"gen-{number}", "usage": {"input": 100, "output": 10, "cacheRead": 5, "cacheWrite": 1},
            "content": [{"type": "toolCall", "id": f"c{number}", "name": tool, "arguments": arguments}],
        }  # fmt: skip
        self.add(type="message_end", message=answer, **tag)
        self.add(type="tool_execution_start", toolCallId=f"c{number}", toolName=tool, args=arguments, **tag)
        result = {"content": [{"type": "text", "text": said}]}
        return self.add(type="tool_execution_end", toolCallId=f"c{number}", result=result, isError=error, **tag)

    def end(self, stop: str = "stop", error: str | None = None) -> Pi:
        self.second += 1
        answer = {"role": "assistant", "model": "m", "stopReason": stop, "timestamp": self.second * 1000, "content": [],
                  "responseId": f"gen-{len(self.lines)}", "errorMessage": error,
                  "usage": {"input": 100, "output": 10, "cacheRead": 5, "cacheWrite": 1}}  # fmt: skip
        return self.add(type="message_end", message=answer)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def log(path: Path, *parts: tuple[str, str]) -> Path:
    """A log with one closed segment per (label, events), an hour apart."""
    lines = []
    for number, (label, events) in enumerate(parts):
        hour = f"2026-01-01T{number:02d}"
        lines += [mark("start", label, f"{hour}:00:00Z"), events, mark("end", label, f"{hour}:30:00Z")]
    path.write_text("\n".join(lines) + "\n")
    return path
