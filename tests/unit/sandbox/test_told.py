"""The line by which a main process says how its command ended, however the streams are cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runner.sandbox.stream import STDERR, STDOUT
from runner.sandbox.told import Told


def cut(data: bytes, sizes: list[int]) -> list[memoryview]:
    pieces, position, turn = [], 0, 0
    while position < len(data):
        pieces.append(memoryview(data[position : position + sizes[turn % len(sizes)]]))
        position, turn = position + sizes[turn % len(sizes)], turn + 1
    return pieces


@given(
    st.binary(max_size=200),
    st.binary(max_size=200),
    st.integers(0, 255),
    st.lists(st.integers(1, 60), min_size=1),
    st.binary(max_size=80),
)
def test_output_is_exact_and_the_word_is_heard(
    out: bytes, err: bytes, code: int, sizes: list[int], after: bytes
) -> None:
    told = Told()
    line = f"\n{told.mark} {code}\n".encode()
    kept = {STDOUT: b"", STDERR: b""}
    for stream, text in ((STDOUT, out), (STDERR, err)):
        for piece in cut(text + line + after, sizes):
            kept[stream] += told.output(stream, piece)
        assert told.over == (stream == STDERR)
    assert told.word == str(code)
    assert told.without(kept[STDOUT]) == out
    assert told.without(kept[STDERR]) == err


@given(st.binary(max_size=300), st.lists(st.integers(1, 60), min_size=1))
def test_without_the_mark_nothing_is_said(output: bytes, sizes: list[int]) -> None:
    told = Told()
    kept = b"".join(told.output(STDOUT, piece) for piece in cut(output, sizes))
    assert kept == output
    assert not told.over
    assert told.word == ""
    assert told.without(output) == output


def test_a_line_under_another_mark_is_output() -> None:
    told, other = Told(), Told()
    line = f"\n{other.mark} 0\n".encode()
    for stream in (STDOUT, STDERR):
        assert told.output(stream, memoryview(line)) == line
    assert not told.over
