from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.registry.globs import matches


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("src/**", "src/a/b.py", True),
        ("src/**", "src_evil/a.py", False),
        ("src/*.py", "src/deep/x.py", False),
        ("src/*.py", "src/x.py", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a?c", "a/c", False),
        ("a?c", "abc", True),
        ("a.c", "abc", False),
        ("src/**", "src/new\nline", True),
    ],
)
def test_the_seeds_glob(pattern: str, path: str, fits: bool) -> None:
    assert matches([pattern], path.encode()) is fits


def test_no_pattern_matches_nothing() -> None:
    assert not matches([], b"anything")


def test_a_name_that_is_no_utf8_is_matched_byte_for_byte() -> None:
    assert matches(["src/**"], b"src/caf\xe9.py")
    assert not matches(["ci/**"], b"src/caf\xe9.py")


@given(st.binary(min_size=1).filter(lambda b: b"\0" not in b))
def test_a_folder_glob_takes_every_name_below_it_and_none_beside(name: bytes) -> None:
    assert matches(["src/**"], b"src/" + name)
    assert not matches(["src/*"], b"src/" + name + b"/x")


@given(st.text(min_size=1))
def test_a_literal_matches_itself(text: str) -> None:
    literal = "".join(c for c in text if c not in "*?")
    if literal:
        assert matches([literal], literal.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()) or any(
            0xD800 <= ord(c) <= 0xDFFF for c in literal
        )
