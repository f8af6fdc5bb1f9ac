"""Small repositories like a stranger's, made by git itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

MakeRepo = Callable[..., Path]

CALC = '''"""Sums."""


def total(numbers, start=0, strict=False):
    result = start
    for number in numbers:
        if strict and number < 0:
            raise ValueError(number)
        result = result + number
    return result


def mean(numbers):
    if not numbers:
        return None
    return total(numbers) / len(numbers)


def clamp(value, low=0, high=100):
    if value <= low:
        return low
    return min(value, high)
'''
PYTHON = {
    "README.md": "# Sums\n\nAdds numbers.\n",
    "Makefile": ".PHONY: ci\nci:\n\tpython3 -m pytest -q\n",
    "pyproject.toml": '[project]\nname = "sums"\nversion = "1"\ndependencies = ["attrs>=23"]\n'
    '[project.scripts]\nsums = "sums.cli:main"\n'
    '[project.optional-dependencies]\ntest = ["pytest>=7"]\ndev = ["sums[test]", "ruff"]\n',
    "sums/__init__.py": "",
    "sums/calc.py": CALC,
    "sums/cli.py": "import sys\nfrom sums.calc import total\n\n\ndef main():\n"
    "    print(total(int(x) for x in sys.argv[1:]))\n    return 0\n",
    "tests/test_calc.py": "from sums.calc import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
}
REGISTRY = """---
benchmarks:
  # the first one; this line has to stay
  - id: old
    title: "Old"      # two  spaces
    source_repo: old
    baseline: abcdef0
    plan: plan/index.md
    scope_allowlist: ["src/**"]
    commands: {ci: {argv: [make, ci]}}
    # the last line of the list
---

# Text for people --- stays too
"""


def run_git(folder: Path, *arguments: str) -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    env |= {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return subprocess.run(["git", *arguments], cwd=folder, env=env, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def make_repo(tmp_path: Path) -> MakeRepo:
    def make(files: Mapping[str, str | bytes], name: str = "clone") -> Path:
        folder = tmp_path / name
        folder.mkdir()
        run_git(folder, "init", "-q", "-b", "main")
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())
        run_git(folder, "add", "-A")
        run_git(folder, "commit", "-q", "-m", "All")
        return folder

    return make


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """A registry with one entry that is written in its own way."""
    home = tmp_path / "registry"
    home.mkdir()
    (home / "index.md").write_text(REGISTRY)
    (home / "providers.yaml").write_text("providers: {}\n")
    return home / "index.md"
