"""Runs the repository's own commands."""

import functools
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAIL_LINES = 15


def run(what: str, *argv: str) -> list[str]:
    """Nothing when the command ends with 0, otherwise what it said last."""
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode == 0:
        return []
    lines = (done.stdout + done.stderr).strip().splitlines()[-TAIL_LINES:]
    return [f"{what} failed with exit code {done.returncode}", *(f"  {line}" for line in lines)]


@functools.cache
def _cases(*names: str) -> tuple[str, ...]:
    return tuple(run("python3 -m e2e", sys.executable, "-m", "e2e", *names))


def run_cases(*names: str) -> list[str]:
    """One run serves every step that asks for it: no check leaves a file other than it was."""
    return list(_cases(*names))
