#!/usr/bin/env python3
"""A model server that plays a script: three protocols, streamed or not, one misbehaviour per scenario.

Standard library only, so that it runs as a module in a test or as a file in a container:

    python3 stub_llm.py --host 0.0.0.0 --port 8080 --journal /tmp/wire.jsonl

The path chooses: ``/<scenario>/<run>/v1/...``. The n-th request of a run gets the scenario's n-th step; the last step
repeats. A step is a dict: ``say`` (text), ``tool`` (name, arguments), ``status`` (an error), ``cut`` (stop midway),
``hang`` (seconds of silence), ``pause`` (seconds before the last event), ``model`` (answer under another name),
``redirect``, ``echo_key`` (an error that quotes the key; ``"gzip"``: compressed), ``gzip``, ``usage`` (counts, or
None), ``written`` (tokens written to the cache), ``provider`` (the host behind a broker), ``searched`` (times the
provider searched), ``fails_late`` (a stream that turns into an error), ``only_if`` (a text: the step is for requests
that hold it, others are simply answered), ``reads`` (the usage counts the request's words, at most so many).

``GET /generation?id=`` answers like a broker's books.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = dict[str, Any]

WRITE: Step = {"say": "I write it.", "tool": ("write", {"path": "hello.py", "content": "print('hello')\n"})}
RUN: Step = {"tool": ("bash", {"command": "python3 hello.py"})}
DONE: Step = {"say": "Done."}

CONTEXT_WORDS = "This model's maximum context length is 8192 tokens; your messages have 9000."

SCENARIOS: dict[str, list[Step]] = {
    "happy": [WRITE, RUN, DONE],
    "talk": [DONE],
    "sparse": [{"tool": ("bash", {"command": "cd src && truncate -s 50M a b c d"})}, DONE],
    "unsettle": [{"tool": ("bash", {"command": "touch unsettled; echo note > /work/note"})}, DONE],
    "fill": [{"tool": ("bash", {"command": "head -c 55000000 /dev/urandom > src/big.bin"})}, DONE],
    # both milestones of the tiny benchmark
    "tiny": [
        {
            "tool": (
                "bash",
                {"command": "printf '\\n\\ndef shout(n):\\n    return greet(n).upper()\\n' >> src/greet.py"},
            )
        },
        DONE,
        {
            "tool": (
                "write",
                {"path": "tests/test_shout.py", "content": "from greet import shout\n\nassert shout('a')\n"},
            )
        },
        DONE,
    ],
    "commit": [
        WRITE,
        {"tool": ("bash", {"command": "git add hello.py && git commit -qm 'say hello'"})},
        DONE,
    ],
    "bad_json": [{"tool": ("bash", '{"command": "ls')}, WRITE, DONE],
    "unknown_tool": [{"tool": ("frobnicate", {"x": 1})}, WRITE, DONE],
    "loop": [{"tool": ("bash", {"command": "ls"})}] * 6 + [DONE],
    "endless": [{"tool": ("bash", {"command": "date +%N"})}],
    "context": [WRITE, {"status": "context"}],
    "limited": [WRITE, {"status": 429}, RUN, DONE],
    "limited_forever": [{"status": 429}],
    "broken_forever": [{"status": 500}],
    "broken_late": [WRITE, {"status": 500}],
    "blip": [WRITE, {"status": 503}, DONE],
    "unauthorised": [{"status": 401, "echo_key": True}],
    "unpaid": [{"status": 402}],
    "unknown_model": [{"status": 404}],
    "cut": [WRITE, {**RUN, "cut": True}, RUN, DONE],
    "cut_forever": [{**WRITE, "cut": True}],
    "gpt": [DONE],
    "other_model": [{**DONE, "model": "somebody-else"}],
    "dated_model": [{**DONE, "model": "stub-model-2026-01-31"}],
    "silent": [{"hang": 3600}],
    "redirect": [{"redirect": "http://127.0.0.1:1/elsewhere"}],
    "slow": [{**DONE, "pause": 0.6}],
    "zipped": [{**DONE, "gzip": True}],
    "no_usage": [{**DONE, "usage": None}],
    "echo_zipped": [{"status": 500, "echo_key": "gzip"}],
    "written": [{**DONE, "written": 100}],
    "brokered": [{**DONE, "provider": "Some Host"}],
    "searching": [{**DONE, "searched": 2}],
    "full_midway": [{"fails_late": CONTEXT_WORDS}],
    "overloaded_midway": [{"fails_late": "overloaded"}],
    "waits": [{**DONE, "pause": 1.0}],
    "counts": [{**DONE, "reads": 1_000_000}],
    "forgets": [{**DONE, "reads": 4_000}],
    "full_at_last": [{**DONE, "reads": 1_000_000}, {**DONE, "reads": 1_000_000}, {"status": "context"}],
    # looks for a key wherever it may lie, and is told it in an error
    "spy": [
        {"tool": ("bash", {"command": "env; cat /proc/[0-9]*/environ /run/secrets/* 2>/dev/null | base64 -w0"})},
        {"status": 500, "echo_key": True},
        DONE,
    ],
    # faults that only some requests meet
    "picky": [{"status": 400, "only_if": "poison", "words": "cannot parse"}],
    "fragile": [{"status": 500, "only_if": "poison"}],
    "strict": [{"status": 429, "only_if": "poison"}],
}


SHELLS = ("bash", "Bash", "exec_command", "shell_command", "shell")
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
TREE = "/work/repo"


def adapt(step: Step, body: dict[str, Any]) -> Step:
    """The step in the tools that the request offers: each agent has other names for the same things.

    mini-swe-agent, which offers a shell alone, takes words for a mistake: its last step is a command.
    """
    offered = [tool for tool in body.get("tools") or [] if isinstance(tool, dict)]
    names = {(tool.get("function") or tool).get("name") for tool in offered}
    shell = next((name for name in SHELLS if name in names), None)
    if shell is None:
        return step
    if "tool" not in step:
        speaks = "say" in step and names == {"bash"}
        return {**step, "tool": ("bash", {"command": SUBMIT})} if speaks else step
    name, given = step["tool"]
    if name == "write" and isinstance(given, dict):
        where = f"{TREE}/{given['path']}"
        if "Write" in names:
            return {**step, "tool": ("Write", {"file_path": where, "content": given["content"]})}
        if {"write", "glob"} <= names:
            return {**step, "tool": ("write", {"filePath": where, "content": given["content"]})}
        if "write" not in names:
            name, given = "bash", {"command": f"cat > {given['path']} <<'END'\n{given['content']}END\n"}
    if name != "bash":
        return {**step, "tool": (name, given)}
    if isinstance(given, dict):
        more = {"description": "a step"} if shell == "Bash" or "glob" in names else {}
        given = {"cmd": given["command"]} if shell == "exec_command" else {**given, **more}
    elif shell == "exec_command":
        given = given.replace('"command"', '"cmd"')
    return {**step, "tool": (shell, given)}


def usage_of(step: Step, n: int) -> tuple[int, int, int, int] | None:
    """(uncached input, cache read, output with reasoning, reasoning) of the n-th answer."""
    return step.get("usage", (1000 + 10 * n, 400 * n, 60 + n, 16))


def arguments(step: Step) -> str:
    given = step["tool"][1]
    return given if isinstance(given, str) else json.dumps(given)


def _object(text: str) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except ValueError:
        return {}


class Answer:
    """One step in the words of one protocol."""

    def __init__(self, wire: str, step: Step, n: int, model: str, run: str) -> None:
        self.wire, self.step, self.n = wire, step, n
        self.model = step.get("model", model)
        self.id = f"{ {'chat': 'chatcmpl', 'responses': 'resp', 'anthropic': 'msg'}[wire] }-{run}-{n}"
        self.call = f"call_{run}_{n}"

    def usage(self) -> dict[str, Any] | None:
        counts = usage_of(self.step, self.n)
        if counts is None:
            return None
        into, read, out, thought = counts
        written = self.step.get("written", 0)
        if self.wire == "anthropic":
            said = {"input_tokens": into, "cache_read_input_tokens": read, "output_tokens": out}
            if "searched" in self.step:
                said["server_tool_use"] = {"web_search_requests": self.step["searched"]}
            return said | ({"cache_creation_input_tokens": written} if written else {})
        first, second = ("input", "output") if self.wire == "responses" else ("prompt", "completion")
        return {
            f"{first}_tokens": into + read + written,
            f"{first}_tokens_details": {"cached_tokens": read} | ({"cache_write_tokens": written} if written else {}),
            f"{second}_tokens": out,
            f"{second}_tokens_details": {"reasoning_tokens": thought},
            "total_tokens": into + read + written + out,
        }

    def whole(self) -> dict[str, Any]:
        text, tool = self.step.get("say", ""), self.step.get("tool")
        if self.wire == "chat":
            message: dict[str, Any] = {"role": "assistant", "content": text}
            if tool:
                function = {"name": tool[0], "arguments": arguments(self.step)}
                message["tool_calls"] = [{"id": self.call, "type": "function", "function": function}]
            choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if tool else "stop"}
            body = {"id": self.id, "object": "chat.completion", "created": 1, "model": self.model, "choices": [choice]}
        elif self.wire == "responses":
            body = {"id": self.id, "object": "response", "created_at": 1, "model": self.model, "status": "completed"}
            body["output"] = [self._message(text)] if text or not tool else []
            body["output"] += [self._function()] if tool else []
        else:
            blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text or not tool else []
            if tool:
                blocks.append(
                    {"type": "tool_use", "id": self.call, "name": tool[0], "input": _object(arguments(self.step))}
                )
            body = {"id": self.id, "type": "message", "role": "assistant", "model": self.model, "content": blocks}
            body["stop_reason"] = "tool_use" if tool else "end_turn"
        if self.usage() is not None:
            body["usage"] = self.usage()
        if "provider" in self.step:
            body["provider"] = self.step["provider"]
        return body

    def events(self) -> Iterator[str]:
        make = {"chat": self._chat_events, "responses": self._responses_events, "anthropic": self._anthropic_events}
        yield from make[self.wire]()

    def _chat_events(self) -> Iterator[str]:
        head = {"id": self.id, "object": "chat.completion.chunk", "created": 1, "model": self.model}
        if "provider" in self.step:
            head["provider"] = self.step["provider"]

        def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
            return (
                f"data: {json.dumps({**head, 'choices': [{'index': 0, 'delta': delta, 'finish_reason': finish}]})}\n\n"
            )

        yield chunk({"role": "assistant", "content": ""})
        for word in self.step.get("say", "").split():
            yield chunk({"content": word + " "})
        if tool := self.step.get("tool"):
            opening = {"index": 0, "id": self.call, "type": "function", "function": {"name": tool[0], "arguments": ""}}
            yield chunk({"tool_calls": [opening]})
            yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": arguments(self.step)}}]})
        yield chunk({}, "tool_calls" if self.step.get("tool") else "stop")
        if self.usage() is not None:
            yield f"data: {json.dumps({**head, 'choices': [], 'usage': self.usage()})}\n\n"
        yield "data: [DONE]\n\n"

    def _message(self, text: str) -> dict[str, Any]:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        return {"type": "message", "id": f"m-{self.id}", "role": "assistant", "status": "completed", "content": content}

    def _function(self) -> dict[str, Any]:
        name, given = self.step["tool"][0], arguments(self.step)
        return {
            "type": "function_call",
            "id": f"f-{self.id}",
            "call_id": self.call,
            "name": name,
            "arguments": given,
            "status": "completed",
        }

    def _responses_events(self) -> Iterator[str]:
        count = 0

        def event(kind: str, **fields: Any) -> str:
            nonlocal count
            count += 1
            return f"event: {kind}\ndata: {json.dumps({'type': kind, 'sequence_number': count, **fields})}\n\n"

        whole = self.whole()
        yield event("response.created", response={**whole, "status": "in_progress", "output": [], "usage": None})
        for index, item in enumerate(whole["output"]):
            where = {"output_index": index, "item_id": item["id"]}
            if item["type"] == "message":
                text = item["content"][0]["text"]
                yield event(
                    "response.output_item.added",
                    output_index=index,
                    item={**item, "status": "in_progress", "content": []},
                )
                yield event(
                    "response.content_part.added",
                    **where,
                    content_index=0,
                    part={"type": "output_text", "text": "", "annotations": []},
                )
                yield event("response.output_text.delta", **where, content_index=0, delta=text)
                yield event("response.output_text.done", **where, content_index=0, text=text)
                yield event("response.content_part.done", **where, content_index=0, part=item["content"][0])
            else:
                yield event(
                    "response.output_item.added",
                    output_index=index,
                    item={**item, "status": "in_progress", "arguments": ""},
                )
                yield event("response.function_call_arguments.delta", **where, delta=item["arguments"])
                yield event("response.function_call_arguments.done", **where, arguments=item["arguments"])
            yield event("response.output_item.done", output_index=index, item=item)
        yield event("response.completed", response=whole)

    def _anthropic_events(self) -> Iterator[str]:
        def event(kind: str, **fields: Any) -> str:
            return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"

        whole = self.whole()
        opening = {**(self.usage() or {}), "output_tokens": 1}
        yield event("message_start", message={**whole, "content": [], "stop_reason": None, "usage": opening})
        for index, block in enumerate(whole["content"]):
            if block["type"] == "text":
                yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
                yield event("content_block_delta", index=index, delta={"type": "text_delta", "text": block["text"]})
            else:
                yield event("content_block_start", index=index, content_block={**block, "input": {}})
                given = {"type": "input_json_delta", "partial_json": arguments(self.step)}
                yield event("content_block_delta", index=index, delta=given)
            yield event("content_block_stop", index=index)
        yield event(
            "message_delta",
            delta={"stop_reason": whole["stop_reason"], "stop_sequence": None},
            usage=self.usage() or {},
        )
        yield event("message_stop")


class StubServer(ThreadingHTTPServer):
    """Counts requests per run and keeps what it saw in ``seen``."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, host: str = "127.0.0.1", port: int = 0, journal: str | None = None) -> None:
        super().__init__((host, port), StubHandler)
        self.seen: list[dict[str, Any]] = []
        self._counts: dict[str, int] = {}
        self._playing: dict[str, str] = {}
        self._journal = journal
        self._lock = threading.Lock()

    def url(self, scenario: str, run: str = "r") -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{scenario}/{run}/v1"

    def play(self, run: str, scenario: str) -> None:
        """What the URL of scenario ``any`` and this run stands for from now on, from its first step."""
        with self._lock:
            self._playing[run] = scenario
            self._counts.pop(f"{scenario}/{run}", None)

    def playing(self, scenario: str, run: str) -> str:
        return self._playing.get(run, scenario) if scenario == "any" else scenario

    def next(self, run: str) -> int:
        with self._lock:
            self._counts[run] = self._counts.get(run, -1) + 1
            return self._counts[run]

    def note(self, record: dict[str, Any]) -> None:
        with self._lock:
            self.seen.append(record)
            if self._journal:
                with open(self._journal, "a", encoding="utf-8") as file:
                    file.write(json.dumps({**record, "body": None}) + "\n")

    def __enter__(self) -> StubServer:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.shutdown()
        self.server_close()


class StubHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: StubServer

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        if "/generation?id=" in self.path:
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.server.note({"scenario": "generation", "headers": headers, "body": None, "raw": self.path})
            counts = {"native_tokens_prompt": 1400, "native_tokens_completion": 7, "native_tokens_cached": 400}
            self._send(200, {"data": {**counts, "total_cost": 0.25, "provider_name": "Some Host"}})
        elif self.path.endswith("/models"):
            self._send(200, {"object": "list", "data": [{"id": "stub-model", "object": "model"}]})
        else:
            self._send(404 if self.path != "/health" else 200, {})

    def do_POST(self) -> None:
        raw = self._body()
        _, scenario, run, *rest = self.path.split("?")[0].split("/")
        path = "/".join(rest)
        if path.endswith("count_tokens"):
            self._send(200, {"input_tokens": 42})
            return
        wires = {"chat/completions": "chat", "responses": "responses", "messages": "anthropic"}
        wire = wires[path.removeprefix("v1/")]
        body = json.loads(gzip.decompress(raw) if self.headers.get("content-encoding") == "gzip" else raw)
        scenario = self.server.playing(scenario, run)
        n = self.server.next(f"{scenario}/{run}")
        steps = SCENARIOS[scenario]
        step = adapt(steps[min(n, len(steps) - 1)], body)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.note(
            {
                "scenario": scenario,
                "run": run,
                "n": n,
                "wire": wire,
                "headers": headers,
                "body": body,
                "raw": raw.decode("latin-1") if len(raw) < 10_000 else "",
            }
        )
        if "reads" in step:
            step = {**step, "usage": (min(len(raw.split()), step["reads"]), 0, 5, 0)}
        if "only_if" in step and step["only_if"].encode() not in raw:
            step = DONE
        self._play(Answer(wire, step, n, str(body.get("model")), run), step, bool(body.get("stream")))

    def _play(self, answer: Answer, step: Step, stream: bool) -> None:
        if "hang" in step:
            time.sleep(step["hang"])
            self.close_connection = True
        elif "redirect" in step:
            self._send(307, {}, {"location": step["redirect"]})
        elif "status" in step:
            self._error(answer.wire, step)
        elif stream:
            self._stream(answer, step)
        elif step.get("cut"):
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", "5000")
            self.end_headers()
            self.wfile.write(b'{"id": "half')
            self.close_connection = True
        else:
            self._send(200, answer.whole(), zipped=bool(step.get("gzip")))

    def _error(self, wire: str, step: Step) -> None:
        status, words = step["status"], step.get("words", f"the stub says {step['status']}")
        if status == "context":
            status, words = 400, CONTEXT_WORDS
        if step.get("echo_key"):
            words += f": {self.headers.get('authorization')} {self.headers.get('x-api-key')}"
        full = step["status"] == "context"
        error = {"message": words, "type": "stub_error", "code": "context_length_exceeded" if full else status}
        more = {"retry-after": "1", "x-echo": self.headers.get("authorization") or "-"}
        body = {"type": "error", "error": error} if wire == "anthropic" else {"error": error}
        self._send(status, body, more, zipped=step.get("echo_key") == "gzip")

    def _stream(self, answer: Answer, step: Step) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        packed = bool(step.get("gzip"))
        if packed:
            self.send_header("content-encoding", "gzip")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        events = [event.encode() for event in answer.events()]
        if "fails_late" in step:
            events = [events[0], _late_error(answer.wire, step["fails_late"])]
        if packed:
            events = [gzip.compress(b"".join(events))]
        for event in events[: len(events) // 2] if step.get("cut") else events:
            time.sleep(step.get("pause", 0) if event is events[-1] else 0)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()
        if step.get("cut"):
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _send(self, status: int, body: Any, headers: dict[str, str] | None = None, zipped: bool = False) -> None:
        data = json.dumps(body).encode()
        if zipped:
            data = gzip.compress(data)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        for name, value in {**(headers or {}), **({"content-encoding": "gzip"} if zipped else {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _late_error(wire: str, words: str) -> bytes:
    """An error inside a stream that began well."""
    error: dict[str, Any] = {"type": "invalid_request_error", "message": words}
    event: dict[str, Any] = {"error": error}
    if wire == "responses":
        failed = {"status": "failed", "error": {"code": "server_error", "message": words}}
        event = {"type": "response.failed", "response": failed}
    elif wire == "anthropic":
        event = {"type": "error", "error": error}
    return f"data: {json.dumps(event)}\n\n".encode()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--host", default="127.0.0.1")
    options.add_argument("--port", type=int, default=8080)
    options.add_argument("--journal")
    given = options.parse_args()
    server = StubServer(given.host, given.port, given.journal)
    sys.stdout.write(f"stub on port {server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
