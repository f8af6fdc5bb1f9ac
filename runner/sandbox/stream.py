"""The byte stream of an exec: frames taken apart, output bounded while all of it is read."""

from __future__ import annotations

import os
import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from runner.errors import RigError

STDOUT, STDERR = 1, 2
_CHUNK = 1 << 16
_WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Frames:
    """Takes the engine's multiplexed stream apart: 8 bytes of header (stream, size), then the payload.

    Raises RigError where it is none: an engine that fails half way writes its excuse there.
    """

    def __init__(self) -> None:
        self._header = b""
        self._stream = 0
        self._left = 0

    def feed(self, data: bytes) -> Iterator[tuple[int, memoryview]]:
        view = memoryview(data)
        while view:
            if not self._left:
                missing = 8 - len(self._header)
                self._header += view[:missing]
                view = view[missing:]
                if len(self._header) < 8:
                    return
                self._stream, self._left = self._header[0], int.from_bytes(self._header[4:], "big")
                self._header = b""
                if self._stream not in (STDOUT, STDERR):
                    raise RigError("the engine sends something else than a command's output")
                continue
            piece = view[: self._left]
            self._left -= len(piece)
            view = view[len(piece) :]
            yield self._stream, piece


class Capture:
    """Keeps the head and the tail of a stream within ``limit`` bytes, in memory or in a file of the host.

    Up to ``limit`` every byte is kept as it came. Beyond it the middle is replaced by one line that says how much.
    """

    def __init__(self, limit: int, file: Path | None = None) -> None:
        self._tail_room = min(limit // 2, 1 << 20) if file else limit // 2
        self._head_room = limit - self._tail_room
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._file: IO[bytes] | None = file.open("wb", buffering=0) if file else None
        self.total = 0
        self._limit = limit

    def __enter__(self) -> Capture:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def truncated(self) -> bool:
        return self.total > self._limit

    def add(self, piece: memoryview) -> None:
        room = max(0, self._head_room - self.total)
        self.total += len(piece)
        if room:
            self._keep(piece[:room])
            piece = piece[room:]
        if not piece:
            return
        self._tail.append(bytes(piece))
        self._tail_size += len(piece)
        while self._tail_size - len(self._tail[0]) >= self._tail_room:
            self._tail_size -= len(self._tail.popleft())

    def close(self) -> None:
        """Write what is still held to the file, if there is one, and close it; safe to call again."""
        if self._file is not None:
            self._write(self._end())
            self._file.close()
            self._file = None

    def data(self) -> bytes:
        """What was kept; empty where it went to a file."""
        return bytes(self._head) + self._end() if self._head else b""

    def _keep(self, piece: memoryview) -> None:
        if self._file is None:
            self._head += piece
        else:
            self._write(piece)

    def _write(self, data: bytes | memoryview) -> None:
        assert self._file is not None
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]

    def _end(self) -> bytes:
        tail = b"".join(self._tail)
        if not self.truncated:
            return tail
        tail = tail[-self._tail_room :] if self._tail_room else b""
        return b"\n[... %d bytes left out ...]\n" % (self.total - self._head_room - len(tail)) + tail


class Hijacked:
    """The engine's two-way socket of an exec or attach, never blocking, closed explicitly."""

    def __init__(self, raw: object) -> None:
        # The SDK hands out the socket's raw file and hides the response on it. What came in one packet with the
        # HTTP header lies in the buffered reader above it and would be lost by reading the socket alone.
        self._raw = raw
        self._response = getattr(raw, "_response", None)
        found = getattr(raw, "_sock", raw)
        assert isinstance(found, socket.socket)
        self._socket = found
        self._socket.setblocking(False)
        self._early = self._buffered()
        self._frames = Frames()

    def __enter__(self) -> Hijacked:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give both file descriptors back; safe to call again."""
        for thing in (self._response, self._raw, self._socket):
            close = getattr(thing, "close", None)
            if close is not None:
                close()

    def _buffered(self) -> bytes:
        reader = getattr(getattr(getattr(self._response, "raw", None), "_fp", None), "fp", None)
        if reader is None or not hasattr(reader, "peek"):
            return b""
        try:
            waiting: bytes = reader.peek(1)
            return bytes(reader.read(len(waiting))) if waiting else b""
        except _WOULD_BLOCK:
            return b""

    def receive(self) -> bytes | None:
        """Some bytes; empty at the end of the stream, which a broken connection is too; None: nothing has come yet."""
        if self._early:
            early, self._early = self._early, b""
            return early
        try:
            return self._socket.recv(_CHUNK)
        except _WOULD_BLOCK:
            return None
        except OSError:
            return b""

    def talk(
        self,
        stdin: bytes | None,
        take: Callable[[int, memoryview], None],
        *,
        until: float,
        stop: Callable[[], bool],
        more: bool = False,
    ) -> bool:
        """Send ``stdin`` and half-close unless ``more`` is to come, read to the end. False where ``until`` (monotonic)
        or ``stop`` came first.
        """
        left = memoryview(stdin or b"")
        sending = stdin is not None
        while True:
            if time.monotonic() >= until or stop():
                return False
            if sending:
                left, sending = self._send(left, more)
            data = self.receive()
            if data == b"":
                return True
            if data:
                for stream, piece in self._frames.feed(data):
                    take(stream, piece)
                continue
            self._wait(min(0.2, max(0.0, until - time.monotonic())), sending)

    def _wait(self, seconds: float, sending: bool) -> None:
        poll = select.poll()  # select() fails for descriptors above 1023
        poll.register(self._socket, select.POLLIN | (select.POLLOUT if sending else 0))
        poll.poll(seconds * 1000)

    def _send(self, left: memoryview, more: bool) -> tuple[memoryview, bool]:
        try:
            while left:
                left = left[self._socket.send(left[:_CHUNK]) :]
            if not more:
                self._socket.shutdown(socket.SHUT_WR)
        except _WOULD_BLOCK:
            return left, True
        except OSError:
            pass  # the command does not read its input; its output is still wanted
        return left, False


def open_descriptors() -> int:
    """How many file descriptors this process holds."""
    return len(os.listdir("/proc/self/fd"))
