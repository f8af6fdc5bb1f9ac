"""What a killed command left in the temporary folder goes; what is young or not ours stays."""

from __future__ import annotations

import os
import re
import tempfile
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import runner
from runner.cli.main import app
from runner.report.prune import prune_scratch

OLD = time.time() - 3 * 86_400


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    return tmp_path


def made(path: Path) -> Path:
    path.mkdir()
    (path / "file").touch()
    os.utime(path, (OLD, OLD))
    return path


def test_only_old_folders_of_ours_go(scratch: Path) -> None:
    left = made(scratch / "bench-validate-a1_b2c3d")
    fresh, named = scratch / "bench-score-a1_b2c3d", made(scratch / "bench-results")
    fresh.mkdir()
    link, file = scratch / "bench-host-a1_b2c3d", scratch / "bench-note-a1_b2c3d"
    longer = made(scratch / "bench-validate-a1_b2c3d.kept")
    link.symlink_to(named)
    file.touch()
    os.utime(file, (OLD, OLD))
    assert prune_scratch(days=2, dry_run=True) == [left]
    assert left.exists()
    assert prune_scratch(days=4, dry_run=False) == []
    assert prune_scratch(days=0, dry_run=False) == [left]
    assert sorted(scratch.iterdir()) == sorted([fresh, named, link, file, longer])
    assert (named / "file").exists()


def test_all_that_the_runner_makes_there_goes(scratch: Path) -> None:
    """Whatever call of its source makes something in the temporary folder, it is a folder, and known by its name."""
    called = re.compile(r"tempfile\.(mkdtemp|mkstemp|\w+Directory|NamedTemporaryFile)\(([^()]*)\)")
    sources = Path(runner.__file__).parent.rglob("*.py")
    calls = [call for source in sources for call in called.findall(source.read_text()) if "dir=" not in call[1]]
    kinds, names = {kind for kind, _ in calls}, {re.sub(r'prefix="(.*)"', r"\1", given) for _, given in calls}
    assert kinds == {"mkdtemp", "TemporaryDirectory"}
    left = sorted(made(scratch / f"{name}a1_b2c3d") for name in names)
    assert len(left) > 10
    assert prune_scratch(days=1, dry_run=False) == left


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_the_folder_of_another_user_stays(scratch: Path) -> None:
    os.chown(made(scratch / "bench-score-a1_b2c3d"), 1000, 1000)
    assert prune_scratch(days=1, dry_run=False) == []


@pytest.mark.parametrize("name", ["bench-score-a1_b2c3d", "opencode-db-a1_b2c3d", "bgw-a1_b2c3d"])
def test_the_command_says_what_goes(scratch: Path, name: str) -> None:
    left = made(scratch / name)
    index = scratch / "index.md"
    index.write_text("---\nbenchmarks:\n- {id: calc, source_repo: ., baseline: '0000000', plan: p, scope_allowlist: [],"
                     " commands: {ci: {argv: ['true']}}}\n---\n")  # fmt: skip
    argv = ["prune", "--registry", str(index), "--days", "0"]
    said = CliRunner().invoke(app, [*argv, "--dry-run"]).stdout.replace("\n", " ")
    assert said == f"would remove {left} 1 folders would go "
    assert CliRunner().invoke(app, argv).exit_code == 0
    assert not left.exists()
