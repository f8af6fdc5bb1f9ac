"""The words of an upstream, or of an agent, for "the conversation no longer fits"."""

from __future__ import annotations

import re

_FULL = re.compile(
    r"context[ _-]?(length|window|size|overflow|limit)|(maximum|max) (context|(prompt|input) length)"
    r"|(prompt|input|conversation) (is )?too long|prompt exceeds max|request_too_large|input token count"
    r"|too many tokens|reduce the length|range of input length|ran out of room"
    r"|exceeds? (the )?(available |maximum |model'?s )?(context|allowed (input|number of tokens)|limit of \d)"
    r"|maximum allowed (input|prompt)|(prompt|request|input).{0,40}exceed(s|ed)?\b.{0,40}(token|context)"
    r"|token limit exceeded|input tokens exceed|max_model_len|max_num_tokens|maximum model length"
    r"|inputs`? tokens.{0,20}max_new_tokens.{0,20}must be",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"rate.?limit|too many requests|please wait|per (minute|day|hour)|\bquota\b|throttl|\bbalance\b|\bcredits?\b",
    re.IGNORECASE,
)
"""A limit on how fast somebody may ask, or on what it may cost."""


def overflows(words: str | None) -> bool:
    """Whether an error's words say that the conversation no longer fits."""
    return bool(words) and _FULL.search(words or "") is not None and _RATE.search(words or "") is None
