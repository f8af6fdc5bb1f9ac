"""Files that people bring: grades, votes."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from runner.errors import ConfigError
from runner.schema.base import complaint

_Model = TypeVar("_Model", bound=BaseModel)


def read_given(kind: type[_Model], path: Path) -> _Model:
    """One JSON document. Raises ConfigError naming the key that cannot be used."""
    try:
        return kind.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        raise ConfigError(f"{path}: {complaint(error)}", "docs/reference/records.md shows the format") from None
