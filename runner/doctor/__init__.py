"""Is this machine able to run? One small function a question, each with the way to mend it."""

from runner.doctor.check import Check
from runner.doctor.checks import run_checks

__all__ = ["Check", "run_checks"]
