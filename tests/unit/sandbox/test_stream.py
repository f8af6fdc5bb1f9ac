"""Frames and captures."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import RigError
from runner.sandbox.stream import Capture, Frames, Hijacked


def frame(stream: int, data: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


@given(
    st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=50)), max_size=20),
    st.lists(st.integers(1, 30), min_size=1),
)
def test_frames_however_they_are_cut(pieces: list[tuple[int, bytes]], cuts: list[int]) -> None:
    wire = b"".join(frame(stream, data) for stream, data in pieces)
    frames, got = Frames(), {1: b"", 2: b""}
    position = turn = 0
    while position < len(wire):
        size = cuts[turn % len(cuts)]
        for stream, piece in frames.feed(wire[position : position + size]):
            got[stream] += piece
        position, turn = position + size, turn + 1
    assert got == {n: b"".join(data for stream, data in pieces if stream == n) for n in (1, 2)}


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(2, 200))
def test_a_capture_is_exact_up_to_its_limit_and_bounded_beyond(pieces: list[bytes], limit: int) -> None:
    capture = Capture(limit)
    for piece in pieces:
        capture.add(memoryview(piece))
    whole, kept = b"".join(pieces), capture.data()
    assert capture.total == len(whole)
    if len(whole) <= limit:
        assert kept == whole
        assert not capture.truncated
        return
    assert capture.truncated
    assert len(kept) <= limit + 60
    head = limit - limit // 2
    assert kept[:head] == whole[:head]
    assert kept.endswith(whole[-(limit // 2) :])


@pytest.mark.parametrize("size", [0, 10, 4095, 4096, 4097, 100_000])
def test_a_capture_to_a_file(tmp_path: Path, size: int) -> None:
    data = bytes(n % 251 for n in range(size))
    path = tmp_path / "out"
    with Capture(4096, path) as capture:
        for start in range(0, size, 1000):
            capture.add(memoryview(data[start : start + 1000]))
    assert capture.data() == b""
    kept = path.read_bytes()
    assert (kept == data) is (size <= 4096)
    assert capture.truncated is (size > 4096)
    assert len(kept) <= 4096 + 60


def test_what_is_no_stream_of_a_command_is_the_engines_failure() -> None:
    frames = Frames()
    assert [bytes(piece) for _, piece in frames.feed(frame(1, b"said"))] == [b"said"]
    with pytest.raises(RigError, match="something else than a command's output"):
        list(frames.feed(b"HTTP/1.1 500 Internal Server Error\r\n\r\nit broke\r\n"))


class Broken(socket.socket):
    """A connection whose other end no longer answers at all."""

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        raise TimeoutError(110, "Connection timed out")


def test_a_connection_that_breaks_is_the_end_of_the_stream() -> None:
    with Hijacked(Broken()) as channel:
        assert channel.talk(None, lambda stream, piece: None, until=time.monotonic() + 5, stop=lambda: False)
