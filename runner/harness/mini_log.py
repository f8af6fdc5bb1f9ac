"""Reads mini-swe-agent's trajectory (``traj.json``, format ``mini-swe-agent-1.1``): one document, rewritten each step.

Its retries stand nowhere, and a run that was killed lacks the step in flight.
"""

from __future__ import annotations

import bisect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.gateway.overflow import overflows
from runner.harness.calls import Calls
from runner.harness.jsonl import items, mapping, parsed, text, whole_of
from runner.harness.mini_rows import Asked, arguments_of, lost_call, said_of, words_of
from runner.harness.reading import identify, summarise
from runner.harness.summary import Claim, Identity, LogError, Summary
from runner.harness.trace import Answer, Call, Trace, moment, shortened, since_ms
from runner.schema.base import digest

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
    """All trajectories below ``log_dir``, in the order of time; the last one says how it ended."""
    found = sorted({*log_dir.rglob("*traj.json"), *log_dir.rglob("*traj.json.gz")})
    if not found:
        raise LogError("mini-swe-agent left no trajectory", "its stdout says why")
    traces = sorted(
        (read_document(path) for path in found), key=lambda one: next((s.at for s in one.steps if s.at), "")
    )
    last = traces[-1]
    last.steps = [step for one in traces for step in one.steps]
    last.unknown = sum(one.unknown for one in traces)
    return last


def read_document(path: Path) -> Trace:
    """The trace of one trajectory."""
    lines = _Lines(path)
    document = lines.document
    known = text(document.get("trajectory_format")) or ""
    if not FORMATS.match(known):
        raise LogError(f"{path.name} is no trajectory of mini-swe-agent in format 1: {known or 'it names no format'}")
    trace = Trace(known)
    _claims(trace, mapping(document.get("info")), lines)
    waiting = Calls()
    seen = [_message(trace, message, lines, waiting) for message in items(document.get("messages"))]
    trace.unknown = seen.count(False)
    if not any(seen):
        raise LogError("nothing was recognised in mini-swe-agent's log")
    status = text(mapping(document.get("info")).get("exit_status"))
    died = status and status not in ENDED_WELL and (known == FIRST or status.endswith("Error"))
    if status and died and trace.error is None:
        _died(trace, status, text(mapping(document.get("info")).get("submission")) or status, lines)
    trace.stop = status or None
    trace.settled = status == "Submitted"
    return trace


class _Lines:
    """The document, and on which of its lines a text stands first."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        whole = whole_of(path)
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


def _message(trace: Trace, message: dict[str, Any], lines: _Lines, waiting: Calls) -> bool:
    role, kind, extra = text(message.get("role")), text(message.get("type")), mapping(message.get("extra"))
    if role == "system" and trace.prompt is None:
        trace.prompt = Claim(digest(message.get("content")), lines.name, lines.of('"system"'))
    elif role == "assistant" or message.get("object") == "response" or "response" in extra or _refused(extra):
        _answer(trace, message, extra, lines, waiting)
    elif role == "tool" or kind == "function_call_output" or (role == "user" and "returncode" in extra):
        _result(waiting, message, extra)
    elif role == "user" and trace.schema == FIRST:
        _said(waiting, message)
    elif role == "exit":
        _exit(trace, message, extra, lines)
    else:
        return role in ("system", "user")
    return True


def _refused(extra: dict[str, Any]) -> bool:
    return extra.get("interrupt_type") == "FormatError"


def _answer(trace: Trace, message: dict[str, Any], extra: dict[str, Any], lines: _Lines, waiting: Calls) -> None:
    """An answer: a message of its own, or one that was refused and stands in the agent's complaint about it."""
    said = said_of(message, extra)
    line = lines.of(said.logged_id)
    at = moment(extra.get("timestamp")) or moment(message.get("timestamp")) or moment(said.created)
    where: dict[str, Any] = {"file": lines.name, "line": line, "at": at}
    context = overflows(said.error)
    trace.steps.append(
        Answer(**where, whole=said.error is None, response_id=said.id, model=said.model, usage=said.usage,
               stop=said.stop, error=shortened(said.error), context=context)
    )  # fmt: skip
    if said.model:
        trace.model = Claim(said.model, lines.name, line)
    refused, answer = _refused(extra), str(len(trace.steps))
    words = words_of(message.get("content"))
    for asked in said.calls or _textual(trace, extra, words) or (lost_call(words) if refused else []):
        arguments, kind = arguments_of(asked, TOOL) if refused else arguments_of(asked, None)
        call = Call(**where, id=asked.id or f"{lines.name}:{line}", tool=asked.tool, arguments=arguments,
                    malformed=asked.malformed or kind, refused=refused, answered=refused,
                    output=words if refused else "")  # fmt: skip
        trace.steps.append(call)
        waiting.add(asked.id or "", call, answer)


def _textual(trace: Trace, extra: dict[str, Any], words: str) -> list[Asked]:
    """The actions of its text-based models: they were cut out of the answer's text."""
    actions = items(extra.get("actions"))
    few = words.count("```") <= MOST_FENCES  # the pattern looks from each for its end
    if not actions and trace.schema == FIRST and few and len(cut := ACTION.findall(words)) == 1:
        actions = [{"command": cut[0]}]  # it runs one action an answer, or none
    return [Asked(None, TOOL, action) for action in actions]


def _result(waiting: Calls, message: dict[str, Any], extra: dict[str, Any]) -> None:
    call = waiting.waiting(text(message.get("tool_call_id")) or text(message.get("call_id")) or "")
    if call is None:
        return
    call.answered = True
    call.ended = moment(extra.get("timestamp"))
    call.duration_ms = since_ms(call.at, call.ended)
    call.output = text(extra.get("raw_output")) or words_of(message.get("content") or message.get("output"))
    code = extra.get("returncode")
    ran = text(extra.get("exception_info")) != NOT_RUN
    call.refused = call.failed = ran and isinstance(code, int) and code != 0


def _said(waiting: Calls, message: dict[str, Any]) -> None:
    """A user's words in the first format: the result of the action before them, if that has none yet."""
    words = words_of(message.get("content"))
    call = waiting.waiting("")
    code = RETURNCODE.match(words)
    if call is None or not (code or TIMED_OUT.match(words)):
        return
    call.answered, call.output = True, words
    call.ended = moment(message.get("timestamp"))
    call.duration_ms = since_ms(call.at, call.ended)
    call.refused = call.failed = code is None or int(code[1]) != 0


def _died(trace: Trace, status: str, words: str, lines: _Lines) -> None:
    trace.error = shortened(words)
    context = status == "ContextWindowExceededError" or overflows(words)
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
               context=status == "ContextWindowExceededError" or overflows(words))
    )  # fmt: skip
