"""What all records share: frozen, no unknown keys, one canonical byte form."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError


class Strict(BaseModel):
    """A frozen model that refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def complaint(error: ValidationError) -> str:
    """What is wrong with a document, in words for its author: the key and the first of the complaints."""
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"]))
    said = {"extra_forbidden": "unknown key", "missing": "is missing"}.get(first["type"])
    said = said or first["msg"].removeprefix("Value error, ")
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{key}: {said}{more}" if key else f"{said}{more}"


def canonical(value: Any) -> str:
    """One JSON text for one value: keys sorted, no spaces, ASCII only, NaN refused.

    ASCII means that no line separator of Unicode's can ever break a line-based file; a lone surrogate
    (half a character, as file names that are no UTF-8 carry) is written as the text of its escape.
    """
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", by_alias=True)
    return json.dumps(
        _whole_characters(value), sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True
    )


def _whole_characters(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_whole_characters(k): _whole_characters(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole_characters(v) for v in value]
    return value


def digest(value: Any) -> str:
    """SHA-256 (hex) of the canonical form of ``value``."""
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()
