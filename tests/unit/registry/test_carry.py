"""Carried files reach a contestant: what looks like a secret is refused, and never shown."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from runner.errors import ConfigError
from runner.registry.benchmark import load_benchmark
from runner.registry.carry import check_variables, read_carried

MINI = Path(__file__).parents[2] / "support" / "mini"


def test_a_marker_is_carried(tmp_path: Path) -> None:
    (tmp_path / ".vault").write_text("here\n")
    assert read_carried(tmp_path, [".vault"], {}) == {".vault": b"here\n"}


@pytest.mark.parametrize(
    "content",
    [
        "-----BEGIN OPENSSH PRIVATE KEY-----\nx",
        "KEY=sk-abcdefghijklmnopqrstuvwxyz",
        "AKIAABCDEFGHIJKLMNOP",
        "token ghp_abcdefghijklmnopqrstuv",
        "value of the variable: correct-horse-battery",
    ],
)
def test_a_secret_is_refused_without_being_shown(tmp_path: Path, content: str) -> None:
    (tmp_path / ".env").write_text(content)
    with pytest.raises(ConfigError, match=r"\.env seems to hold") as error:
        read_carried(tmp_path, [".env"], {"MY_API_KEY": "correct-horse-battery"})
    assert content.split()[-1] not in str(error.value)


@pytest.mark.parametrize("name", ["missing", "../outside", "/etc/passwd", "folder", "link"])
def test_only_regular_files_below_the_source(tmp_path: Path, name: str) -> None:
    source = tmp_path / "source"
    (source / "folder").mkdir(parents=True)
    (tmp_path / "outside").write_text("x")
    (source / "link").symlink_to("/etc/passwd")
    with pytest.raises(ConfigError, match="no regular file"):
        read_carried(source, [name], {})


def test_a_secret_in_a_variable_is_refused_like_one_in_a_file() -> None:
    """Contestants get the entry's variables."""
    check_variables({"TZ": "UTC", "PYTHONHASHSEED": "0"}, {"API_KEY": "hunter2hunter2"})
    for value in ("sk-" + "a" * 20, "see hunter2hunter2"):
        with pytest.raises(ConfigError, match="environment: NOTE seems to hold") as refused:
            check_variables({"NOTE": value}, {"API_KEY": "hunter2hunter2"})
        assert value not in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("env: {REPORT: /out/cases.xml}", "env: {REPORT: KEY}"),
        ("  commands:\n", "  environment: {NOTE: KEY}\n  commands:\n"),
    ],
)
def test_no_entry_is_read_that_hands_a_secret_to_its_contestants(tmp_path: Path, old: str, new: str) -> None:
    home = tmp_path / "registry"
    shutil.copytree(MINI, home, ignore=shutil.ignore_patterns(".bench", "__pycache__"))
    index = home / "index.md"
    assert old in index.read_text()
    index.write_text(index.read_text().replace(old, new.replace("KEY", "sk-" + "a" * 20), 1))
    with pytest.raises(ConfigError, match="seems to hold"):
        load_benchmark(index, "mini")
