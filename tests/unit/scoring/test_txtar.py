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


def test_a_section_that_appears_twice_counts_once_and_by_what_pins_down_least() -> None:
    plain, vague = b"-- stdout --\n" + b"x\n" * 50, b"-- stdout --\n[..]\n"
    for content in (plain + vague, vague + plain):
        (case,) = read_txtar({"a.txtar": b"-- cmd --\nx\n" + content})
        assert (case.channels, case.asserted_lines, case.wildcard_lines) == ({"stdout"}, 1, 1)
    (case,) = read_txtar({"a.txtar": b"-- expected --\na\nb\n-- expected --\na\n-- expected/t --\nc\n"})
    assert (case.channels, case.asserted_lines) == ({"expected"}, 2)
