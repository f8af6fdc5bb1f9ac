"""Reads pi's session file (schema versions 1 to 3) and its event stream.

The session file is the better witness (one entry a message, compactions, line numbers); the event stream survives
when the session file does not, and it alone says whether the agent came to rest, and how long it waited for a retry.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.gateway.overflow import overflows
from runner.harness.calls import Calls
from runner.harness.jsonl import Row, amount, first_of_each, items, mapping, rows, sessions, text
from runner.harness.pi_retries import add_waits, mark_retries
from runner.harness.pi_rows import (
    ENTRIES,
    EVENTS,
    MALFORMED,
    check_header,
    entry_id,
    key_of,
    retry_of,
    stream_of,
    usage_of,
)
from runner.harness.reading import identify, must_know, summarise
from runner.harness.summary import Claim, Identity, LogError, Summary
from runner.harness.trace import Answer, Call, Compaction, Trace, moment, shortened, since_ms
from runner.schema.base import digest

if TYPE_CHECKING:
    from runner.harness.base import Request

STDOUT = "stdout.jsonl"


def read_summary(log_dir: Path) -> Summary:
    """LogError when there is no log, or one of an unknown schema."""
    return summarise(read_trace(log_dir))


def read_identity(log_dir: Path, requested: Request | None = None) -> Identity:
    """What the log says of model, provider and thinking level."""
    return identify(read_trace(log_dir), requested)


def read_trace(log_dir: Path) -> Trace:
    """All that was collected of one attempt, sessions in the order of time."""
    stdout = log_dir / STDOUT
    events = list(rows(stdout)) if stdout.is_file() else []
    found: list[Row] = []
    strange: list[list[Row]] = []
    version = 0
    for one in sessions(log_dir, but=stdout):
        kinds = {text((row.data or {}).get("type")) for row in one}
        if kinds & (EVENTS - ENTRIES):  # a stream under another name
            events = events or one
        elif kinds & ENTRIES:
            version = max(version, check_header(one, one[0].file))
            found += one
        else:
            strange.append(one)
    if not found and strange:  # a file where the session should be, and none of it is pi's
        check_header(strange[0], strange[0][0].file if strange[0] else "the session")
    if not found and events:
        check_header(events, STDOUT)
        return read_events(events)
    if not found:
        raise LogError("pi left no log", "its stderr says why")
    trace = _of_entries(found, version)
    add_waits(trace, events)
    return trace


def read_session(found: Sequence[Row]) -> Trace:
    """The trace of one session file. Raises LogError for a version that is not known."""
    return _of_entries(found, check_header(found, found[0].file if found else "the log"))


def _of_entries(found: Iterable[Row], version: int) -> Trace:
    """A fork is a file of its own that begins with copies of what it was forked from: each entry counts once."""
    reader = _Reader(f"pi/{version}")
    for row in first_of_each(found, entry_id):
        reader.entry(row)
    return reader.finish()


def read_events(found: Iterable[Row]) -> Trace:
    """The trace of an event stream alone (``--mode json``), as the seed's logs are, too."""
    reader = _Reader("pi/3 events")
    for row in found:
        reader.event(row)
    return reader.finish()


class _Reader:
    def __init__(self, schema: str) -> None:
        self.trace = Trace(schema)
        self.seen = 0
        self._calls = Calls()
        self._answers: set[str] = set()
        self._announced = False
        self._given_up: set[tuple[int, str]] = set()
        """Where somebody else had to speak to which agent: what that one's last error was, it did not ask again."""
        self._helpers: dict[str, Claim] = {}
        """What helpers said of themselves: it holds where nobody else spoke."""

    def entry(self, row: Row, at: str | None = None) -> None:
        """One entry of a session file."""
        data = row.data
        kind = text(data.get("type")) if data else None
        if data is None:
            self.trace.torn += 1
        elif kind not in ENTRIES:
            self.trace.unknown += 1
        elif kind == "message":
            self._message(row, mapping(data.get("message")), at or moment(data.get("timestamp")))
        elif kind in ("compaction", "usage"):
            self._beside(row, data, at or moment(data.get("timestamp")))
        elif kind in ("session", "thinking_level_change"):
            if kind == "session":
                self._asked_anew("")
            if level := text(data.get("thinkingLevel")):
                self.trace.effort = Claim(level, row.file, row.number)
        elif kind == "model_change":
            if provider := text(data.get("provider")):
                self.trace.provider = Claim(provider, row.file, row.number)
            if not self.trace.answers and (model := text(data.get("modelId"))):
                self.trace.model = Claim(model, row.file, row.number)

    def event(self, row: Row) -> None:
        """One event of the stream."""
        data = row.data
        kind = text(data.get("type")) if data else None
        if data is None:
            self.trace.torn += 1
            return
        if kind not in EVENTS:
            self.trace.unknown += 1
            return
        stream = stream_of(data)
        self.seen += kind in ("agent_start", "agent_settled", "turn_start")
        if kind == "message_end":
            self._message(row, mapping(data.get("message")), None, stream)
        elif kind == "tool_execution_start":
            self._start(row, stream, data)
        elif kind == "tool_execution_end":
            result = mapping(data.get("result"))
            self._result(row, stream, data, result.get("content"), None)
        elif kind in ("compaction_end", "auto_compaction_end") and isinstance(data.get("result"), dict):
            self._beside(row, {"type": "compaction", **data["result"]}, None)
        elif kind == "auto_retry_start":
            self.seen += 1
            self._announced = True
            self.trace.steps.append(retry_of(row, stream))
        elif kind in ("agent_start", "agent_settled") and not stream:
            self.trace.settled = kind == "agent_settled"

    def finish(self) -> Trace:
        trace = self.trace
        if not self._announced:
            mark_retries(trace, self._given_up)
        if all(answer.stream for answer in trace.answers):
            for name, claim in self._helpers.items():
                setattr(trace, name, getattr(trace, name) or claim)
        if answers := trace.own_answers:
            trace.stop, trace.error = answers[-1].stop, answers[-1].error
        return must_know(trace, "pi", recognised=self.seen)

    def _message(self, row: Row, message: dict[str, Any], at: str | None, stream: str = "") -> None:
        role = text(message.get("role"))
        if role is None:
            self.trace.unknown += 1
            return
        self.seen += 1
        at = moment(message.get("timestamp")) or at
        if role == "assistant":
            self._answer(row, message, at, stream)
        elif role == "toolResult":
            self._result(row, stream, message, message.get("content"), at)
        elif role == "user":
            self._asked_anew(stream)
        elif role == "system":
            self._claim(row, stream, "prompt", digest({**message, "timestamp": None}))

    def _asked_anew(self, stream: str) -> None:
        self._given_up.add((len(self.trace.steps), stream))

    def _claim(self, row: Row, stream: str, name: str, value: str | None) -> None:
        claim = Claim(value, row.file, row.number) if value else None
        if claim is not None and stream:
            self._helpers[name] = claim
        elif claim is not None:
            setattr(self.trace, name, claim)

    def _answer(self, row: Row, message: dict[str, Any], at: str | None, stream: str) -> None:
        key = text(message.get("responseId"))
        # Some servers give many answers one id: what makes it the same answer is all of it, with its time.
        same = digest(message) if key or "timestamp" in message else f"{row.file}:{row.number}"
        if same in self._answers:
            return
        self._answers.add(same)
        stop = text(message.get("stopReason"))
        whole = stop not in ("error", "aborted")
        error = shortened(text(message.get("errorMessage")) or "error") if stop == "error" else None
        where: dict[str, Any] = {"file": row.file, "line": row.number, "at": at, "stream": stream}
        named = text(message.get("responseModel")) or text(message.get("model"))
        level = text(message.get("thinkingLevel"))
        self.trace.steps.append(
            Answer(**where, whole=whole, response_id=key, model=named, usage=usage_of(message.get("usage")), stop=stop,
                   error=error, context=error is not None and overflows(text(message.get("errorMessage"))),
                   effort=level)
        )  # fmt: skip
        spent = amount(mapping(mapping(message.get("usage")).get("cost")).get("total"))
        if spent is not None:
            self.trace.cost_usd = (self.trace.cost_usd or 0.0) + spent
        said = {"model": named, "effort": level, "provider": text(message.get("provider"))}
        for name, value in said.items():
            self._claim(row, stream, name, value)
        if whole:  # a call in an answer that was cut was never run
            for part in items(message.get("content")):
                if part.get("type") == "toolCall":
                    bad = text(part.get("argumentsError"))
                    self._call(row, stream, part.get("id"), part.get("name"), part.get("arguments"), at, same, bad)

    def _start(self, row: Row, stream: str, data: dict[str, Any]) -> None:
        """A tool starts: of a call that an answer made, or of one that nothing else tells of."""
        ident = data.get("toolCallId")
        if self._calls.last(key_of(stream, ident)) is None:
            self._call(row, stream, ident, data.get("toolName"), data.get("args"), None, "")

    def _call(
        self, row: Row, stream: str, ident: Any, name: Any, arguments: Any, at: str | None, answer: str,
        bad: str | None = None,
    ) -> None:  # fmt: skip
        self.seen += 1
        call = Call(file=row.file, line=row.number, at=at, stream=stream, tool=text(name) or "?",
                    id=text(ident) or f"{row.file}:{row.number}", malformed="json" if bad else None,
                    arguments={"unreadable": bad} if bad else arguments)  # fmt: skip
        self._calls.add(key_of(stream, ident), call, answer)
        self.trace.steps.append(call)

    def _result(self, row: Row, stream: str, data: dict[str, Any], content: Any, at: str | None) -> None:
        """A call's end is told by the tool's event, by the message with its result, or by both."""
        self.seen += 1
        way = "message" if "role" in data else "event"
        call = self._calls.ending(key_of(stream, data.get("toolCallId")), way)
        if call is None:
            return
        if (took := amount(data.get("durationMs"))) is not None:
            call.duration_ms = took  # by its own clock
        if call.answered and call.ended:
            return
        call.output = "".join(text(part.get("text")) or "" for part in items(content))
        call.answered, call.ended = True, at
        call.refused = data.get("isError") is True
        if call.duration_ms is None:
            call.duration_ms = since_ms(call.at, at)
        if call.refused and call.malformed is None:
            call.malformed = next((kind for kind, pattern in MALFORMED if pattern.search(call.output)), None)
        call.failed = call.refused and call.malformed is None

    def _beside(self, row: Row, data: dict[str, Any], at: str | None) -> None:
        self.seen += 1
        spent = usage_of(data.get("usage"))
        if data.get("type") == "compaction":
            self.trace.steps.append(Compaction(file=row.file, line=row.number, at=at, usage=spent))
        elif spent is not None:
            self.trace.steps.append(
                Answer(file=row.file, line=row.number, at=at, whole=True, side=True, usage=spent)
            )  # fmt: skip
