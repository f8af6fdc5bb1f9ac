"""Each provider's own words for how many tokens an answer took, in one form."""

from __future__ import annotations

from typing import Any

from runner.schema.ledger import Usage, Wire

_CACHE_READ = ("prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens")
"""Beside OpenAI's own place for it: DeepSeek, Moonshot, LiteLLM's proxy."""
_CACHE_WRITTEN = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
"""OpenAI and OpenRouter, LiteLLM's proxy, Alibaba."""


def canonical_usage(wire: Wire, raw: dict[str, Any]) -> Usage | None:
    """A provider's usage in canonical form; None when it lacks the counts of its protocol."""
    if wire == "anthropic":
        into, out = count_of(raw, "input_tokens"), count_of(raw, "output_tokens")
        if into is None or out is None:
            return None
        split = raw.get("cache_creation")  # by how long they are kept
        parts = {key: count_of(split, key) or 0 for key in split} if isinstance(split, dict) else {}
        written = count_of(raw, "cache_creation_input_tokens") or sum(parts.values())
        return Usage(
            uncached_input=into,
            cache_read=count_of(raw, "cache_read_input_tokens") or 0,
            cache_write=written,
            cache_write_1h=min(parts.get("ephemeral_1h_input_tokens", 0), written),
            output=out,
        )
    names = ("input", "output") if wire == "responses" else ("prompt", "completion")
    into, out = count_of(raw, f"{names[0]}_tokens"), count_of(raw, f"{names[1]}_tokens")
    if into is None or out is None:
        return None
    inside = raw.get(f"{names[0]}_tokens_details")
    spent = raw.get(f"{names[1]}_tokens_details")
    inside = inside if isinstance(inside, dict) else {}
    spent = spent if isinstance(spent, dict) else {}
    read = next(filter(None, (count_of(inside, "cached_tokens"), *(count_of(raw, key) for key in _CACHE_READ))), 0)
    write = next(filter(None, (count_of(part, key) for part in (inside, raw) for key in _CACHE_WRITTEN)), 0)
    read = min(read, into)
    write = min(write, into - read)
    thought = count_of(spent, "reasoning_tokens")
    if thought and count_of(raw, "total_tokens") == into + out + thought:  # xAI: the total alone says it is not inside
        out += thought
    return Usage(
        uncached_input=into - read - write,
        cache_read=read,
        cache_write=write,
        output=out,
        reasoning=thought,
    )


def count_of(raw: dict[str, Any], key: str) -> int | None:
    value = raw.get(key)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
