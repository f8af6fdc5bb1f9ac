"""Reads mini-swe-agent's trajectory (``traj.json``, format ``mini-swe-agent-1.1``): one document, rewritten each step.

Its retries stand nowhere, and a run that was killed lacks the step in flight.
"""

from __future__ import annotations

import bisect
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.harness.jsonl import MAX_DOCUMENT_BYTES, count, items, mapping, parsed, text
from runner.harness.reading import identify, summarise
from runner.harness.summary import Claim, Identity, LogError, Summary
from runner.harness.trace import OVERFLOW, Answer, Call, Trace, moment, shortened, since_ms
from runner.schema.base import digest
from runner.schema.ledger import Usage

if TYPE_CHECKING:
    from runner.harness.base import Request

FORMATS = re.compile(r"^mini-swe-agent-1(\.\d+)?$")
FIRST = "mini-swe-agent-1"
"""Its first format: actions stand in the answers' text, results in a user's words, and there is no last message."""
ACTION = re.compile(r"```bash\s*\n(.*?)\n```", re.DOTALL)
RETURNCODE = re.compile(r"^<returncode>(-?\d+)</returncode>")
TIMED_OUT = re.compile(r"^The last command .{0,5000} timed out", re.DOTALL)
ENDED_WELL = frozenset(["Submitted", "LimitsExceeded", "RepeatedFormatError", "TimeExceeded"])
"""How a run ends that no error ended."""
MOST_FENCES = 200
NOT_RUN = "action was not executed"
TOOL = "bash"


def read_summary(log_dir: Path) -> Summary:
    """LogError when there is no trajectory, or one of an unknown format."""
    return summarise(read_trace(log_dir))


def read_identity(log_dir: Path, requested: Request | None = None) -> Identity:
    """What its configuration and its answers say; the effort is what it was told to send, not what came of it."""
    return identify(read_trace(log_dir), requested)


def read_trace(log_dir: Path) -> Trace:
    found = sorted(path for path in log_dir.rglob("*.json") if path.name.endswith("traj.json"))
    if not found:
        raise LogError("mini-swe-agent left no trajectory", "its stdout says why")
    return read_document(found[-1])


def read_document(path: Path) -> Trace:
    """The trace of one trajectory."""
    lines = _Lines(path)
    document = lines.document
    known = text(document.get("trajectory_format")) or ""
    if not FORMATS.match(known):
        raise LogError(f"{path.name} is no trajectory of mini-swe-agent in format 1: {known or 'it names no format'}")
    trace = Trace(known)
    _claims(trace, mapping(document.get("info")), lines)
    waiting = _Waiting()
    seen = [_message(trace, message, lines, waiting) for message in items(document.get("messages"))]
    trace.unknown = seen.count(False)
    if not any(seen):
        raise LogError("nothing was recognised in mini-swe-agent's log")
    status = text(mapping(document.get("info")).get("exit_status"))
    if known == FIRST and status and status not in ENDED_WELL:
        _died(trace, status, text(mapping(document.get("info")).get("submission")) or status, lines)
    trace.stop = status or None
    trace.settled = status == "Submitted"
    return trace


class _Lines:
    """The document, and on which of its lines a text stands first."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        if path.stat().st_size > MAX_DOCUMENT_BYTES:
            raise LogError(f"{path.name} is too large to read")
        whole = path.read_bytes()
        document = parsed(whole)
        if document is None:
            raise LogError(f"{path.name} is no JSON document", "the agent was stopped while it wrote")
        self._text = whole.decode("utf-8", "replace")
        self.document = mapping(document)
        self._ends = [match.start() for match in re.finditer("\n", self._text)]

    def of(self, needle: str) -> int:
        at = self._text.find(needle) if needle else -1
        return bisect.bisect_left(self._ends, at) + 1 if at >= 0 else 1


def _claims(trace: Trace, info: dict[str, Any], lines: _Lines) -> None:
    model = mapping(mapping(info.get("config")).get("model"))
    options = mapping(model.get("model_kwargs"))
    if name := text(model.get("model_name")):
        provider, _, bare = name.partition("/")
        trace.model = Claim(bare or name, lines.name, lines.of('"model_name"'))
        if bare:
            trace.provider = Claim(provider, lines.name, lines.of('"model_name"'))
    effort = text(options.get("reasoning_effort"))
    body = mapping(options.get("extra_body"))
    effort = effort or text(body.get("reasoning_effort")) or text(mapping(body.get("reasoning")).get("effort"))
    effort = effort or text(mapping(options.get("reasoning")).get("effort"))
    if effort:
        trace.effort = Claim(effort, lines.name, lines.of('"reasoning_effort"'))
    if version := text(info.get("mini_version")):
        trace.version = Claim(version, lines.name, lines.of('"mini_version"'))


class _Waiting:
    """Calls without a result, in their order."""

    def __init__(self) -> None:
        self._calls: dict[str, list[Call]] = {}
        self._order: list[Call] = []
        self._first = 0

    def add(self, call: Call) -> None:
        self._order.append(call)
        self._calls.setdefault(call.id, []).append(call)

    def take(self, ident: str | None) -> Call | None:
        """The first one of that id, or the first at all where there is none; it waits no more."""
        if ident is not None:
            named = self._calls.get(ident, [])
            return next((call for call in named if not call.answered), None)
        while self._first < len(self._order) and self._order[self._first].answered:
            self._first += 1
        return self._order[self._first] if self._first < len(self._order) else None


def _message(trace: Trace, message: dict[str, Any], lines: _Lines, waiting: _Waiting) -> bool:
    role, extra = text(message.get("role")), mapping(message.get("extra"))
    if role is None:
        return False
    response = mapping(extra.get("response"))
    if role == "system" and trace.prompt is None:
        trace.prompt = Claim(digest(message.get("content")), lines.name, lines.of('"system"'))
    elif role == "assistant" or (role == "user" and response):
        _answer(trace, message, extra, response, lines, waiting)
    elif role == "tool" or (role == "user" and "returncode" in extra):
        _result(waiting, message, extra)
    elif role == "user" and trace.schema == FIRST:
        _said(waiting, message)
    elif role == "exit":
        _exit(trace, message, extra, lines)
    return role in ("system", "user", "assistant", "tool", "exit")


def _answer(
    trace: Trace, message: dict[str, Any], extra: dict[str, Any], response: dict[str, Any], lines: _Lines,
    waiting: _Waiting,
) -> None:  # fmt: skip
    ident = text(response.get("id"))
    line = lines.of(ident or "")
    at = moment(extra.get("timestamp")) or moment(message.get("timestamp")) or moment(response.get("created"))
    choice = next(iter(items(response.get("choices"))), {})
    said = mapping(choice.get("message")) or message
    where: dict[str, Any] = {"file": lines.name, "line": line, "at": at}
    named = text(response.get("model"))
    trace.steps.append(
        Answer(**where, whole=True, response_id=ident, model=named, usage=usage_of(response.get("usage")),
               stop=text(choice.get("finish_reason")))
    )  # fmt: skip
    if named:
        trace.model = Claim(named, lines.name, line)
    refused = extra.get("interrupt_type") == "FormatError"
    words = _words(message.get("content"))
    asked_for = items(said.get("tool_calls"))
    if not asked_for:  # its text-based models: the actions were cut out of the answer's text
        actions = items(extra.get("actions"))
        few = words.count("```") <= MOST_FENCES  # the pattern looks from each for its end
        if not actions and trace.schema == FIRST and few and len(cut := ACTION.findall(words)) == 1:
            actions = [{"command": cut[0]}]  # it runs one action an answer, or none
        asked_for = [
            {"id": f"{ident or len(trace.steps)}-{number}", "function": {"name": TOOL, "arguments": action}}
            for number, action in enumerate(actions)
        ]
    for asked in asked_for:
        function = mapping(asked.get("function"))
        arguments, kind = _arguments(function, refused, words)
        call = Call(**where, id=text(asked.get("id")) or f"{lines.name}:{line}", tool=text(function.get("name")) or "?",
                    arguments=arguments, malformed=kind, refused=refused, answered=refused,
                    output=words if refused else "")  # fmt: skip
        trace.steps.append(call)
        waiting.add(call)


def _arguments(function: dict[str, Any], refused: bool, words: str) -> tuple[Any, str | None]:
    """A call's arguments and, where the agent refused the answer, what was wrong with this one.

    An answer is refused as a whole, so that a good call beside a bad one is refused with it.
    """
    raw = function.get("arguments")
    parsed: Any = raw
    broken = False
    if isinstance(raw, str):
        try:
            parsed = json.loads(raw)
        except (ValueError, RecursionError):
            broken = True
    if broken:
        return raw, "json"
    if not refused:
        return parsed, None
    if text(function.get("name")) != TOOL:
        return parsed, "unknown_tool"
    command = parsed.get("command") if isinstance(parsed, dict) else None
    return parsed, None if isinstance(command, str) and command else "schema"


def _result(waiting: _Waiting, message: dict[str, Any], extra: dict[str, Any]) -> None:
    call = waiting.take(text(message.get("tool_call_id")))
    if call is None:
        return
    call.answered = True
    call.ended = moment(extra.get("timestamp"))
    call.duration_ms = since_ms(call.at, call.ended)
    call.output = text(extra.get("raw_output")) or _words(message.get("content"))
    code = extra.get("returncode")
    ran = text(extra.get("exception_info")) != NOT_RUN
    call.refused = call.failed = ran and isinstance(code, int) and code != 0


def _said(waiting: _Waiting, message: dict[str, Any]) -> None:
    """A user's words in the first format: the result of the action before them, if that has none yet."""
    words = _words(message.get("content"))
    call = waiting.take(None)
    code = RETURNCODE.match(words)
    if call is None or not (code or TIMED_OUT.match(words)):
        return
    call.answered, call.output = True, words
    call.ended = moment(message.get("timestamp"))
    call.duration_ms = since_ms(call.at, call.ended)
    call.refused = call.failed = code is None or int(code[1]) != 0


def _died(trace: Trace, status: str, words: str, lines: _Lines) -> None:
    trace.error = shortened(words)
    context = status == "ContextWindowExceededError" or bool(OVERFLOW.search(words))
    trace.steps.append(
        Answer(file=lines.name, line=lines.of('"exit_status"'), whole=False, stop="error", error=trace.error,
               context=context)
    )  # fmt: skip


def _exit(trace: Trace, message: dict[str, Any], extra: dict[str, Any], lines: _Lines) -> None:
    """The last message. With an exception it is an error; a limit or a submission is none."""
    words = text(extra.get("exception_str"))
    status = text(extra.get("exit_status")) or ""
    if words is None:
        return
    trace.error = shortened(words or status)
    trace.steps.append(
        Answer(file=lines.name, line=lines.of('"exception_str"'), at=moment(extra.get("timestamp")), whole=False,
               stop="error", error=trace.error or status,
               context=status == "ContextWindowExceededError" or bool(OVERFLOW.search(words)))
    )  # fmt: skip


def usage_of(raw: Any) -> Usage | None:
    """Chat completions' usage: the prompt includes what was read from and written to the cache."""
    if not isinstance(raw, dict):
        return None
    details = mapping(raw.get("prompt_tokens_details")) or mapping(raw.get("input_tokens_details"))
    read = count(details.get("cached_tokens"))
    read = read or count(raw.get("cache_read_input_tokens"))
    written = count(details.get("cache_write_tokens")) or count(details.get("cache_creation_tokens"))
    written = written or count(raw.get("cache_creation_input_tokens"))
    more = mapping(raw.get("completion_tokens_details")) or mapping(raw.get("output_tokens_details"))
    thought = more.get("reasoning_tokens")
    return Usage(
        uncached_input=max(0, count(raw.get("prompt_tokens", raw.get("input_tokens"))) - read - written),
        cache_read=read,
        cache_write=written,
        output=count(raw.get("completion_tokens", raw.get("output_tokens"))),
        reasoning=None if thought is None else count(thought),
    )


def _words(content: Any) -> str:
    return text(content) or "".join(text(part.get("text")) or "" for part in items(content))
