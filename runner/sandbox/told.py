"""How the main process of a box says that its command has ended: a line on both streams, under a secret mark."""

from __future__ import annotations

import re
import secrets

from runner.sandbox.stream import STDERR, STDOUT

NO_FOLDER, NO_PROGRAM = "no-folder", "no-program"
_WORD_BYTES = 16


class Told:
    """Not for several threads at once. ``mark`` goes to the main process by its input, where nobody else reads it."""

    def __init__(self) -> None:
        self.mark = secrets.token_hex(16)
        self._line = re.compile(rb"\n" + self.mark.encode() + rb" (\S{1,%d})\n" % _WORD_BYTES)
        self.longest = len(self.mark) + _WORD_BYTES + 3
        self._before = {STDOUT: b"", STDERR: b""}
        self._words: dict[int, str] = {}

    @property
    def over(self) -> bool:
        """Has it been said on both streams? All that the command itself wrote was read before."""
        return len(self._words) == len(self._before)

    @property
    def word(self) -> str:
        """An exit code, or why there is none. Empty before the end."""
        return self._words.get(STDOUT, "") if self.over else ""

    def output(self, stream: int, piece: memoryview) -> memoryview:
        """What of a piece belongs to the command, the line at its end included: see ``without``."""
        if stream in self._words:
            return piece[:0]
        before = self._before[stream]
        found = self._line.search(seen := before + piece)
        if found is None:
            self._before[stream] = seen[-self.longest :]
            return piece
        self._words[stream] = found[1].decode("ascii", "replace")
        return piece[: found.end() - len(before)]

    def without(self, output: bytes) -> bytes:
        """The command's own output, without the line."""
        found = self._line.search(output, max(0, len(output) - self.longest))
        return output[: found.start()] if found else output
