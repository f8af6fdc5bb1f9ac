"""Reads Claude Code's session transcripts, and its stream-json when there is no transcript.

The transcript is the better witness: it has the request parameters that were really sent, whole usage, and every API
error. On the stream the usage of a line is the opening one, so tokens come from the closing ``result`` there.
Kinds of lines are many and grow: unknown ones are skipped and counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.gateway.overflow import overflows
from runner.harness.calls import Calls
from runner.harness.claude_rows import (
    KNOWN,
    MALFORMED,
    OWN_QUERIES,
    Message,
    added,
    answer_id,
    complaints,
    copy_id,
    gather,
    is_api_error,
    is_transcript,
    rest_of,
    said,
    settled,
    sidechains,
    stream_of,
    totals_of,
    usage_of,
    window_of,
    with_requests,
)
from runner.harness.jsonl import Row, amount, count, first_of_each, items, mapping, rows, sessions, text
from runner.harness.reading import NOTHING, identify, must_know, summarise
from runner.harness.summary import Claim, Identity, LogError, Summary
from runner.harness.trace import Answer, Call, Compaction, Retry, Trace, moment, shortened, since_ms
from runner.schema.base import digest
from runner.schema.ledger import Usage

if TYPE_CHECKING:
    from runner.harness.base import Request

STDOUT = "stdout.jsonl"
SYNTHETIC = "<synthetic>"
FILLED = "model_context_window_exceeded"


def read_summary(log_dir: Path) -> Summary:
    """LogError when there is no log, or nothing in it is Claude Code's."""
    return summarise(read_trace(log_dir))


def read_identity(log_dir: Path, requested: Request | None = None) -> Identity:
    """Model, effort and version as the transcript's own requests name them."""
    return identify(read_trace(log_dir), requested)


def read_trace(log_dir: Path) -> Trace:
    """All transcripts below ``log_dir`` (sub-agents have files of their own), else the stream."""
    stdout = log_dir / STDOUT
    transcripts: list[Row] = []
    for found in sessions(log_dir, but=stdout):
        if any(is_transcript(row) for row in found):
            transcripts += found
    stream = list(rows(stdout)) if stdout.is_file() else []
    if transcripts:
        trace = read_rows(transcripts)
        trace.settled = settled(stream)
        return trace
    if not stream:
        raise LogError("Claude Code left no log", "its stderr says why")
    return read_rows(stream, stream=True)


def read_rows(found: Iterable[Row], *, stream: bool = False) -> Trace:
    """The trace of a transcript, or of a stream-json log, as the seed's logs are."""
    schema = "claude-code stream" if stream else "claude-code transcript"
    once = first_of_each(first_of_each(found, lambda row: text((row.data or {}).get("uuid"))), copy_id)
    whole = with_requests(list(once))
    reader = _Reader(schema, gather(whole, stream=stream), sidechains(whole))
    for row in whole:
        reader.line(row)
    trace = reader.finish()
    trace.settled = settled(whole)
    return trace


class _Reader:
    def __init__(self, schema: str, messages: dict[str, Message], roots: dict[str, str]) -> None:
        self.trace = Trace(schema)
        self.seen = 0
        self._messages = messages
        self._answered: set[str] = set()
        self._calls = Calls()
        self._totals: Usage | None = None
        self._states: dict[str | None, dict[str, Any]] = {}
        """The last totals of each chain of sessions: one that goes on, or is forked, begins with those it had."""
        self._results: dict[str, Row] = {}
        self._roots = roots

    def line(self, row: Row) -> None:
        data = row.data
        if data is None:
            self.trace.torn += 1
            return
        kind = text(data.get("type"))
        if kind not in KNOWN:
            self.trace.unknown += 1
            return
        if version := text(data.get("version")) or text(data.get("claude_code_version")):
            self.trace.version = Claim(version, row.file, row.number)
        at = moment(data.get("timestamp"))
        if kind == "assistant":
            self._assistant(row, data, at)
        elif kind == "user":
            self._user(row, data, at)
        elif kind == "system":
            self._system(row, data, at)
        elif kind == "api-request":
            self._request(row, data)
        elif kind == "cost-state":
            self.seen += 1
            self._states[text(data.get("sessionId")) if "startTime" not in data else str(data["startTime"])] = data
        elif kind == "result":
            self.seen += 1
            self._results.setdefault(text(data.get("uuid")) or digest(data), row)

    def finish(self) -> Trace:
        trace = self.trace
        if self._states:
            for state in self._states.values():
                self._add_totals(totals_of(mapping(state.get("modelUsage"))))
            trace.cost_usd = added([amount(state.get("totalCostUSD")) for state in self._states.values()])
        if self._results:
            self._close(list(self._results.values()))
        shown = NOTHING
        for answer in trace.answers:
            shown = shown.plus(answer.usage) if answer.usage is not None else shown
        trace.side_usage = rest_of(self._totals, shown)
        if trace.stop is None and (own := trace.own_answers):
            # An API error that is asked again is no end; what stands last in the conversation is.
            spoken = [a for a in own if a.whole or a.stop == "error"]
            trace.stop = spoken[-1].stop if spoken else None
            trace.error = own[-1].error
        return must_know(trace, "Claude Code", recognised=self.seen, kinds_grow=True)

    def _assistant(self, row: Row, data: dict[str, Any], at: str | None) -> None:
        message = mapping(data.get("message"))
        if not message:
            self.trace.unknown += 1
            return
        self.seen += 1
        stream = stream_of(data, self._roots)
        if is_api_error(data):
            words = said(message) or text(data.get("error")) or "API error"
            details = f"{words} {text(data.get('errorDetails')) or ''}"
            self.trace.steps.append(
                Answer(file=row.file, line=row.number, at=at, stream=stream, whole=False, stop="error",
                       error=shortened(words), context=overflows(details))
            )  # fmt: skip
            return
        if message.get("model") == SYNTHETIC:
            return
        key = answer_id(row)
        facts = self._messages.get(key) or Message()
        if key not in self._answered:
            self._answered.add(key)
            self._answer(row, facts, message, at, stream, data)
        if facts.whole:
            for block in items(message.get("content")):
                if block.get("type") in ("tool_use", "server_tool_use", "mcp_tool_use"):
                    self._call(row, block, at, stream, key)

    def _answer(
        self, row: Row, facts: Message, message: dict[str, Any], at: str | None, stream: str,
        data: dict[str, Any],
    ) -> None:  # fmt: skip
        model = text(message.get("model"))
        effort = text(data.get("effort"))
        ident = text(message.get("id")) or f"{row.file}:{row.number}"
        self.trace.steps.append(
            Answer(file=row.file, line=row.number, at=at, stream=stream, whole=facts.whole, response_id=ident,
                   model=model, usage=facts.usage if facts.whole and facts.closed else None, stop=facts.stop,
                   context=facts.stop == FILLED, effort=effort)
        )  # fmt: skip
        if model and not stream:
            self.trace.model = Claim(model, row.file, row.number)
        if effort and not stream:
            self.trace.effort = Claim(effort, row.file, row.number)

    def _call(self, row: Row, block: dict[str, Any], at: str | None, stream: str, answer: str) -> None:
        key = text(block.get("id")) or ""
        given = block.get("input")
        bad = isinstance(given, dict) and "__unparsedToolInput" in given
        call = Call(file=row.file, line=row.number, at=at, stream=stream, id=key or f"{row.file}:{row.number}",
                    tool=text(block.get("name")) or "?", arguments=given,
                    malformed="json" if bad else None)  # fmt: skip
        if self._calls.twin(key, call, answer):
            return
        self._calls.add(key, call, answer)
        self.trace.steps.append(call)

    def _user(self, row: Row, data: dict[str, Any], at: str | None) -> None:
        self.seen += 1
        for block in items(mapping(data.get("message")).get("content")):
            if block.get("type") != "tool_result":
                continue
            call = self._calls.waiting(text(block.get("tool_use_id")) or "")
            if call is None:
                continue
            content = block.get("content")
            call.output = text(content) or "".join(text(part.get("text")) or "" for part in items(content))
            call.answered, call.ended = True, at
            call.duration_ms = since_ms(call.at, at)
            call.refused = block.get("is_error") is True
            if call.refused and call.malformed is None:
                call.malformed = next((kind for kind, pattern in MALFORMED if pattern.search(call.output)), None)
            call.failed = call.refused and call.malformed is None

    def _system(self, row: Row, data: dict[str, Any], at: str | None) -> None:
        self.seen += 1
        kind, stream = data.get("subtype"), stream_of(data, self._roots)
        if kind == "compact_boundary":
            self.trace.steps.append(Compaction(file=row.file, line=row.number, at=at, stream=stream))
        elif kind in ("api_error", "api_retry"):
            error = mapping(data.get("error"))
            words = text(error.get("formatted")) or text(error.get("message")) or text(data.get("error"))
            status = data.get("error_status")
            reason = shortened(words or (f"HTTP {status}" if status else None)) or "API error"
            wait = data.get("retryInMs", data.get("retry_delay_ms"))
            where: dict[str, Any] = {"file": row.file, "line": row.number, "at": at, "stream": stream}
            self.trace.steps.append(Answer(**where, whole=False, error=reason, context=overflows(reason)))
            self.trace.steps.append(Retry(**where, reason=reason, wait_ms=amount(wait)))
        elif kind == "init" and (model := text(data.get("model"))):
            self.trace.model = self.trace.model or Claim(model, row.file, row.number)

    def _request(self, row: Row, data: dict[str, Any]) -> None:
        self.seen += 1
        if stream_of(data, self._roots) or not OWN_QUERIES.match(text(data.get("querySource")) or ""):
            return  # a helper's effort is not the run's, nor that of a title or a summary
        params = mapping(data.get("params"))
        if self.trace.model is None and (model := text(params.get("model"))):
            self.trace.model = Claim(model, row.file, row.number)
        effort = text(mapping(params.get("output_config")).get("effort"))
        thinking = mapping(params.get("thinking"))
        if effort is None and "budget_tokens" in thinking:
            effort = f"budget_tokens={count(thinking['budget_tokens'])}"
        if effort:
            self.trace.effort = Claim(effort, row.file, row.number)

    def _close(self, results: list[Row]) -> None:
        """The stream's last words: how it ended, and the tokens where no transcript says them.

        Each start of the agent has a last word of its own, which is about that start alone.
        """
        row = results[-1]
        data = row.data or {}
        said_last = [result.data or {} for result in results]
        trace = self.trace
        full = data.get("terminal_reason") == "prompt_too_long"
        failed = full or data.get("is_error") is True or data.get("subtype") == "error_during_execution"
        trace.stop = "error" if failed else text(data.get("stop_reason"))
        words = complaints(data) if failed else []
        trace.error = shortened("; ".join(words))
        full = full or any(map(overflows, words[-1:])) or trace.stop == FILLED
        if full and not any(answer.context for answer in trace.own_answers[-1:]):
            trace.steps.append(
                Answer(file=row.file, line=row.number, at=moment(data.get("timestamp")), whole=False, stop=trace.stop,
                       error=trace.error, context=True)
            )  # fmt: skip
        trace.cost_usd = added([amount(one.get("total_cost_usd")) for one in said_last])
        trace.duration_ms = added([amount(one.get("duration_ms")) for one in said_last])
        trace.turns = sum(count(one.get("num_turns")) for one in said_last) or None
        if not any(answer.usage for answer in trace.answers):
            for result in results:
                self._spent(result)
        if window := window_of(mapping(data.get("modelUsage")), trace.model.value if trace.model else None):
            trace.context_window = Claim(str(window), row.file, row.number)

    def _spent(self, row: Row) -> None:
        data = row.data or {}
        used = totals_of(mapping(data.get("modelUsage")))
        spent = usage_of(data.get("usage")) if isinstance(data.get("usage"), dict) else used
        if spent is not None:
            self.trace.steps.append(
                Answer(file=row.file, line=row.number, at=moment(data.get("timestamp")), whole=True, side=True,
                       usage=spent, stop=self.trace.stop)
            )  # fmt: skip
            self._add_totals(used)

    def _add_totals(self, used: Usage | None) -> None:
        self._totals = used if self._totals is None or used is None else self._totals.plus(used)
