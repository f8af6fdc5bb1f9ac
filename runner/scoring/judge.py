"""Votes on which of a branch's cases tests what an etalon case tests, where neither probe nor name can say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from runner.errors import UsageError
from runner.schema.base import complaint, digest
from runner.schema.mapping import VOTES_NEEDED, Vote
from runner.scoring.review import same_model

SHOWN_BYTES = 400_000
_TEMPLATE = Path(__file__).parent / "templates" / "mapping.md.j2"


def check_judges(judges: Sequence[str]) -> None:
    """At least three different models. Raises UsageError."""
    distinct = [name for n, name in enumerate(judges) if not any(same_model(name, other) for other in judges[:n])]
    if len(distinct) < VOTES_NEEDED or len(distinct) < len(judges):
        raise UsageError(
            f"{len(distinct)} different judging models of {len(judges)}; at least {VOTES_NEEDED} are needed, each once",
            "--judge provider/model, three times or more",
        )


def mapping_prompt(wanted: Mapping[str, str], found: Mapping[str, str]) -> str:
    """The one text that every judge sees. ``wanted``: etalon cases to their text (empty where only the name is known),
    ``found``: the branch's.
    """
    from jinja2 import Environment, StrictUndefined

    shown = _listed(found)
    if len(shown) > SHOWN_BYTES:
        shown = f"{shown[:SHOWN_BYTES]}\n(cut here: there is more)\n"
    fence = f"===== {digest(shown)[:24]} ====="
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    return template.render(wanted=_listed(wanted), found=shown, fence=fence)


def _listed(cases: Mapping[str, str]) -> str:
    return "\n".join(
        f"## {name}\n\n{text.strip()}\n" if text.strip() else f"## {name}\n" for name, text in cases.items()
    )


def read_vote(text: str, by: str, wanted: Sequence[str], found: Sequence[str]) -> tuple[Vote | None, str]:
    """A judge's vote, or why its answer is none; it is never patched."""
    start, end = text.find("{"), text.rfind("}")
    if not 0 <= start < end:
        return None, "the answer holds no JSON object"
    try:
        vote = Vote.model_validate({"by": by, "mapping": json.loads(text[start : end + 1]).get("mapping")})
    except ValidationError as error:
        return None, complaint(error)
    except (ValueError, RecursionError):
        return None, "the answer holds no JSON object"
    if set(vote.mapping) != set(wanted):
        return None, f"it answers for {len(set(vote.mapping) & set(wanted))} of {len(wanted)} cases, or for others"
    invented = next((case for case in vote.mapping.values() if case is not None and case not in found), None)
    return (None, f"it names {invented}, which the branch does not have") if invented else (vote, "")
