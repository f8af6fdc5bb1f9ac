"""Expected text against actual text; `[..]` in an expected line stands for any characters."""

import re

WILDCARD = "[..]"


def line_matches(expected: str, actual: str) -> bool:
    if WILDCARD not in expected:
        return expected == actual
    pattern = ".*".join(re.escape(part) for part in expected.split(WILDCARD))
    return re.fullmatch(pattern, actual) is not None


def difference(expected: str, actual: str) -> str | None:
    """The first difference in words, or None when the texts match."""
    want, got = expected.splitlines(), actual.splitlines()
    for number, (left, right) in enumerate(zip(want, got, strict=False), 1):
        if not line_matches(left, right):
            return f"line {number}: expected {left!r}, got {right!r}"
    if len(want) > len(got):
        return f"line {len(got) + 1}: expected {want[len(got)]!r}, got the end"
    if len(got) > len(want):
        return f"line {len(want) + 1}: expected the end, got {got[len(want)]!r}"
    return None


def merge(expected: str, actual: str) -> str:
    """The actual text, keeping expected lines with wildcards that still match."""
    want, got = expected.splitlines(), actual.splitlines()
    if len(want) == len(got):
        got = [
            left if line_matches(left, right) else right
            for left, right in zip(want, got, strict=True)
        ]
    return "".join(f"{line}\n" for line in got)
