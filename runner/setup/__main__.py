"""python3 -m runner.setup [--with SET,SET] [--engine] [-- COMMAND ...]

Makes sure that .venv holds the named sets of requirements and that an engine answers, then becomes
COMMAND. Where all is there already this costs a few hundredths of a second. Ends with 2 and one
sentence when something must be done by hand.
"""

from __future__ import annotations

import os
import sys

if sys.version_info < (3, 11):  # noqa: UP036 - whoever runs make may have an older one
    sys.exit("setup: Python 3.11 or newer is needed, this is " + sys.version.split()[0] + " (make PYTHON=python3.12)")

from pathlib import Path

from runner.errors import BenchError
from runner.setup.engine import ensure_engine
from runner.setup.venv import ensure_venv

ROOT = Path(__file__).resolve().parents[2]


def say(line: str) -> None:
    """One line for people, apart from what COMMAND prints."""
    sys.stderr.write(f"setup: {line}\n")
    sys.stderr.flush()


def main(argv: list[str]) -> int:
    """Parse, set up, and replace this process by the command (or return the exit code)."""
    options, command = (argv, []) if "--" not in argv else (argv[: argv.index("--")], argv[argv.index("--") + 1 :])
    sets: list[str] = []
    engine = False
    while options:
        option, *options = options
        if option == "--with" and options:
            sets, options = options[0].split(","), options[1:]
        elif option == "--engine":
            engine = True
        else:
            sys.stderr.write(__doc__ or "")
            return 2
    env = dict(os.environ)
    try:
        ensure_venv(ROOT, sets, env=env, say=say)
        if engine:
            env.update(ensure_engine(env, say=say))
    except BenchError as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        return 130
    if not command:
        return 0
    try:
        os.execvpe(command[0], command, env)
    except OSError as error:
        say(f"{command[0]} cannot be started: {error.strerror}")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
