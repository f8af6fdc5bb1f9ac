"""Freezing: after it, any change of the entry or of a file it names is refused until there is a new id."""

from __future__ import annotations

from pathlib import Path

from runner.errors import ConfigError
from runner.registry.benchmark import Benchmark, decisive
from runner.schema.base import Strict, digest
from runner.store.files import write_record, writable_folder


class Frozen(Strict):
    """``<registry>/<id>/frozen.json``: hashes of the entry and of every file it names."""

    benchmark: str
    entry: str
    baseline: str
    files: dict[str, str]


def frozen_file(benchmark: Benchmark) -> Path:
    return benchmark.home / benchmark.id / "frozen.json"


def describe(benchmark: Benchmark) -> Frozen:
    """What freezing pins: all that decides what is measured."""
    return Frozen(benchmark=benchmark.id, entry=digest(decisive(benchmark.entry)), baseline=benchmark.entry.baseline, files=benchmark.files)


def freeze(benchmark: Benchmark) -> Path:
    """Write the file. Raises ConfigError where it is frozen already, and differently, RigError where it cannot be."""
    changed = changes(benchmark)
    if changed:
        raise ConfigError(f"{benchmark.id} is frozen already and {changed[0]} differs", "give it a new id")
    path = frozen_file(benchmark)
    writable_folder(path.parent)
    write_record(path, describe(benchmark))
    return path


def changes(benchmark: Benchmark) -> list[str]:
    """What differs from the frozen state: file names, or ``the entry``; empty where nothing does or nothing is frozen."""
    path = frozen_file(benchmark)
    if not path.exists():
        return []
    try:
        frozen = Frozen.model_validate_json(path.read_bytes())
    except ValueError as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None
    now = describe(benchmark)
    names = sorted(n for n in frozen.files.keys() | now.files.keys() if frozen.files.get(n) != now.files.get(n))
    if frozen.baseline != now.baseline:
        names.insert(0, "the baseline")
    elif frozen.entry != now.entry:
        names.insert(0, "the entry in index.md")
    return names


def check_frozen(benchmark: Benchmark) -> None:
    """Raises ConfigError naming the first thing that differs from the frozen state."""
    changed = changes(benchmark)
    if changed:
        raise ConfigError(
            f"{benchmark.id} is frozen, but {changed[0]} differs from what was frozen",
            "undo the edit, or make it a new benchmark with a new id",
        )
