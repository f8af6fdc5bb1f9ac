"""Every error that people meet: one sentence and the fix.

Each class answers, at its source, the questions that decide what a failure costs:

``exit_code``  what the process ends with when the error reaches the top
``retry``      may the step that failed be tried again?
``grade``      is what the contestant left behind still worth scoring?
``count``      may a score that came out be counted?
``cause``      whose failure it is: model, context, provider, rig, timeout, cancelled or usage
"""

from __future__ import annotations

from typing import ClassVar


class BenchError(Exception):
    """Base of all typed errors. ``str()`` is one sentence, then how to mend it."""

    exit_code: ClassVar[int] = 3
    retry: ClassVar[bool] = False
    grade: ClassVar[bool] = False
    count: ClassVar[bool] = False
    cause: ClassVar[str] = "rig"

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what} — {self.fix}" if self.fix else self.what


class UsageError(BenchError):
    """The command line asks for something that does not exist."""

    exit_code = 2
    cause = "usage"


class ConfigError(BenchError):
    """A file or a variable of the user's says something that cannot be used."""

    exit_code = 2
    cause = "usage"


class EngineMissing(BenchError):
    """No Docker engine answers."""

    exit_code = 2
    cause = "rig"


class RigError(BenchError):
    """The measuring apparatus failed; never a contestant's result."""

    retry = True
    cause = "rig"


class DiskFull(RigError):
    """The host has too little space to measure honestly."""

    retry = False


class BuildError(RigError):
    """An image could not be built."""

    retry = False


class RedBaseline(RigError):
    """The benchmark's own CI fails on the untouched baseline: nothing can be measured."""

    retry = False


class ProviderError(BenchError):
    """The model's service failed: the run is invalid, not the model's failure."""

    retry = True
    cause = "provider"


class ContestantError(BenchError):
    """What the contestant left behind cannot be used (too large, no branch, forged). It is a result."""

    exit_code = 0
    grade = True
    count = True
    cause = "model"


class ProofError(BenchError):
    """A claim did not hold (validate, verify, reproduce)."""

    exit_code = 4
    cause = "rig"


class Interrupted(BenchError):
    """Somebody stopped the run."""

    exit_code = 130
    grade = True
    cause = "cancelled"
