"""What a request says besides its question: its options, how to sample, and under which system prompt."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

from runner.schema.base import digest

_SAMPLING = frozenset([
    "temperature", "top_p", "top_k", "min_p", "seed", "frequency_penalty", "presence_penalty", "repetition_penalty",
    "max_tokens", "max_completion_tokens", "max_output_tokens",
])  # fmt: skip
_SYSTEM = ("system", "developer")
CONVERSATION = ("messages", "input", "system", "instructions", "tools")
_SESSION = frozenset([
    "model", "metadata", "client_metadata", "prompt_cache_key", "user", "safety_identifier", "stream", "stream_options",
    "store", "include", "previous_response_id",
])  # fmt: skip


def options_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """What a request says besides its conversation and what is new in every session: all that an effort may be."""
    return {name: value for name, value in sorted(data.items()) if name not in _SESSION and name not in CONVERSATION}


def options_sha256(data: Mapping[str, Any]) -> str | None:
    """Hash of ``options_of`` as JSON; None where nothing was read, or an option is beyond all bounds."""
    if not data:
        return None
    try:
        return hashlib.sha256(orjson.dumps(options_of(data), option=orjson.OPT_SORT_KEYS)).hexdigest()
    except orjson.JSONEncodeError:
        return None


def sampling_of(data: dict[str, Any]) -> str | None:
    """The sampling options of a request as JSON, keys sorted; None where it names none."""
    found = {key: data[key] for key in _SAMPLING & data.keys() if isinstance(data[key], (int, float))}
    return json.dumps(found, sort_keys=True, separators=(",", ":")) if found else None


def system_sha256(data: dict[str, Any]) -> str | None:
    """Hash of what stands in front of the conversation: ``system`` or ``instructions``, and leading system messages."""
    parts: list[Any] = [data[key] for key in ("system", "instructions") if data.get(key)]
    for key in ("messages", "input"):
        turns = data.get(key)
        for turn in turns if isinstance(turns, list) else ():
            if not isinstance(turn, dict) or turn.get("role") not in _SYSTEM:
                break
            parts.append(turn.get("content"))
    if not parts:
        return None
    if all(isinstance(part, str) for part in parts):
        return _texts_sha256(tuple(parts))
    try:
        return digest(parts)
    except (ValueError, RecursionError):
        return None


@lru_cache(maxsize=16)
def _texts_sha256(parts: tuple[str, ...]) -> str:
    """An agent sends the same prompt with every request."""
    return digest(parts)
