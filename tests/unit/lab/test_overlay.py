"""What a contestant may not change is the baseline's in every check."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.errors import ConfigError
from runner.lab.tree import protected_overlay
from runner.repo import Mirror


@pytest.fixture
def mirror(tmp_path: Path) -> tuple[Mirror, str]:
    program = tmp_path / "program"
    (program / "src").mkdir(parents=True)
    (program / "src" / "a.py").write_text("a")
    (program / "src" / "run.py").write_text("runner")
    (program / "Makefile").write_text("ci:\n")
    with pytest.raises(ConfigError) as error:
        Mirror.create(tmp_path / "probe.git", program, "0" * 40)
    return Mirror.create(tmp_path / "mirror.git", program, error.value.what.rsplit(" ", 1)[1])


def test_protected_files_and_all_outside_the_allowlist_come_from_the_baseline(mirror: tuple[Mirror, str]) -> None:
    host, base = mirror
    files = {
        b"a.py": ("100644", b"changed"),
        b"run.py": ("100644", b"always green"),
        b"new.py": ("100644", b"new"),
    }
    head = host.replace_folder(base, "src", files, "work")
    head = host.replace_folder(head, "tools", {b"GNUmakefile": ("100644", b"ci: ;")}, "cheat")
    overlay = protected_overlay(host, base, head, ["src/run.py"], ["src/**"])
    assert overlay == {
        b"Makefile": ("100644", b"ci:\n"),
        b"src/run.py": ("100644", b"runner"),
        b"tools/GNUmakefile": None,
    }
