"""A model server that only costs what its sockets cost: the other end of every measurement of the gateway.

``python -m perf.model`` prints its port and ends when its stdin does.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import cast

HEAD = {"id": "chatcmpl-perf", "object": "chat.completion.chunk", "created": 1, "model": "perf-model"}
USAGE = {
    "prompt_tokens": 1400,
    "completion_tokens": 60,
    "total_tokens": 1460,
    "prompt_tokens_details": {"cached_tokens": 400},
    "completion_tokens_details": {"reasoning_tokens": 16},
}


def _event(**fields: object) -> bytes:
    return b"data: " + json.dumps({**HEAD, **fields}).encode() + b"\n\n"


def _piece(text: str, finish: str | None = None) -> bytes:
    return _event(choices=[{"index": 0, "delta": {"content": text}, "finish_reason": finish}])


FIRST = _piece("ready")
REST = b"".join(_piece(" word") for _ in range(6)) + _piece("", "stop") + _event(choices=[], usage=USAGE)
REST += b"data: [DONE]\n\n"
MESSAGE = {"role": "assistant", "content": "ready " + "word " * 6}
WHOLE = json.dumps(
    {**HEAD, "object": "chat.completion", "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}]}
    | {"usage": USAGE}
).encode()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
STREAM = STREAM_HEAD + _chunk(FIRST) + _chunk(REST) + b"0\r\n\r\n"
PLAIN = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(WHOLE), WHOLE)


class Model(asyncio.Protocol):
    """Answers every request at once: streamed where its body asks for it."""

    def __init__(self) -> None:
        self._data = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._out = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._data[:end]).lower()
            at = head.find(b"content-length:")
            size = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self._data) < end + 4 + size:
                return
            body = bytes(self._data[end + 4 : end + 4 + size])
            del self._data[: end + 4 + size]
            streamed = b'"stream": true' in body or b'"stream":true' in body
            self._out.write(STREAM if streamed else PLAIN)


async def serve() -> None:
    """Serve on a free port of loopback until stdin ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Model, "127.0.0.1", 0, backlog=256)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.buffer.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve())
