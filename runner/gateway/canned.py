"""A model server that says one word to everybody: it shows what an agent sends, and asks no model.

Loopback only, in threads of this process; chat completions, Responses and Anthropic Messages, streamed or not.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

WORD = "ready"


class Canned(ThreadingHTTPServer):
    """A context manager; ``url`` is what a provider's ``base_url`` would be."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True, name="canned").start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""

    def do_GET(self) -> None:
        self._send(200, "application/json", json.dumps({"object": "list", "data": []}))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("transfer-encoding"):
            body = b"".join(iter(self._chunk, b""))
        try:
            asked = json.loads(body)
        except ValueError:
            asked = {}
        model, streamed = str(asked.get("model")), asked.get("stream") is True
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._send(200, "application/json", json.dumps({"input_tokens": 1}))
            return
        make = {"responses": _responses, "messages": _anthropic}.get(path.rpartition("/")[2], _chat)
        whole, events = make(model)
        if streamed:
            text = "".join(
                (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n"
                for event in events
            )
            self._send(200, "text/event-stream", text + ("data: [DONE]\n\n" if make is _chat else ""))
        else:
            self._send(200, "application/json", json.dumps(whole))

    def _chunk(self) -> bytes:
        data = self.rfile.read(int(self.rfile.readline().strip() or b"0", 16))
        self.rfile.readline()
        return data

    def _send(self, status: int, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


Said = tuple[dict[str, Any], list[dict[str, Any]]]


def _chat(model: str) -> Said:
    head = {"id": "canned", "created": 1, "model": model}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    message = {"role": "assistant", "content": WORD}

    def piece(delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {**head, "object": "chat.completion.chunk", "choices": [choice]}

    last = {**head, "object": "chat.completion.chunk", "choices": [], "usage": usage}
    whole = {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    return {**head, **whole, "usage": usage}, [piece(message, None), piece({}, "stop"), last]


def _responses(model: str) -> Said:
    content = [{"type": "output_text", "text": WORD, "annotations": []}]
    item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    whole = {"id": "canned", "object": "response", "created_at": 1, "model": model, "status": "completed"}
    done = {**whole, "output": [item], "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.output_text.delta", "output_index": 0, "item_id": "m", "content_index": 0, "delta": WORD},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    ]
    return done, [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _anthropic(model: str) -> Said:
    usage = {"input_tokens": 1, "output_tokens": 1}
    whole = {"id": "canned", "type": "message", "role": "assistant", "model": model, "stop_sequence": None}
    done = {**whole, "content": [{"type": "text", "text": WORD}], "stop_reason": "end_turn", "usage": usage}
    return done, [
        {"type": "message_start", "message": {**done, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": WORD}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
