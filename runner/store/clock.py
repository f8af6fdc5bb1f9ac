"""The controller's clock: the only one that counts."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime


def now() -> str:
    """ISO 8601, UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def new_run_id() -> str:
    """``YYYYMMDD-HHMMSS-xxxx``: sorts by time, and two started in one second differ."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"
