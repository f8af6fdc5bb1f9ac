"""The seed's own glob: ``**`` is anything, ``*`` anything but a slash, ``?`` one character that is no slash."""

from __future__ import annotations

import re
from collections.abc import Sequence


def matcher(patterns: Sequence[str]) -> re.Pattern[str]:
    """One compiled pattern for a list of globs; an empty list matches nothing. ``a/**/b`` also matches ``a/b``."""
    parts = []
    for pattern in patterns:
        out, i = "", 0
        while i < len(pattern):
            if pattern.startswith("**/", i):
                out, i = out + "(?:.*/)?", i + 3
            elif pattern.startswith("**", i):
                out, i = out + ".*", i + 2
            elif pattern[i] == "*":
                out, i = out + "[^/]*", i + 1
            elif pattern[i] == "?":
                out, i = out + "[^/]", i + 1
            else:
                out, i = out + re.escape(pattern[i]), i + 1
        parts.append(f"(?:{out})")
    return re.compile(f"(?:{'|'.join(parts)})\\Z" if parts else r"(?!)", re.DOTALL)


def matches(patterns: Sequence[str], path: bytes) -> bool:
    """Whether a path of a tree fits one of the globs; names that are no UTF-8 are compared byte for byte."""
    return matcher(patterns).match(path.decode("utf-8", "surrogateescape")) is not None
