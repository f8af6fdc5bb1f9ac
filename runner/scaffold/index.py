"""Appends one entry to ``index.md``: the text of all others, comments included, stays byte for byte."""

from __future__ import annotations

import os
from pathlib import Path

import yaml

from runner.errors import ConfigError, UsageError
from runner.registry.load import read_entries
from runner.schema.entry import Entry
from runner.store.files import write_atomic

_FRESH = "---\nbenchmarks:\n---\n\n# The benchmarks\n\nThe frontmatter of this file is the registry.\n"


def check_new(index: Path, benchmark: str) -> None:
    """Raises UsageError for an id that exists, or whose folder is there already."""
    if index.exists():
        if benchmark in read_entries(index):
            raise UsageError(f"{index} has a benchmark {benchmark!r} already", "an id is for ever: take another one")
    elif not index.parent.is_dir():
        raise UsageError(f"--registry: there is no folder {index.parent}", "make it, or name another registry")
    folder = index.parent / benchmark
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"there is already a folder {folder}", "take another id, or move it away")


def append_entry(index: Path, benchmark: str, entry: str) -> Entry:
    """Write the registry with ``entry`` (YAML, its first line ``- id: ...`` at the margin) as its last one.

    A registry that is not there is begun. What comes out is read back before it replaces the old file, and the other
    entries must be what they were. Raises ConfigError where the file's form allows no such edit.
    """
    fresh = not index.exists()
    # newline="": line ends stay as they are
    text = _FRESH if fresh else index.read_bytes().decode("utf-8")
    before = {} if fresh else read_entries(index)
    edited = _inserted(index, text, entry).encode("utf-8")
    trial = index.with_name(f".{index.name}.{os.getpid()}.new")
    try:
        trial.write_bytes(edited)
        try:
            after = read_entries(trial)
        except ConfigError as error:
            raise ConfigError(f"{index}: the new entry would not be readable: {error.what}") from None
        added = after.pop(benchmark, None)
        if added is None or after != before:
            raise ConfigError(f"{index} cannot be extended without touching other entries", _ADD_BY_HAND)
    finally:
        trial.unlink(missing_ok=True)
    mode = None if fresh else index.stat().st_mode & 0o7777
    write_atomic(index, edited)
    if mode is not None:
        index.chmod(mode)
    return added


_ADD_BY_HAND = "write 'benchmarks' as a block list (a line '- id: ...' per entry) as the last key of the frontmatter"


def _inserted(index: Path, text: str, entry: str) -> str:
    lines = text.split("\n")
    end = next(i for i, line in enumerate(lines[1:], 1) if line.rstrip() == "---")
    column = _column(index, "\n".join(lines[1:end]))
    return_ = "\r" if lines[0].endswith("\r") else ""
    new = [(" " * column + line if line else line) + return_ for line in entry.rstrip("\n").split("\n")]
    return "\n".join([*lines[:end], *new, *lines[end:]])


def _column(index: Path, frontmatter: str) -> int:
    """Where the dashes of the list stand."""
    root = yaml.compose(frontmatter, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)  # read_entries has seen it
    for key, value in root.value:
        if key.value == "benchmarks" and isinstance(value, yaml.SequenceNode):
            if value.flow_style:
                raise ConfigError(f"{index}: the list 'benchmarks' stands in brackets", _ADD_BY_HAND)
            return int(value.start_mark.column)
    return 0
