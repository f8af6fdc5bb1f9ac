"""Two requests compared: the same structure, or where it parts; and which texts differ.

Structure is what a conversation is made of: its fields, how many messages there are and of which role, which tools are
declared and called. Text is everything that a repetition may word differently: tool results hold durations, prompts
hold dates and ids.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

STRUCTURAL = frozenset(["role", "type", "name", "model", "tool_choice", "effort", "reasoning_effort"])
"""Fields whose text is part of the structure."""
SHOWN = 60


@dataclass
class Difference:
    """``structural``: the first place where the structure parts, in words; ``texts``: paths of other differences."""

    structural: str | None = None
    texts: list[str] = field(default_factory=list)


def compare(recorded: Any, live: Any) -> Difference:
    """How ``live`` differs from ``recorded``, both JSON."""
    found = Difference()
    _walk(recorded, live, "", None, found)
    return found


def _walk(recorded: Any, live: Any, path: str, key: str | None, found: Difference) -> None:
    if found.structural is not None or recorded == live:
        return
    where = path or "the body"
    if isinstance(recorded, dict) and isinstance(live, dict):
        for missing in sorted(recorded.keys() - live.keys()):
            found.structural = f"{where}: {missing[:SHOWN]!r} is missing"
            return
        for added in sorted(live.keys() - recorded.keys()):
            found.structural = f"{where}: {added[:SHOWN]!r} is new"
            return
        for name in recorded:
            _walk(recorded[name], live[name], f"{path}.{name[:SHOWN]}".lstrip("."), name, found)
    elif isinstance(recorded, list) and isinstance(live, list):
        for index, (one, other) in enumerate(zip(recorded, live, strict=False)):
            _walk(one, other, f"{path}[{index}]", None, found)
        if len(recorded) != len(live) and found.structural is None:
            found.structural = f"{where}: {len(recorded)} entries were recorded, there are {len(live)}"
    elif (isinstance(recorded, str) and isinstance(live, str) and key not in STRUCTURAL) or (
        _number(recorded) and _number(live)
    ):
        found.texts.append(where)
    else:
        found.structural = f"{where}: {_show(recorded)} was recorded, this is {_show(live)}"


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _show(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return repr(value)[:SHOWN]
