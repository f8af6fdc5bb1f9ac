"""What pi asked again: announced by its event stream, else to be seen from the errors that an answer follows."""

from __future__ import annotations

from dataclasses import replace

from runner.harness.jsonl import Row
from runner.harness.pi_rows import retry_of, stream_of
from runner.harness.trace import Answer, Item, Retry, Trace


def mark_retries(trace: Trace, given_up: set[tuple[int, str]]) -> None:
    """Errors that the same agent asked again: an overflow that was followed by a compaction is none."""
    last = {step.stream: place for place, step in enumerate(trace.steps) if isinstance(step, Answer)}
    ends = set(last.values())
    latest: dict[str, int] = {}
    spoken = sorted(given_up, reverse=True)
    for place in range(len(trace.steps) + 1):
        while spoken and spoken[-1][0] == place:
            ends.add(latest.get(spoken.pop()[1], -1))
        if place < len(trace.steps):
            latest[trace.steps[place].stream] = place
    steps: list[Item] = []
    for place, step in enumerate(trace.steps):
        steps.append(step)
        if isinstance(step, Answer) and place not in ends and step.error is not None and not step.context:
            steps.append(Retry(file=step.file, line=step.line, stream=step.stream, reason=step.error))
    trace.steps = steps


def add_waits(trace: Trace, events: list[Row]) -> None:
    """What the event stream says beyond the session: that the agent came to rest, and its retries' waits."""
    announced = []
    for row in events:
        kind = (row.data or {}).get("type")
        if stream_of(row.data or {}):
            continue  # the session is the main agent's alone
        if kind in ("agent_start", "agent_settled"):
            trace.settled = kind == "agent_settled"
        if kind == "auto_retry_start":
            announced.append(retry_of(row, ""))
    retries = [index for index, step in enumerate(trace.steps) if isinstance(step, Retry)]
    for index, said in zip(retries, announced, strict=False):
        step = trace.steps[index]
        if isinstance(step, Retry):
            trace.steps[index] = replace(step, wait_ms=said.wait_ms)
