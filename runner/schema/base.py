"""What all records share: frozen, no unknown keys, one canonical byte form."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """A frozen model that refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def canonical(value: Any) -> str:
    """One JSON text for one value: keys sorted, no spaces, ASCII only, NaN refused.

    ASCII keeps file names that are no UTF-8 (as surrogate escapes) storable; it also means that
    no line separator of Unicode's can ever break a line-based file.
    """
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", by_alias=True)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True)


def digest(value: Any) -> str:
    """SHA-256 (hex) of the canonical form of ``value``."""
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()
