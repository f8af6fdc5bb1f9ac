"""Reads ``registry/index.md``: the YAML between the first two ``---`` lines, checked key by key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from runner.errors import ConfigError, UsageError
from runner.schema.base import complaint
from runner.schema.entry import Entry


def read_entries(index: Path) -> dict[str, Entry]:
    """All entries of a registry by id.

    Raises ConfigError naming the file and the key for anything that cannot be used.
    """
    document = _frontmatter(index)
    unknown = sorted(set(document) - {"benchmarks"})
    if unknown:
        raise ConfigError(f"{index}: unknown key {unknown[0]!r}", "the only top key is 'benchmarks'")
    raw = document.get("benchmarks")
    if not isinstance(raw, list) or not raw:
        raise ConfigError(f"{index}: 'benchmarks' must be a list with at least one entry")
    entries: dict[str, Entry] = {}
    for number, item in enumerate(raw, 1):
        entry = _entry(index, number, item)
        if entry.id in entries:
            raise ConfigError(
                f"{index}: benchmarks[{number}].id: {entry.id!r} is used twice", "ids freeze a benchmark: give a new one"
            )
        entries[entry.id] = entry
    return entries


def pick(entries: dict[str, Entry], benchmark: str, index: Path) -> Entry:
    """The entry of that id; UsageError lists the known ones."""
    if benchmark not in entries:
        raise UsageError(f"{index} has no benchmark {benchmark!r}", f"known: {', '.join(sorted(entries))}")
    return entries[benchmark]


def runs_folders(index: Path, benchmark: str | None = None) -> list[Path]:
    """The ``runs_dir`` of every benchmark (or of one), each once."""
    index = index.resolve()
    entries = read_entries(index)
    chosen = [pick(entries, benchmark, index)] if benchmark else list(entries.values())
    return sorted({(index.parent / e.runs_dir).resolve() for e in chosen})


def _frontmatter(index: Path) -> dict[str, Any]:
    try:
        text = index.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"there is no registry at {index}", "name another one with --registry PATH") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{index} cannot be read: {error}") from None
    lines = text.split("\n")
    marks = [number for number, line in enumerate(lines) if line.rstrip() == "---"]
    if not marks or any(line.strip() for line in lines[: marks[0]]):
        raise ConfigError(f"{index}: the first line is not '---'", "the registry is the YAML frontmatter of that file")
    if len(marks) == 1:
        raise ConfigError(f"{index}: the frontmatter has no closing '---' line")
    try:
        data = yaml.load("\n".join(lines[marks[0] + 1 : marks[1]]), Loader=UniqueKeyLoader)
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        at = f" line {where.line + marks[0] + 2}" if where else ""
        raise ConfigError(f"{index}:{at} is not YAML: {getattr(error, 'problem', error)}") from None
    if not isinstance(data, dict):
        raise ConfigError(f"{index}: the frontmatter is not a map with the key 'benchmarks'")
    return data


def _entry(index: Path, number: int, item: Any) -> Entry:
    name = item.get("id", f"benchmarks[{number}]") if isinstance(item, dict) else f"benchmarks[{number}]"
    try:
        return Entry.model_validate(item)
    except ValidationError as error:
        raise ConfigError(f"{index}: {name}: {complaint(error)}", "see docs/reference/registry.md") from None


class UniqueKeyLoader(yaml.SafeLoader):
    """YAML lets a key stand twice and keeps the last in silence; here it is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            if isinstance(key_node, yaml.ScalarNode) and key_node.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key_node.value!r} stands twice", key_node.start_mark
                )
            seen.add(str(key_node.value))
        return super().construct_mapping(node, deep)
