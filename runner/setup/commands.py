"""A command of the set-up's, run to its end with its output kept for the error message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Done(NamedTuple):
    """How it ended, and what it said on both streams together."""

    code: int
    lines: list[str]

    @property
    def last(self) -> str:
        """The last line that says something."""
        return next((line for line in reversed(self.lines) if line.strip()), "no output")


def run(argv: Sequence[str], *, env: Mapping[str, str], timeout_s: float, cwd: Path | None = None) -> Done:
    """Run without input. A program that cannot start is code 127, one that takes too long 124."""
    import subprocess

    try:
        done = subprocess.run(
            list(argv),
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
            check=False,
        )
    except OSError as error:
        return Done(127, [f"{argv[0]}: {error.strerror}"])
    except subprocess.TimeoutExpired:
        return Done(124, [f"{argv[0]} took longer than {timeout_s:.0f} s"])
    return Done(done.returncode, done.stdout.decode(errors="replace").splitlines())
