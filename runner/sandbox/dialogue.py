"""A command in a box that stays: it is told something, answers, and waits for more. A new one would cost an exec."""

from __future__ import annotations

import time
from collections.abc import Sequence

from runner.errors import RigError
from runner.sandbox.box import Box
from runner.sandbox.stream import STDERR, Capture

_KEPT_BYTES = 1 << 16


class Dialogue:
    """Not for several threads at once. It ends with its box, or when it is closed."""

    def __init__(self, box: Box, argv: Sequence[str]) -> None:
        """Start the command. Raises RigError."""
        self._channel = box.begin(argv)

    def ask(self, text: bytes, *, until: bytes, timeout_s: float) -> bytes:
        """Say ``text``, wait for a line ``until``; what came before it (its last 64 KiB). Raises RigError, in the
        command's own words where it ended.
        """
        heard, said = bytearray(), Capture(_KEPT_BYTES)
        end = until + b"\n"

        def take(stream: int, piece: memoryview) -> None:
            if stream == STDERR:
                said.add(piece)
            else:
                heard.extend(piece)
                del heard[:-_KEPT_BYTES]

        limit = time.monotonic() + timeout_s
        over = self._channel.talk(text, take, until=limit, stop=lambda: heard.endswith(end), more=True)
        if not over and heard.endswith(end):
            return bytes(heard[: -len(end)])
        words = said.data().decode("utf-8", "replace").strip()
        raise RigError(words or ("it ended" if over else f"no answer for {timeout_s:.0f} s"))

    def close(self) -> None:
        """Leave it; safe to call again."""
        self._channel.close()
