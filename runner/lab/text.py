"""Commands and their output as text for people."""

from __future__ import annotations

import re
import shlex

from runner.schema.entry import Command

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")

# Line ends, and what turns the direction of a text.
_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_NAME_CHARS = 300


def shown(command: Command) -> str:
    """A command as a person would type it."""
    line = shlex.join(command.argv)
    return f"(cd {shlex.quote(command.cwd)} && {line})" if command.cwd else line


def one_line(name: str) -> str:
    """A name that a contestant chose, fit for a score or a table: escaped, and cut where it goes on."""
    cut = name if len(name) <= _NAME_CHARS else f"{name[:_NAME_CHARS]}..."
    return _BREAKS.sub(lambda found: f"\\x{ord(found.group()):02x}", cut)


def plain(output: bytes) -> str:
    """Output as text: bad bytes escaped, terminal codes and control characters taken out."""
    return _ESCAPES.sub("", output.decode("utf-8", "backslashreplace"))
