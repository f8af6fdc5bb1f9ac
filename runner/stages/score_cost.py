"""The document of ``bench-score cost``: what the logs' answers cost, and who says so."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from runner.errors import ConfigError, UsageError
from runner.events.segments import Segment
from runner.gateway.accounting import Charge, look_up
from runner.gateway.providers import Provider, load_providers
from runner.prices import price_source
from runner.schema.entry import Entry
from runner.stages.score_run import Worked, by_milestone, counted, generation_ids, used

RECKONED = "the agent's own price list: no bill, and never the cost"
TOKENS = ("prompt", "completion", "cached", "cache_write")


@dataclass(frozen=True)
class Part:
    """One milestone: the ids a broker accounts for, answers without one, tokens, and what the agent reckons."""

    ids: list[str]
    mentions: int
    unnamed: int
    tokens: dict[str, int] | None
    reckoned: float | None
    segments: list[Segment] = field(default_factory=list)


def parts_of(work: Worked) -> dict[str, Part]:
    """By milestone, from the logs."""
    found = {}
    for label, segments in by_milestone(work).items():
        ids = generation_ids(segments)
        tokens: Counter[str] = Counter()
        spent = [counted(used(s.trace)) for s in segments if s.trace]
        for one in spent:
            tokens.update(one or {})
        known = [s.trace.cost_usd for s in segments if s.trace and s.trace.cost_usd is not None]
        found[label] = Part(
            ids=list(dict.fromkeys(ids)),
            mentions=len(ids),
            unnamed=_unnamed(segments),
            tokens=dict(tokens) if any(spent) else None,
            reckoned=round(sum(known), 6) if known else None,
            segments=segments,
        )
    return found


def parts_of_document(path: Path) -> dict[str, Part]:
    """By milestone, from what ``bench-score process`` printed. Raises UsageError for any other file."""
    try:
        milestones = json.loads(path.read_bytes())["milestones"]
        return {
            label: Part(
                ids=[str(ident) for ident in found["gen_ids"]],
                mentions=int(found["gen_id_mentions"]),
                unnamed=0,
                tokens={key: int(found["result_tokens"][key]) for key in TOKENS} if found["result_tokens"] else None,
                reckoned=found["result_cost_usd"],
            )
            for label, found in milestones.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{path} is no document of bench-score process") from None


def cost_document(
    entry: Entry,
    parts: Mapping[str, Part],
    *,
    endpoint: str | None,
    provider: Provider | None,
    env: Mapping[str, str] = os.environ,
) -> dict[str, Any]:
    """By the broker's accounts where the logs name its answers; else, for a declared ``provider``, by the price list.

    A lookup that fails leaves the total partial and says so; what nobody knows is null. Raises ConfigError (exit
    code 2) where answers have to be looked up and the key is not set.
    """
    ids = [ident for part in parts.values() for ident in part.ids]
    endpoint = endpoint or entry.cost.endpoint
    charges: dict[str, Charge] = {}
    if ids and endpoint and not (provider and provider.free):
        charges = look_up(endpoint, _key(entry, endpoint, env), ids, entry.cost)
    reckoned = [part.reckoned for part in parts.values() if part.reckoned is not None]
    document: dict[str, Any] = {
        "source": None,
        "endpoint": endpoint if charges else None,
        "total_cost_usd": None,
        "openrouter_cost_usd": None,
        "fallback_cost_usd": round(sum(reckoned), 6) if reckoned else None,
        "fallback_label": RECKONED if reckoned else None,
        "unique_ids": len(set(ids)),
        "id_mentions": sum(part.mentions for part in parts.values()),
        "fetched": sum(charge.failure is None for charge in charges.values()),
        "failures": dict(Counter(charge.failure for charge in charges.values() if charge.failure)),
    }
    return document | (_by_accounts(parts, charges) if charges else _by_list(parts, provider))


def named_provider(path: Path, name: str) -> Provider:
    """A provider of ``providers.yaml``. Raises UsageError listing the known ones."""
    known = load_providers(path).by_name
    if name not in known:
        raise UsageError(f"unknown provider {name!r}", f"known are {', '.join(known)}")
    return known[name]


def _key(entry: Entry, endpoint: str, env: Mapping[str, str]) -> str:
    name = entry.api_key_env or "OPENROUTER_API_KEY"
    if not env.get(name):
        raise ConfigError(f"{name} is not set, and {endpoint} asks for it", f"export {name}")
    return env[name]


def _by_accounts(parts: Mapping[str, Part], charges: dict[str, Charge]) -> dict[str, Any]:
    known = {ident: charge for ident, charge in charges.items() if charge.failure is None}
    unnamed = sum(part.unnamed for part in parts.values())
    missing = []
    if len(known) < len(charges):
        missing.append(f"{len(charges) - len(known)} of {len(charges)} lookups failed")
    if unnamed:
        missing.append(f"{unnamed} answers have no id of the broker's")
    total = _sum(known.values())
    cost = total.pop("cost") if known else None
    return {
        "source": "openrouter" if known else "none",
        "total_cost_usd": cost,
        "openrouter_cost_usd": cost,
        "partial": bool(missing),
        "reason": "; ".join(missing) or None,
        "tokens": total if known else None,
        "milestones": {
            label: {**_sum(known[i] for i in part.ids if i in known), "ids": len(part.ids)}
            for label, part in parts.items()
        },
    }


def _by_list(parts: Mapping[str, Part], provider: Provider | None) -> dict[str, Any]:
    """By the dated price list, answer by answer; without a declared provider nobody can say what they cost."""
    milestones: dict[str, dict[str, Any]] = {}
    reasons = []
    for label, part in parts.items():
        cost, why = _priced(part, provider)
        reasons += [why] if why else []
        tokens = part.tokens or dict.fromkeys(TOKENS)
        milestones[label] = {"cost": None if cost is None else round(cost, 10), **tokens, "ids": len(part.ids)}
    known = not reasons
    left_out = [why for part in parts.values() if (why := _left_out(part))]
    spent = [part.tokens for part in parts.values() if part.tokens]
    return {
        "source": ("free" if provider and provider.free else price_source()) if known else "worker-usage",
        "total_cost_usd": round(sum(m["cost"] for m in milestones.values()), 10) if known else None,
        "partial": known and bool(left_out),
        "reason": next(iter([*reasons, *left_out]), None),
        "tokens": {key: sum(tokens[key] for tokens in spent) for key in TOKENS} if spent else None,
        "milestones": milestones,
    }


def _priced(part: Part, provider: Provider | None) -> tuple[float | None, str | None]:
    """USD, or null with the reason."""
    if provider is None:
        return None, "no provider is declared: name it by --provider"
    if provider.free:
        return 0.0, None
    if part.tokens and not part.segments:
        return None, "prices hold for single answers: name the logs"
    total = 0.0
    for segment in part.segments:
        if segment.trace and used(segment.trace) is None and segment.trace.answers:
            return None, f"the log of {segment.label} says nothing of tokens"
        for answer in segment.trace.answers if segment.trace else ():
            if answer.usage is None:
                continue
            named = segment.trace.model if segment.trace else None
            at = answer.at or segment.started
            if at is None:
                return None, "the log does not say when its answers were given"
            model = answer.model or (named.value if named else "")
            found = provider.price_of(model, answer.usage, datetime.fromisoformat(at), pinned=model)
            if found.usd is None:
                return None, found.source
            total += found.usd
    return total, None


def _left_out(part: Part) -> str | None:
    """Why there was more to pay for than the answers that are priced."""
    traces = [segment.trace for segment in part.segments if segment.trace]
    beside = sum(trace.side_usage.total for trace in traces if trace.side_usage)
    if beside:
        return f"{beside} tokens of calls beside the work stand in the agent's totals alone"
    one_by_one = [t for t in traces if any(a.usage and not a.side for a in t.answers)]
    silent = sum(a.whole and not a.side and a.usage is None for t in one_by_one for a in t.answers)
    return f"{silent} answers say nothing of their tokens" if silent else None


def _unnamed(segments: Sequence[Segment]) -> int:
    answers = [answer for s in segments if s.trace for answer in s.trace.answers if answer.whole and answer.usage]
    return len(answers) - len(generation_ids(segments))


def _sum(charges: Iterable[Charge]) -> dict[str, Any]:
    found = list(charges)
    total: dict[str, Any] = {"cost": round(sum(charge.usd or 0.0 for charge in found), 10)}
    return total | {key: sum(getattr(charge, key) for charge in found) for key in TOKENS}
