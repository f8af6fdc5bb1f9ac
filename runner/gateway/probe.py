"""Tiny real completions through the gateway itself: does this model answer, as whom, how fast, at what price?

And one long one: does a server really read as much as it is said to, or does it cut in silence?
"""

from __future__ import annotations

import http.client
import json
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from runner.errors import ProviderError, RigError
from runner.gateway.client import Gateway, RunDoor
from runner.gateway.limits import Caps
from runner.gateway.providers import Provider, price_is_known
from runner.gateway.totals import read_ledger
from runner.gateway.wire import PATHS, question
from runner.schema.ledger import LedgerLine

PROBE_S = 60.0
LONG_S = 600.0
SHARE = 0.75
"""How much of the declared context the long prompt fills."""
SAMPLE_WORDS = 400
TOLERANCE = 0.9
WORDS = ("river", "table", "seven", "green", "winter", "paper", "stone", "music", "garden", "bridge")


@dataclass(frozen=True)
class Probe:
    """``served`` null: the answer named no model; ``host``: who computed it, where a broker says so.

    ``detail`` is one sentence for people.
    """

    served: str | None
    latency_s: float
    price_known: bool
    detail: str
    host: str | None = None


@dataclass(frozen=True)
class LongPrompt:
    """A long prompt: tokens that it must have been, and tokens that the server says it read (null: it said nothing).

    ``verdict``: ``whole``, ``cut`` (in silence), ``refused`` (said that it does not fit), ``small`` (not cut, but the
    server says that it holds less than is declared) or ``unknown``.
    """

    verdict: str
    expected: int
    read: int | None
    declared: int
    detail: str

    @property
    def ok(self) -> bool:
        """Nothing speaks against the declared context."""
        return self.verdict in ("whole", "unknown")


def probe(provider: Provider, model: str, *, timeout_s: float = PROBE_S, gateway: Gateway | None = None) -> Probe:
    """Ask ``model`` for one word. Raises ProviderError, with the fix, when it does not answer as itself."""
    with _line_by_line(provider, model, timeout_s, gateway) as ask:
        line = ask("", 16)
    known = price_is_known(provider, line.model_served or model) or price_is_known(provider, model)
    seconds = line.latency_ms / 1000
    served = line.model_served or "(not named)"
    host = f" at {line.host_served}" if line.host_served else ""
    return Probe(
        served=line.model_served,
        latency_s=seconds,
        price_known=known,
        detail=f"{provider.name}/{model} answered as {served}{host} in {seconds:.1f} s; price "
        + ("known" if known else "unknown"),
        host=line.host_served,
    )


def long_prompt(
    provider: Provider,
    model: str,
    *,
    holds: int | None = None,
    timeout_s: float = LONG_S,
    gateway: Gateway | None = None,
) -> LongPrompt:
    """Fill most of the context that the agents are told of. A server that reads fewer tokens has cut the rest.

    ``holds``: tokens of context that the server itself says it has.
    The tokens of a word are measured with a short prompt of the same words first. Raises ProviderError where the
    model does not answer at all.
    """
    found = _long_prompt(provider, model, timeout_s, gateway)
    if found.ok and holds is not None and holds < found.declared:
        detail = f"the server says that it holds {holds} tokens, though {found.declared} are declared"
        return replace(found, verdict="small", detail=detail)
    return found


def _long_prompt(provider: Provider, model: str, timeout_s: float, gateway: Gateway | None) -> LongPrompt:
    declared = provider.for_model(model).context_window
    with _line_by_line(provider, model, timeout_s, gateway) as ask:
        few, many = (ask(_text(count), 8) for count in (SAMPLE_WORDS // 2, SAMPLE_WORDS))
        if few.usage is None or many.usage is None:
            return LongPrompt("unknown", 0, None, declared, "the server does not say how many tokens it reads")
        each = (_read(many) - _read(few)) / (SAMPLE_WORDS - SAMPLE_WORDS // 2)
        if each <= 0:
            return LongPrompt("unknown", 0, None, declared, "the server's token counts do not grow with the prompt")
        words = int(declared * SHARE / each)
        expected = int(_read(few) + each * (words - SAMPLE_WORDS // 2))
        try:
            line = ask(_text(words), 8)
        except ContextRefused:
            detail = f"a prompt of {expected} tokens is refused, though {declared} are declared"
            return LongPrompt("refused", expected, None, declared, detail)
    read = None if line.usage is None else _read(line)
    if read is None:
        return LongPrompt("unknown", expected, None, declared, "the server did not say how many tokens it read")
    if read < expected * TOLERANCE:
        detail = f"the server cut a prompt of {expected} tokens to {read} in silence"
        return LongPrompt("cut", expected, read, declared, detail)
    return LongPrompt("whole", expected, read, declared, f"a prompt of {expected} tokens is read whole ({read})")


class ContextRefused(ProviderError):
    """The prompt does not fit, and the server says so."""


def _read(line: LedgerLine) -> int:
    usage = line.usage
    assert usage is not None
    return usage.uncached_input + usage.cache_read + usage.cache_write


def _text(count: int) -> str:
    """``count`` words, none of which a cache or a compressor could have seen in this order too often."""
    return " ".join(WORDS[(n * n + n // 7) % len(WORDS)] for n in range(count)) + "\nAnswer with the single word: ready"


class _Asker:
    """Sends one question after the other; what came of each stands in the ledger."""

    def __init__(self, door: RunDoor, ledger: Path, provider: Provider, model: str, timeout_s: float) -> None:
        self._door, self._ledger, self._provider, self._model = door, ledger, provider, model
        self._timeout_s = timeout_s

    def __call__(self, words: str, tokens: int) -> LedgerLine:
        """The ledger's line about an answer. Raises ProviderError or ContextRefused."""
        wire = self._provider.protocols[0]
        connection = _UnixConnection(self._door.socket_dir / "gw.sock", self._timeout_s + 5)
        headers = {"authorization": f"Bearer {self._door.token}", "content-type": "application/json"}
        if wire == "anthropic":
            headers["anthropic-version"] = "2023-06-01"
        body = json.dumps(question(wire, self._provider.dialect, self._model, words, tokens))
        try:
            connection.request("POST", "/v1" + PATHS[wire], body, headers)
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            pass  # A cut or endless answer: the ledger has its line.
        finally:
            connection.close()
        totals = self._door.totals()
        lines = read_ledger(self._ledger)
        if not lines:
            raise RigError("the gateway wrote no line about the probe")
        line = lines[-1]
        if line.context:
            raise ContextRefused(f"{self._provider.name}/{self._model} says that the prompt does not fit")
        if line.fault or line.outcome != "answered":
            raise complaint(self._provider, self._model, line, totals.provider_fault or line.fault)
        return line


@contextmanager
def _line_by_line(provider: Provider, model: str, timeout_s: float, gateway: Gateway | None) -> Iterator[_Asker]:
    if gateway is None:
        with Gateway() as own, _line_by_line(provider, model, timeout_s, own) as ask:
            yield ask
        return
    with tempfile.TemporaryDirectory(prefix="bench-probe-") as folder:
        ledger = Path(folder, "gateway.jsonl")
        door = gateway.open_run(f"probe-{time.monotonic_ns()}", provider, model, Caps(wall_s=timeout_s), ledger)
        try:
            yield _Asker(door, ledger, provider, model, timeout_s)
        finally:
            door.close()


def complaint(provider: Provider, model: str, line: LedgerLine, fault: str | None) -> ProviderError:
    """What went wrong with one request, as a sentence and its fix."""
    name = f"{provider.name}/{model}"
    key = f"${provider.key_env}" if provider.key_env else "the key"
    address = f"${provider.base_url_env}" if provider.base_url_env else "the network and any proxy"
    if fault and fault.startswith("wrong model"):
        return ProviderError(f"{name}: {fault}", "load that model, or declare its name in served_aliases")
    if fault and fault.startswith("wrong host"):
        return ProviderError(f"{name}: {fault}", "correct `only` of its routing in providers.yaml")
    known: Mapping[int, tuple[str, str]] = {
        401: ("refuses the key (HTTP 401)", f"check {key}"),
        402: ("wants to be paid first (HTTP 402)", f"add credit to the account of {key}"),
        403: ("refuses the key (HTTP 403)", f"check {key}"),
        404: ("is not known there (HTTP 404)", "check the model's name"),
        429: ("is rate-limited (HTTP 429)", "try later or raise the account's limits"),
    }
    if line.status is not None and line.status in known:
        what, fix = known[line.status]
        return ProviderError(f"{name} {what}", fix)
    if line.status is not None and line.status >= 400:
        return ProviderError(f"{name} answers with HTTP {line.status}", "try later, or check what it serves")
    if line.cut:
        return ProviderError(f"{name} breaks its answer off", f"check the server and {address}")
    if line.outcome == "abandoned":
        return ProviderError(f"{name} gives no answer within {line.latency_ms / 1000:.0f} s", f"check {address}")
    return ProviderError(f"{name}: {fault or 'no answer'}", f"check {address}")


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("gateway", timeout=timeout)
        self._path = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
