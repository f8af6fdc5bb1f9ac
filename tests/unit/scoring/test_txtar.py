from __future__ import annotations

from runner.scoring.readers.txtar import read_txtar

CASE = b"""A case.
-- cmd --
program [..]
-- exit --
0
-- stdout --
one [..] two [..]

exact
-- stderr --
-- expected/db/t --
a|b
"""


def test_channels_lines_and_wildcards() -> None:
    (case,) = read_txtar({"a.txtar": CASE, "notes.md": b"-- exit --\n1\n"})
    assert case.channels == {"exit", "stdout", "stderr", "expected"}
    assert case.four_channel
    assert (case.asserted_lines, case.wildcards, case.wildcard_lines) == (5, 2, 1)  # the empty line is asserted, too


def test_bytes_that_are_no_text_assert_nothing() -> None:
    (case,) = read_txtar({"x.txtar": b"\xff\xfe\x00"})
    assert (case.channels, case.asserted_lines) == (frozenset(), 0)
