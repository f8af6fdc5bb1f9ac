"""Ignored files that a clone does not bring (a vault marker, an env file): read from the source, scanned for secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from runner.errors import ConfigError

LIMIT_BYTES = 1 << 20
_SECRETS = {
    "a private key": rb"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    "an API key": rb"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}",
    "a cloud access key": rb"\bAKIA[0-9A-Z]{16}\b",
    "a code host's token": rb"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|glpat-[A-Za-z0-9_-]{16,})",
    "a chat service's token": rb"\bxox[abprs]-[A-Za-z0-9-]{10,}",
}
_SECRET_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)", re.IGNORECASE)


def read_carried(source: Path, names: Sequence[str], env: Mapping[str, str] | None = None) -> dict[str, bytes]:
    """The carried files by their path in the tree.

    Raises ConfigError for a path outside the source, a file that is missing, no regular file, too large, or that holds
    what looks like a secret or the value of a variable that is named like one (the value is never shown).
    """
    found: dict[str, bytes] = {}
    for name in names:
        path = source / name
        if Path(name).is_absolute() or ".." in Path(name).parts or path.is_symlink() or not path.is_file():
            raise ConfigError(f"carry: {name} is no regular file below {source}")
        content = path.read_bytes()
        if len(content) > LIMIT_BYTES:
            raise ConfigError(f"carry: {name} is larger than {LIMIT_BYTES >> 20} MiB")
        kind = _secret_in(content, os.environ if env is None else env)
        if kind:
            raise ConfigError(
                f"carry: {name} seems to hold {kind}", "a contestant can read every carried file: take it out"
            )
        found[name] = content
    return found


def check_variables(variables: Mapping[str, str], env: Mapping[str, str] | None = None) -> None:
    """Raises ConfigError for a variable of the entry that holds what looks like a secret (the value is never shown)."""
    for name, value in variables.items():
        kind = _secret_in(value.encode("utf-8", "surrogateescape"), os.environ if env is None else env)
        if kind:
            raise ConfigError(
                f"environment: {name} seems to hold {kind}", "a contestant can read every variable: take it out"
            )


def _secret_in(content: bytes, env: Mapping[str, str]) -> str | None:
    for kind, pattern in _SECRETS.items():
        if re.search(pattern, content):
            return kind
    for name, value in env.items():
        if _SECRET_NAMES.search(name) and len(value) >= 8 and value.encode("utf-8", "surrogateescape") in content:
            return f"the value of {name}"
    return None
