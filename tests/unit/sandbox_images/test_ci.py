""".ci/run: both of the README's commands, an honest exit code, the tests' summary last."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SUMMARY = "== 3 passed in 1.00s =="


@pytest.mark.parametrize(
    ("tests", "validate", "bench", "code", "said"),
    # make itself ends with 2 whatever its command ended with.
    [
        (0, 0, 0, 0, "make bench: exit 0"),
        (1, 0, 0, 1, "make bench: exit not-run"),
        (0, 4, 0, 1, "make validate: exit 2"),
        (0, 0, 3, 1, "make bench: exit 2"),
    ],
)
def test_the_exit_code_is_honest(tmp_path: Path, tests: int, validate: int, bench: int, code: int, said: str) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    targets = {
        "test": f"echo '{SUMMARY}'; exit {tests}",
        "validate": f"exit {validate}",
        "bench": f"echo row; exit {bench}",
    }
    (tmp_path / "Makefile").write_text("".join(f"{name}:\n\t@{what}\n" for name, what in targets.items()))
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(["bash", ".ci/run"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert said in done.stdout
    assert ("\nrow\n" in done.stdout) == (tests == validate == 0)
    assert SUMMARY in done.stdout.splitlines()[-3:]
