"""Which files are tests, by their names alone."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

TEST_FOLDERS = ("tests", "test", "testing", "spec", "__tests__")
_TEST_FILE = re.compile(r"test_.*|conftest\.py|tests?\.\w+|.*_test\.\w+|.*\.(test|spec)\.\w+")


def is_test(path: str) -> bool:
    """Whether a path of a tree belongs to tests."""
    parts = PurePosixPath(path).parts
    return any(p in TEST_FOLDERS for p in parts[:-1]) or _TEST_FILE.fullmatch(parts[-1]) is not None
