"""Reads Codex's rollout files, and what its ``--json`` stream alone says: how often it reconnected.

Outputs carry no error flag: a failure is read from the command that ran, or from the output's own words. Newer models
have one tool, ``exec``, that holds a script; the commands it runs are nested calls here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.gateway.overflow import overflows
from runner.harness.calls import Calls
from runner.harness.codex_answers import Answers, without_lost_calls
from runner.harness.codex_rows import (
    CALLS,
    KNOWN,
    OUTPUTS,
    answered,
    arguments_of,
    duration_ms,
    is_kind,
    last_failure,
    line_id,
    reconnected,
    usage_of,
)
from runner.harness.jsonl import Row, count, first_of_each, mapping, rows, sessions, text
from runner.harness.reading import identify, must_know, summarise
from runner.harness.summary import Claim, Identity, LogError, Summary
from runner.harness.trace import Answer, Call, Compaction, Retry, Trace, moment, shortened
from runner.schema.ledger import Usage

if TYPE_CHECKING:
    from runner.harness.base import Request

STDOUT = "stdout.jsonl"
ROLLOUT = "codex rollout"
WITH_STREAM = "codex rollout and stream"


def read_summary(log_dir: Path) -> Summary:
    """LogError when there is no log, or nothing in it is Codex's."""
    return summarise(read_trace(log_dir))


def read_identity(log_dir: Path, requested: Request | None = None) -> Identity:
    """Model, effort, version and context window as the turns name them."""
    return identify(read_trace(log_dir), requested)


def read_trace(log_dir: Path) -> Trace:
    """All rollouts below ``log_dir`` and the stream's reconnects; the stream cannot stand in for a rollout, since
    malformed calls and tokens of a failed run are missing there.
    """
    stdout = log_dir / STDOUT
    reader = _Reader()
    stream = list(rows(stdout)) if stdout.is_file() else []
    for found in sessions(log_dir, but=stdout):
        named = bool(found) and found[0].file.startswith("rollout-")
        if named or any((row.data or {}).get("type") == "session_meta" for row in found):
            reader.rollout(found)
        elif not stream and any((row.data or {}).get("type") == "thread.started" for row in found):
            stream = found  # under another name
    if not reader.seen and not reader.trace.torn:
        raise LogError("Codex left no rollout", "its stderr says why")
    if stream:
        reader.stream(stream)
    return reader.finish()


def read_rows(found: Iterable[Row]) -> Trace:
    """The trace of one rollout alone: how often it reconnected stands in none."""
    reader = _Reader()
    reader.rollout(found)
    return reader.finish()


class _Reader:
    def __init__(self) -> None:
        self.trace = Trace(ROLLOUT)
        self.seen = 0
        self._stream = ""
        self._calls = Calls()
        self._answers = Answers()
        self._copied: dict[str, str] = {}
        self._turn: str | None = None
        self._files: dict[str, None] = {}
        self._model: str | None = None
        self._effort: str | None = None

    def rollout(self, found: Iterable[Row]) -> None:
        self._stream, self._turn = "", None
        self._model = self._effort = None
        self._answers.rewind()
        for row in first_of_each(found, line_id):
            self._files.setdefault(row.file)
            if row.data is None:
                self.trace.torn += 1
                continue
            kind, payload = text(row.data.get("type")), mapping(row.data.get("payload"))
            if kind not in KNOWN:
                self.trace.unknown += 1
                continue
            self.seen += 1
            at = moment(row.data.get("timestamp"))
            if kind == "session_meta":
                self._meta(row, payload)
            elif kind == "turn_context":
                self._context(row, payload)
            elif kind == "response_item":
                self._item(row, payload, at)
            elif kind == "event_msg":
                self._event(row, payload, at)
            elif kind == "token_usage_record":
                self._record(row, payload, at)
            elif kind == "compacted":
                self._compacted(row, payload, at)

    def stream(self, found: Iterable[Row]) -> None:
        self.trace.schema = WITH_STREAM
        told = []
        for row in found:
            data = row.data or {}
            kind = text(data.get("type")) or ""
            if (reason := reconnected(data)) is not None:
                self.trace.steps.append(Retry(file=row.file, line=row.number, reason=reason))
                continue
            told.append((kind, row))
            if kind.startswith("turn."):
                self.trace.settled = kind == "turn.completed"
        if (failed := last_failure(told)) is not None:
            self._fails(failed, mapping((failed.data or {}).get("error")) or failed.data or {}, None)

    def finish(self) -> Trace:
        trace = self.trace
        if more := self._answers.unrecorded(trace.answers):
            places = {file: place for place, file in enumerate(self._files)}  # what the stream alone says stands last
            found = [*trace.steps, *more]
            trace.steps = sorted(found, key=lambda step: (places.get(step.file, len(places)), step.line))
        trace.steps = without_lost_calls(trace)
        return must_know(trace, "Codex", recognised=self.seen)

    def _meta(self, row: Row, payload: dict[str, Any]) -> None:
        trace = self.trace
        source = payload.get("source")
        if isinstance(source, dict) or payload.get("thread_source") == "subagent":
            self._stream = text(payload.get("agent_nickname")) or text(payload.get("id")) or "subagent"
        if (version := text(payload.get("cli_version"))) and not (self._stream and trace.version):
            trace.version = Claim(version, row.file, row.number)
        if (provider := text(payload.get("model_provider"))) and not (self._stream and trace.provider):
            trace.provider = Claim(provider, row.file, row.number)

    def _context(self, row: Row, payload: dict[str, Any]) -> None:
        self._turn = text(payload.get("turn_id")) or self._turn
        chosen = mapping(mapping(payload.get("collaboration_mode")).get("settings"))
        self._model = text(payload.get("model")) or text(chosen.get("model")) or self._model
        self._effort = text(payload.get("effort")) or text(chosen.get("reasoning_effort"))
        if self._stream:
            return
        if self._model:
            self.trace.model = Claim(self._model, row.file, row.number)
        self.trace.effort = Claim(self._effort, row.file, row.number) if self._effort else None

    def _item(self, row: Row, payload: dict[str, Any], at: str | None) -> None:
        kind = text(payload.get("type"))
        if is_kind(payload, OUTPUTS, "_output"):
            self._output(payload, at)
            return
        named = text(payload.get("call_id"))
        key = (text(payload.get("id")) or "") if named is None else named
        if (key or self._turn) and self._is_copy(row, payload):
            return
        if kind == "reasoning" or (kind == "message" and payload.get("role") == "assistant"):
            self._answers.says()
        if not is_kind(payload, CALLS, "_call"):
            return
        self._answers.says()
        self._acted()
        arguments, bad = arguments_of(payload)
        call = Call(file=row.file, line=row.number, at=at, stream=self._stream, id=key or f"{row.file}:{row.number}",
                    arguments=arguments, tool=text(payload.get("name")) or kind or "?",
                    malformed="json" if bad else None)  # fmt: skip
        self._calls.add(key, call, self._turn or row.file)
        self.trace.steps.append(call)

    def _output(self, payload: dict[str, Any], at: str | None) -> None:
        if (call := self._calls.waiting(text(payload.get("call_id")) or "")) is not None:
            answered(call, payload, at)

    def _event(self, row: Row, payload: dict[str, Any], at: str | None) -> None:
        kind = text(payload.get("type"))
        if self._turn and kind in ("agent_message", "item_completed") and self._is_copy(row, payload):
            return
        if kind == "agent_message" or mapping(payload.get("item")).get("type") == "AgentMessage":
            self._acted()
        if kind == "item_completed":
            self._completed(row, mapping(payload.get("item")), at)
        elif kind in ("task_started", "turn_started"):
            self._begins(row, payload)
        elif kind == "token_count":
            self._token_count(row, mapping(payload.get("info")), at)
        elif kind in ("task_complete", "turn_complete"):
            self._complete(row, payload, at)
        elif kind == "error" and not (self._stream or self._is_copy(row, payload)):
            self._fails(row, payload, at)
        elif kind == "exec_command_end":
            self._command_end(payload)

    def _begins(self, row: Row, payload: dict[str, Any]) -> None:
        """A turn that has not ended has no end, however the one before it ended."""
        self._turn = text(payload.get("turn_id")) or self._turn
        window = count(payload.get("model_context_window"))
        if window and not (self._stream and self.trace.context_window):
            self.trace.context_window = Claim(str(window), row.file, row.number)
        if not self._stream and not self._is_copy(row, payload):
            self.trace.stop = self.trace.error = None

    def _completed(self, row: Row, item: dict[str, Any], at: str | None) -> None:
        kind = text(item.get("type"))
        if kind not in ("CommandExecution", "FileChange", "McpToolCall"):
            return
        code = item.get("exit_code")
        failed = (isinstance(code, int) and code != 0) or item.get("status") in ("failed", "declined")
        took = duration_ms(item.get("duration"))
        key, own = text(item.get("id")) or "", f"{row.file}:{row.number}"
        call = self._calls.last(key)
        if call is None:  # run by a script of the model's
            call = Call(file=row.file, line=row.number, at=at, stream=self._stream, id=key or own, tool=kind,
                        arguments={"command": item.get("command") or item.get("changes")}, answered=True,
                        nested=True, ended=at, output=text(item.get("aggregated_output")) or "")  # fmt: skip
            self._calls.add(key, call)
            self.trace.steps.append(call)
        call.failed = call.refused = failed
        call.duration_ms = took

    def _command_end(self, payload: dict[str, Any]) -> None:
        """Older versions report a command's end in an event of its own."""
        call = self._calls.last(text(payload.get("call_id")) or "")
        code = payload.get("exit_code")
        if call is not None and isinstance(code, int):
            call.failed = call.refused = code != 0
            call.duration_ms = duration_ms(payload.get("duration"))

    def _record(self, row: Row, payload: dict[str, Any], at: str | None) -> None:
        usage, key = payload.get("usage"), text(payload.get("response_id"))
        answer = self._answer(row, at, usage_of(usage), key)
        copy = json.dumps([self._turn, key, usage], sort_keys=True) if key else None
        self._answers.record(self.trace.steps, answer, copy)

    def _token_count(self, row: Row, info: dict[str, Any], at: str | None) -> None:
        total, last = info.get("total_token_usage"), info.get("last_token_usage")
        copy = self._is_copy(row, mapping(total or last))
        self._answers.count(total, last, lambda spent: self._answer(row, at, spent), copy=copy)

    def _answer(self, row: Row, at: str | None, usage: Usage | None, key: str | None = None) -> Answer:
        return Answer(file=row.file, line=row.number, at=at, stream=self._stream, whole=True, response_id=key,
                      model=self._model, usage=usage, stop="stop", effort=self._effort)  # fmt: skip

    def _acted(self) -> None:
        """The answer under way is the agent's own: it says or does something to the outside."""
        self._answers.acts()
        if not self._stream:
            self.trace.stop = self.trace.error = None

    def _is_copy(self, row: Row, payload: dict[str, Any]) -> bool:
        """A fork begins with what the file it was forked from holds: under new times, but turns keep their ids."""
        said = json.dumps([self._turn, payload], sort_keys=True)
        return self._copied.setdefault(said, row.file) != row.file

    def _compacted(self, row: Row, payload: dict[str, Any], at: str | None) -> None:
        if self._is_copy(row, payload):
            return
        self._answers.compacted(self.trace.steps)
        self.trace.steps.append(Compaction(file=row.file, line=row.number, at=at, stream=self._stream))

    def _complete(self, row: Row, payload: dict[str, Any], at: str | None) -> None:
        if self._stream or self._is_copy(row, payload):
            return
        if isinstance(error := payload.get("error"), dict):
            self._fails(row, error, at)
        elif self.trace.error is None:
            self.trace.stop = "stop"

    def _fails(self, row: Row, error: dict[str, Any], at: str | None) -> None:
        """A turn ends by an error: told by its last line, by an event of its own (other versions), or by the stream."""
        if self.trace.error is not None:
            return
        words = text(error.get("message")) or "error"
        info = error.get("codex_error_info")
        context = info == "context_window_exceeded" or (info is None and overflows(words))
        self.trace.stop, self.trace.error = "error", shortened(words)
        self.trace.steps.append(
            Answer(file=row.file, line=row.number, at=at, whole=False, stop="error", error=shortened(words),
                   context=context)
        )  # fmt: skip
