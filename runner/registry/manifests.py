"""Reads the manifests beside frozen patches and solutions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from runner.errors import ConfigError
from runner.registry.benchmark import Benchmark
from runner.registry.load import UniqueKeyLoader
from runner.schema.base import complaint
from runner.schema.manifests import PatchEntry, PatchManifest, SolutionManifest, ExpectedTests

M = TypeVar("M", bound=BaseModel)


def patch_entries(benchmark: Benchmark, folder: str | None) -> list[PatchEntry]:
    """The patches of a set, in the manifest's order; every file has its entry and every entry its file.

    Raises ConfigError naming the first one that has not.
    """
    if folder is None:
        return []
    home = benchmark.path(folder)
    entries = read_manifest(home / "manifest.yaml", PatchManifest).patches
    named, there = {e.id for e in entries}, {p.stem for p in home.glob("*.patch")}
    if named != there:
        odd = sorted(named ^ there)[0]
        raise ConfigError(f"{home}: {odd} is {'a patch without an entry' if odd in there else 'an entry without a patch'}")
    return entries


def solutions(benchmark: Benchmark, folder: str | None) -> SolutionManifest | None:
    """A graded or flawed set, or None where the benchmark has none.

    Raises ConfigError, also for a patch or a corpus that is not there or that freezing would not hold in place.
    """
    if folder is None:
        return None
    home = benchmark.path(folder)
    manifest = read_manifest(home / "manifest.yaml", SolutionManifest)
    for solution in manifest.solutions:
        named_files = [(patch, "") for patch in solution.patches]
        for named, below in [*named_files, *([(solution.corpus, "/")] if solution.corpus else [])]:
            where = Path(os.path.relpath(home / named, benchmark.home)).as_posix() + below
            if not any(file.startswith(where) if below else file == where for file in benchmark.files):
                raise ConfigError(
                    f"{home}: {solution.id}: there is no {named} among the benchmark's files",
                    "put it below a folder that the entry names, or mend the manifest",
                )
    return manifest


def expected_tests(benchmark: Benchmark, file: str) -> dict[str, list[str]]:
    """From report to the cases it must hold. Raises ConfigError."""
    return read_manifest(benchmark.path(file), ExpectedTests).expected_tests


def read_manifest(path: Path, model: type[M]) -> M:
    """Raises ConfigError naming file and key."""
    try:
        return model.model_validate(yaml.load(path.read_text(encoding="utf-8"), Loader=UniqueKeyLoader))
    except FileNotFoundError:
        raise ConfigError(f"{path} is not there", "a folder of patches, solutions or tests needs one") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not YAML: {error}") from None
    except ValidationError as error:
        raise ConfigError(f"{path}: {complaint(error)}", "see docs/reference/registry.md") from None
