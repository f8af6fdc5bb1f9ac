"""Reads opencode's store: its SQLite database, a dump of it (one row a line), or its event stream.

A call that could not be used is stored as a completed call of the tool ``invalid``; its arguments say why.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.harness.jsonl import Row, first_of_each, items, mapping, rows, sessions, text
from runner.harness.opencode_db import database_rows
from runner.harness.opencode_rows import (
    BAD_SCHEMA,
    EVENTS,
    PARTS,
    TABLES,
    created_at,
    is_context,
    is_dump,
    is_event,
    level_of,
    malformed_kind,
    part_id,
    row_id,
    usage_of,
    words_of,
)
from runner.harness.reading import identify, must_know, summarise
from runner.harness.summary import Claim, Identity, LogError, Summary
from runner.harness.trace import Answer, Call, Compaction, Retry, Trace, moment, since_ms
from runner.schema.base import digest

if TYPE_CHECKING:
    from runner.harness.base import Request

STDOUT = "stdout.jsonl"


def read_summary(log_dir: Path) -> Summary:
    """LogError when there is no log, or nothing in it is opencode's."""
    return summarise(read_trace(log_dir))


def read_identity(log_dir: Path, requested: Request | None = None) -> Identity:
    """Model, variant and version as the store names them."""
    return identify(read_trace(log_dir), requested)


def read_trace(log_dir: Path) -> Trace:
    stdout = log_dir / STDOUT
    reader = _Reader()
    stream = list(rows(stdout)) if stdout.is_file() else []
    dumped: list[Row] = []
    for found in sessions(log_dir, but=stdout):
        if any(is_dump(row) for row in found):
            dumped += found
        elif not stream and any(is_event(row) for row in found):
            stream = found  # under another name
    reader.dump(_last_of_each(dumped))
    if not reader.seen:
        reader.dump(_last_of_each(row for path in sorted(log_dir.rglob("*.db")) for row in database_rows(path)))
    if not reader.seen and stream:
        reader.events(first_of_each(stream, part_id))
    if not reader.seen and not reader.trace.torn:
        raise LogError("opencode left no log", "its stderr says why")
    return reader.finish()


def read_dump(found: Iterable[Row]) -> Trace:
    """The trace of a dump, one row of a table a line."""
    reader = _Reader()
    reader.dump(_last_of_each(found))
    return reader.finish()


def read_events(found: Iterable[Row]) -> Trace:
    """The trace of an event stream (``--format json``)."""
    reader = _Reader()
    reader.events(first_of_each(found, part_id))
    return reader.finish()


def read_export(document: dict[str, Any], file: str) -> Trace:
    """The trace of what ``opencode export`` prints: a session with its messages and their parts."""
    rows_: list[dict[str, Any]] = [{"table": "session", "row": mapping(document.get("info"))}]
    for message in items(document.get("messages")):
        info = mapping(message.get("info"))
        rows_.append(_as_row("message", info, session_id=info.get("sessionID")))
        for part in items(message.get("parts")):
            rows_.append(_as_row("part", part, message_id=part.get("messageID") or info.get("id")))
    return read_dump(Row(file, 1, row) for row in rows_)


def _as_row(table: str, data: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"table": table, "row": {"id": data.get("id"), **keys, "data": data}}


class _Reader:
    def __init__(self) -> None:
        self.trace = Trace("opencode store")
        self.seen = 0
        self._parents: set[str] = set()
        self._messages: list[tuple[Row, str, dict[str, Any]]] = []
        self._parts: dict[str, list[tuple[Row, dict[str, Any]]]] = {}
        self._told: dict[str, str] = {}

    def dump(self, found: Iterable[Row]) -> None:
        for row in found:
            if row.data is None:
                self.trace.torn += 1
                continue
            table, record = text(row.data.get("table")), mapping(row.data.get("row"))
            data = mapping(record.get("data"))
            if table not in TABLES:
                self.trace.unknown += 1
            elif table == "session":
                self._session(row, record)
            elif table == "message" and data:
                self.seen += 1
                stream = text(record.get("session_id")) or ""
                self._messages.append((row, stream, {**data, "id": record.get("id")}))
            elif table == "part" and data:
                self.seen += text(data.get("type")) in PARTS
                self._parts.setdefault(text(record.get("message_id")) or "", []).append((row, data))

    def events(self, found: Iterable[Row]) -> None:
        """The stream: parts alone, so that a message is made up around them."""
        for row in found:
            data = row.data
            if data is None:
                self.trace.torn += 1
                continue
            kind, part = text(data.get("type")), mapping(data.get("part"))
            if kind not in EVENTS:
                self.trace.unknown += 1
                continue
            self.seen += 1
            if kind == "error":
                error = {"role": "assistant", "error": data.get("error"), "id": f"{row.file}:{row.number}"}
                self._messages.append((row, "", error))
                continue
            ident = text(part.get("messageID")) or ""
            if ident not in self._parts:
                self._messages.append((row, "", {"role": "assistant", "id": ident}))
            self._parts.setdefault(ident, []).append((row, part))

    def finish(self) -> Trace:
        for row, session, data in sorted(self._messages, key=created_at):
            if self._is_copy(session, data):
                continue
            stream = session if session in self._parents else ""
            parts = self._parts.get(text(data.get("id")) or "", [])
            if data.get("role") == "assistant":
                self._assistant(row, data, parts, stream)
            else:
                self._user(row, data, parts, stream)
        answers = [answer for answer in self.trace.answers if not answer.stream]
        if answers:
            last = ([answer for answer in answers if not answer.side] or answers)[-1]
            self.trace.stop, self.trace.error = last.stop, last.error
            self.trace.settled = last.stop == "stop" and last is answers[-1]  # it goes on after a summary
        return must_know(self.trace, "opencode", recognised=self.seen)

    def _is_copy(self, session: str, data: dict[str, Any]) -> bool:
        """A fork is a session that begins with copies of another's messages: all is the same but the ids."""
        times = mapping(data.get("time"))
        if times.get("created" if data.get("role") == "user" else "completed") is None:
            return False
        said = digest({key: value for key, value in data.items() if key not in ("id", "parentID", "sessionID")})
        return self._told.setdefault(said, session) != session

    def _session(self, row: Row, record: dict[str, Any]) -> None:
        self.seen += 1
        if record.get("parent_id"):
            self._parents.add(text(record.get("id")) or "")
            return
        if version := text(record.get("version")):
            self.trace.version = Claim(version, row.file, row.number)
        model = mapping(record.get("model"))
        self._variant(row, model.get("variant"))
        self._chosen(row, model.get("id"), model)

    def _variant(self, row: Row, variant: Any) -> None:
        name = level_of(variant)
        if name and name != "default":
            self.trace.effort = Claim(name, row.file, row.number)

    def _chosen(self, row: Row, model: Any, chosen: dict[str, Any]) -> None:
        """What was chosen holds until something has answered."""
        if self.trace.model is None and (name := text(model)):
            self.trace.model = Claim(name, row.file, row.number)
        if self.trace.provider is None and (provider := text(chosen.get("providerID"))):
            self.trace.provider = Claim(provider, row.file, row.number)

    def _user(self, row: Row, data: dict[str, Any], parts: list[tuple[Row, dict[str, Any]]], stream: str) -> None:
        if not stream:
            model = mapping(data.get("model"))
            self._variant(row, data.get("variant") or model.get("variant"))
            self._chosen(row, model.get("modelID"), model)
        for place, part in parts:
            if part.get("type") == "compaction":
                at = moment(mapping(data.get("time")).get("created"))
                self.trace.steps.append(Compaction(file=place.file, line=place.number, at=at, stream=stream))

    def _assistant(self, row: Row, data: dict[str, Any], parts: list[tuple[Row, dict[str, Any]]], stream: str) -> None:
        model, provider = text(data.get("modelID")), text(data.get("providerID"))
        side = data.get("summary") is True
        own = not stream and not side
        if model and own:
            self.trace.model = Claim(model, row.file, row.number)
        if provider and own:
            self.trace.provider = Claim(provider, row.file, row.number)
        variant = level_of(data.get("variant"))
        if own:
            self._variant(row, variant)
        finished = 0
        for place, part in parts:
            kind = part.get("type")
            at = moment(mapping(part.get("time")).get("start")) or moment(mapping(data.get("time")).get("created"))
            where: dict[str, Any] = {"file": place.file, "line": place.number, "at": at, "stream": stream}
            if kind == "tool":
                self._tool(place, part, stream)
            elif kind == "retry":
                words = words_of(part.get("error"))
                self.trace.steps.append(
                    Answer(**where, whole=False, error=words, context=is_context(part.get("error")))
                )
                self.trace.steps.append(Retry(**where, reason=words))
            elif kind == "step-finish":
                finished += 1
                self.trace.steps.append(
                    Answer(**where, whole=True, side=side, model=model, usage=usage_of(part.get("tokens")),
                           stop=text(part.get("reason")), effort=variant)
                )  # fmt: skip
        at = moment(mapping(data.get("time")).get("completed")) or moment(mapping(data.get("time")).get("created"))
        here: dict[str, Any] = {"file": row.file, "line": row.number, "at": at, "stream": stream}
        if not finished and data.get("finish"):
            self.trace.steps.append(
                Answer(**here, whole=True, side=side, model=model, usage=usage_of(data.get("tokens")),
                       stop=text(data.get("finish")), effort=variant)
            )  # fmt: skip
        if data.get("error"):
            error = data.get("error")
            self.trace.steps.append(
                Answer(**here, whole=False, stop="error", error=words_of(error), context=is_context(error))
            )

    def _tool(self, row: Row, part: dict[str, Any], stream: str) -> None:
        state = mapping(part.get("state"))
        given, status = mapping(state.get("input")), text(state.get("status"))
        start, end = (moment(mapping(state.get("time")).get(name)) for name in ("start", "end"))
        said = text(state.get("output")) or text(state.get("error")) or ""
        tool = text(part.get("tool")) or "?"
        malformed = None
        if tool == "invalid":
            tool = text(given.get("tool")) or tool
            malformed = malformed_kind(text(given.get("error")) or said)
        elif status == "error" and BAD_SCHEMA.search(said):
            malformed = "schema"
        code = mapping(state.get("metadata")).get("exit")
        failed = malformed is None and (status == "error" or (isinstance(code, int) and code != 0))
        self.trace.steps.append(
            Call(file=row.file, line=row.number, at=start, stream=stream, tool=tool,
                 id=text(part.get("callID")) or f"{row.file}:{row.number}",
                 arguments=given, malformed=malformed, failed=failed, refused=failed or malformed is not None,
                 output=said, ended=end, duration_ms=since_ms(start, end), answered=status in ("completed", "error"))
        )  # fmt: skip


def _last_of_each(found: Iterable[Row]) -> Iterable[Row]:
    """A store that was dumped twice has most rows twice; the later one knows more."""
    return {row_id(row) or f"{row.file}:{row.number}": row for row in found}.values()
