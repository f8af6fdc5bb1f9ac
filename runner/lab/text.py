"""Commands and their output as text for people."""

from __future__ import annotations

import re
import shlex

from runner.schema.entry import Command

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")


def shown(command: Command) -> str:
    """A command as a person would type it."""
    line = shlex.join(command.argv)
    return f"(cd {shlex.quote(command.cwd)} && {line})" if command.cwd else line


def plain(output: bytes) -> str:
    """Output as text: bad bytes escaped, terminal codes and control characters taken out."""
    return _ESCAPES.sub("", output.decode("utf-8", "backslashreplace"))
