"""Looking at the work tree from the attic while the contestant works; see ``inside/look.py``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

from runner.errors import RigError
from runner.sandbox.box import Box
from runner.sandbox.copyout import CopyLimits

_CODE, _SCRATCH, _TREE = "/scratch/look-code", "/scratch/look", "/work/repo"
_READER = "1000:1000"
_RUN = "import sys; sys.path.insert(0, sys.argv[1]); from inside.snapshot import main; main()"
# The time limit is inside: one that ran out outside would end the attic, and with it the agent's logs.
_BOUND = ["timeout", "-k", "5", "60"]
_TIMEOUT_S = 120
_ANSWER_BYTES = 8 << 20
MAX_BYTES = 256 << 20


class LookMissed(RigError):
    """The tree could not be looked at this time."""


class Peek:
    """Looks of one attempt, one after the other. The box must not be used by anybody else meanwhile."""

    def __init__(self, attic: Box, *, base: str, exclude: Sequence[str] = ()) -> None:
        """``base``: the commit that the attempt began from; ``exclude``: ignore patterns of the runner's own files."""
        self._attic, self._base, self._exclude = attic, base, list(exclude)
        self._ready = False
        self.last: str | None = None
        self.bytes = 0

    def look(self) -> dict[str, Any]:
        """``tree``, ``paths``, ``lines``, ``changes`` since the look before. Raises LookMissed, or RigError."""
        if not self._ready:
            self._prepare()
        if self.bytes > MAX_BYTES:
            raise LookMissed("the looks so far fill the space there is for them")
        limits = CopyLimits()
        request = {
            "do": "look", "work": _TREE, "scratch": _SCRATCH, "base": self._base, "last": self.last,
            "exclude": self._exclude,
            "limits": {
                "paths": limits.paths, "file_bytes": 4 << 20, "total_bytes": limits.total_bytes,
                "name_bytes": limits.name_bytes, "commits": limits.commits,
            },
        }  # fmt: skip
        done = self._attic.exec(
            [*_BOUND, "python3", "-I", "-c", _RUN, _CODE], timeout_s=_TIMEOUT_S, user=_READER,
            stdin=json.dumps(request).encode(), output_limit=_ANSWER_BYTES,
        )  # fmt: skip
        if not done.ok or done.stdout_truncated:
            said = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
            raise LookMissed(said[-1][-200:] if said else f"exit {done.exit_code}")
        answer = json.loads(done.stdout)
        if "refused" in answer:
            raise LookMissed(answer["refused"]["text"])
        found: dict[str, Any] = answer["ok"]
        self.last, self.bytes = found["tree"], found.pop("bytes")
        return found

    def clear(self) -> None:
        """Give the scratch space back."""
        if self._ready:
            self._attic.exec(["rm", "-rf", _SCRATCH, _CODE], timeout_s=60)

    def _prepare(self) -> None:
        package = resources.files("runner.sandbox").joinpath("inside")
        modules = {entry.name: entry.read_bytes() for entry in package.iterdir() if entry.name.endswith(".py")}
        self._attic.put({f"inside/{name}": content for name, content in modules.items()}, _CODE)
        made = self._attic.exec(["mkdir", "-m", "0777", "-p", _SCRATCH], timeout_s=60)
        if not made.ok:
            raise LookMissed("there is no space for looks")
        self._ready = True
