"""The system calls a sandboxed process may make."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources


@cache
def profile() -> str:
    """Our seccomp profile as one line of JSON, as the engine's ``security_opt`` wants it."""
    text = resources.files("runner.sandbox").joinpath("seccomp.json").read_text(encoding="utf-8")
    return json.dumps(json.loads(text), separators=(",", ":"))
