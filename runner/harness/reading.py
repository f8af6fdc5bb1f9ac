"""From a trace to the two answers that every reader gives: what was done, and who says it did it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from runner.harness.summary import Identity, LogError, Summary
from runner.harness.trace import Trace, loops, shortened
from runner.schema.ledger import Usage

if TYPE_CHECKING:
    from runner.harness.base import Request

NOTHING = Usage(uncached_input=0, output=0, reasoning=0)


def summarise(trace: Trace) -> Summary:
    """What happened, in numbers."""
    answers, calls = trace.answers, trace.calls
    last = trace.own_answers[-1] if trace.own_answers else None
    failed = [answer for answer in answers if answer.error is not None]
    overflows = [answer for answer in answers if answer.context]
    found = loops(trace.all_calls)
    usage = NOTHING
    for spent in [*(a.usage for a in answers), *(c.usage for c in trace.compactions)]:
        usage = usage.plus(spent) if spent is not None else usage
    return Summary(
        turns=sum(answer.whole and not answer.side for answer in answers),
        calls=len(calls),
        malformed=dict(sorted(Counter(call.malformed for call in trace.all_calls if call.malformed).items())),
        failed_tools=sum(call.failed for call in trace.all_calls),
        errors=len(failed),
        retries=len(trace.retries),
        context_errors=len(overflows),
        context_death=last is not None and last.context,
        compactions=len(trace.compactions),
        usage=usage,
        stop=trace.stop,
        error=shortened(trace.error) or (last.error if last is not None else None),
        settled=trace.settled,
        longest_run=found.run,
        best_cycle=found.cycle,
        side_usage=trace.side_usage,
        response_ids=tuple(dict.fromkeys(answer.response_id for answer in answers if answer.response_id)),
        torn_lines=trace.torn,
        unknown_lines=trace.unknown,
    )


def identify(trace: Trace, requested: Request | None = None) -> Identity:
    """What was asked for, and what the log says of it."""
    return Identity(
        requested_model=requested.model if requested else None,
        requested_effort=requested.effort if requested else None,
        logged_model=trace.model,
        logged_effort=trace.effort,
        logged_version=trace.version,
        logged_provider=trace.provider,
        logged_context_window=trace.context_window,
        logged_prompt=trace.prompt,
    )


def must_know(trace: Trace, agent: str, *, recognised: int, kinds_grow: bool = False) -> Trace:
    """The trace itself; LogError where nothing was recognised, or more lines are strange than known.

    ``kinds_grow``: an agent that adds kinds of lines with every version: strange ones are no sign of another schema.
    """
    if not recognised:
        raise LogError(f"nothing was recognised in {agent}'s log")
    silent = not trace.answers and not trace.all_calls
    if trace.unknown and silent:
        raise LogError(f"{agent}'s log tells of no answer and no call, and {trace.unknown} lines are of unknown kinds")
    if trace.torn > recognised and silent:
        raise LogError(f"{agent}'s log tells of no answer and no call, and {trace.torn} lines are no JSON objects")
    if trace.unknown > recognised and not kinds_grow:
        raise LogError(f"{agent}'s log is in an unknown schema: {trace.unknown} lines of {trace.unknown + recognised}")
    return trace
