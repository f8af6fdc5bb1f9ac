"""A registry that cannot be used is one sentence that names file and key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.errors import ConfigError, UsageError
from runner.registry.benchmark import load_benchmark
from runner.registry.load import pick, read_entries

Entry = dict[str, Any]


@pytest.fixture
def entry() -> Entry:
    return {
        "id": "tiny",
        "source_repo": "program",
        "baseline": "a025189",
        "plan": "plan/index.md",
        "scope_allowlist": ["src/**"],
        "commands": {"ci": {"argv": ["make", "ci"]}},
        "milestones": [{"id": "M01", "file": "plan/M01.md"}],
    }


def write(folder: Path, *entries: Entry, text: str | None = None) -> Path:
    (folder / "program").mkdir(exist_ok=True)
    index = folder / "index.md"
    body = text if text is not None else yaml.safe_dump({"benchmarks": list(entries)})
    index.write_text(f"---\n{body}---\n\n# For people\n", encoding="utf-8")
    return index


def test_a_small_entry_gets_the_seeds_defaults(tmp_path: Path, entry: Entry) -> None:
    found = read_entries(write(tmp_path, entry))["tiny"]
    assert found.formula == "seed-1"
    assert found.attempts == 2
    assert found.milestones[0].verify == "ci"
    assert found.history_columns[0] == "date"
    assert found.environment == {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"colour": "blue"}, "tiny: colour: unknown key"),
        ({"commands": {"e2e": {"argv": ["x"]}}}, "commands: 'ci' is missing"),
        ({"commands": {"ci": {"argv": []}}}, r"commands.ci.argv"),
        ({"commands": {"ci": "make ci"}}, r"commands.ci"),
        ({"milestones": [{"id": "M01", "file": "f", "verify": "nope"}]}, "no command named 'nope'; known: ci"),
        ({"milestones": [{"id": "one", "file": "f"}]}, r"milestones.0.id"),
        ({"milestones": [{"id": "M01", "file": "f"}] * 2}, "an id is used twice"),
        ({"history_columns": ["date", "mood"]}, "unknown column 'mood'"),
        ({"limits": {"memory_mb": 1}}, "limits.memory_mb"),
        ({"baseline": None}, "baseline"),
        ({"mutations": {"command": "ci", "failure_pattern": "("}}, r"mutations.failure_pattern: '\(' is no regular"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, entry: Entry, change: Entry, said: str) -> None:
    index = write(tmp_path, entry | change)
    with pytest.raises(ConfigError, match=said) as error:
        read_entries(index)
    assert str(index) in error.value.what
    assert "\n" not in str(error.value)


def test_a_missing_key_is_named(tmp_path: Path, entry: Entry) -> None:
    del entry["plan"]
    with pytest.raises(ConfigError, match="tiny: plan: is missing"):
        read_entries(write(tmp_path, entry))


def test_an_id_used_twice_is_refused(tmp_path: Path, entry: Entry) -> None:
    with pytest.raises(ConfigError, match="'tiny' is used twice"):
        read_entries(write(tmp_path, entry, entry))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("benchmarks: [\n", "is not YAML"),
        ("benchmarks: []\n", "must be a list with at least one entry"),
        ("benchmarks: 3\n", "must be a list"),
        ("- 1\n", "is not a map"),
        ("extra: 1\nbenchmarks: []\n", "unknown key 'extra'"),
        ("benchmarks:\n- id: a\n  id: b\n", "stands twice"),
        ("benchmarks:\n- ? [a, b]\n  : c\n", "line 3 is not YAML: found unhashable key"),
    ],
)
def test_a_broken_file_is_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_entries(write(tmp_path, text=text))


@pytest.mark.parametrize("before", ["\ufeff", "\n\n"])
def test_a_mark_or_empty_lines_before_the_first_line_do_not_count(tmp_path: Path, entry: Entry, before: str) -> None:
    index = write(tmp_path, entry)
    index.write_text(before + index.read_text(), encoding="utf-8", newline="\r\n")
    assert list(read_entries(index)) == ["tiny"]
    index.write_text(before + "---\nbenchmarks: [\n---\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=f"line {2 + before.count(chr(10))} is not YAML"):
        read_entries(index)
    index.write_text(before + "---\nbenchmarks: []\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="has no closing '---' line"):
        read_entries(index)
    index.write_text("\n# no\n" + index.read_text(encoding="utf-8"))
    with pytest.raises(ConfigError, match="the first line is not '---'"):
        read_entries(index)


def test_no_registry_says_which_option(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no registry at .*--registry"):
        read_entries(tmp_path / "none.md")


def test_an_unknown_benchmark_lists_the_known(tmp_path: Path, entry: Entry) -> None:
    index = write(tmp_path, entry)
    with pytest.raises(UsageError, match="known: tiny"):
        pick(read_entries(index), "huge", index)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"source_repo": "nowhere"}, "source_repo: there is no folder .* — clone it there"),
        ({"milestones": []}, "milestones: the list is empty"),
        ({"etalon_dir": "etalon"}, "etalon_dir: there is no .* — put it there"),
        ({"reference": ["reference/M01.patch"]}, "reference: there is no"),
        ({"image": {"context": "image"}}, r"image.context: there is no"),
    ],
)
def test_a_named_file_that_is_not_there(tmp_path: Path, entry: Entry, change: Entry, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load_benchmark(write(tmp_path, entry | change), "tiny")


def test_the_hash_covers_entry_and_named_files(tmp_path: Path, entry: Entry) -> None:
    (tmp_path / "etalon").mkdir()
    case = tmp_path / "etalon" / "a.txtar"
    case.write_text("1")
    entry["etalon_dir"] = "etalon"
    first = load_benchmark(write(tmp_path, entry), "tiny").hash
    assert load_benchmark(write(tmp_path, entry), "tiny").hash == first
    case.write_text("2")
    second = load_benchmark(write(tmp_path, entry), "tiny").hash
    case.write_text("1")
    case.chmod(0o755)
    third = load_benchmark(write(tmp_path, entry), "tiny").hash
    fourth = load_benchmark(write(tmp_path, entry | {"attempts": 3}), "tiny").hash
    assert len({first, second, third, fourth}) == 4
