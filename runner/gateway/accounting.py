"""What a broker's own accounts say an answer cost: asked per answer, patiently, each with its own end."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from runner.errors import ConfigError
from runner.schema.layers import CostSettings

TRANSIENT = frozenset([408, 409, 425, 429, 500, 502, 503, 504])
MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Charge:
    """``usd`` and the provider's own token counts of one answer, or why they are not known (``failure``)."""

    usd: float | None = None
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    cache_write: int = 0
    failure: str | None = None


def look_up(
    endpoint: str, key: str, ids: Iterable[str], settings: CostSettings, sleep: Callable[[float], None] = time.sleep
) -> dict[str, Charge]:
    """The charge of each of ``ids`` (asked once each). What fails for the moment is asked again, with doubled waits.

    ``failure`` is ``auth`` (401, 403), ``expired`` (404), ``http_<status>``, ``timeout``, ``unreachable`` or
    ``unreadable``.
    Raises ConfigError for an endpoint that is no http address.
    """
    if urllib.parse.urlsplit(endpoint).scheme not in ("http", "https"):
        raise ConfigError(f"cost.endpoint {endpoint!r} is no http address", "correct it in the registry")
    unique = list(dict.fromkeys(ids))
    with ThreadPoolExecutor(settings.concurrency, thread_name_prefix="cost") as pool:
        charges = pool.map(lambda ident: _patiently(endpoint, key, ident, settings, sleep), unique)
        return dict(zip(unique, charges, strict=True))


def _patiently(endpoint: str, key: str, ident: str, settings: CostSettings, sleep: Callable[[float], None]) -> Charge:
    wait = settings.backoff_seconds
    for left in range(settings.retries, -1, -1):
        charge, again = _once(endpoint, key, ident, settings.timeout_seconds)
        if not again or not left:
            return charge
        sleep(wait)
        wait *= 2
    raise AssertionError("unreachable")


def _once(endpoint: str, key: str, ident: str, timeout_s: float) -> tuple[Charge, bool]:
    """The charge, and whether asking again may help."""
    joint = "&" if "?" in endpoint else "?"
    request = urllib.request.Request(
        f"{endpoint}{joint}{urllib.parse.urlencode({'id': ident})}",
        headers={"Authorization": f"Bearer {key}", "Accept": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:
            return _read(answer.read(MAX_BYTES)), False
    except urllib.error.HTTPError as error:
        named = {401: "auth", 403: "auth", 404: "expired"}.get(error.code, f"http_{error.code}")
        return Charge(failure=named), error.code in TRANSIENT
    except TimeoutError:
        return Charge(failure="timeout"), True
    except OSError as error:
        late = isinstance(getattr(error, "reason", None), TimeoutError)
        return Charge(failure="timeout" if late else "unreachable"), True


def _read(body: bytes) -> Charge:
    try:
        data = json.loads(body)["data"]
        return Charge(
            usd=_number(data["total_cost"]),
            prompt=int(data.get("native_tokens_prompt") or 0),
            completion=int(data.get("native_tokens_completion") or 0),
            cached=int(data.get("native_tokens_cached") or 0),
            cache_write=int(data.get("native_tokens_cache_write") or 0),
        )
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return Charge(failure="unreadable")


def _number(value: Any) -> float:
    number = float(value)
    if not 0 <= number < float("inf"):
        raise ValueError("no price")
    return number
