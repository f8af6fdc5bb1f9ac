"""One tiny real completion, through the gateway itself: does this model answer, as whom, how fast, at what price?"""

from __future__ import annotations

import http.client
import json
import socket
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from runner.errors import ProviderError, RigError
from runner.gateway.client import Gateway
from runner.gateway.limits import Caps
from runner.gateway.providers import Provider, price_is_known
from runner.gateway.totals import read_ledger
from runner.gateway.wire import PATHS, question
from runner.schema.ledger import LedgerLine

PROBE_S = 60.0


@dataclass(frozen=True)
class Probe:
    """``served`` null: the answer named no model. ``detail`` is one sentence for people."""

    served: str | None
    latency_s: float
    price_known: bool
    detail: str


def probe(provider: Provider, model: str, *, timeout_s: float = PROBE_S, gateway: Gateway | None = None) -> Probe:
    """Ask ``model`` for one word. Raises ProviderError, with the fix, when it does not answer as itself."""
    if gateway is None:
        with Gateway() as own:
            return probe(provider, model, timeout_s=timeout_s, gateway=own)
    with tempfile.TemporaryDirectory(prefix="bench-probe-") as folder:
        ledger = Path(folder, "gateway.jsonl")
        door = gateway.open_run(f"probe-{time.monotonic_ns()}", provider, model, Caps(wall_s=timeout_s), ledger)
        try:
            _ask(door.socket_dir / "gw.sock", door.token, provider, model, timeout_s + 5)
        finally:
            totals = door.close()
        lines = read_ledger(ledger)
    if not lines:
        raise RigError("the gateway wrote no line about the probe")
    line = lines[-1]
    if totals.provider_fault or line.outcome != "answered":
        raise complaint(provider, model, line, totals.provider_fault)
    known = price_is_known(provider, line.model_served or model) or price_is_known(provider, model)
    seconds = line.latency_ms / 1000
    served = line.model_served or "(not named)"
    return Probe(
        served=line.model_served,
        latency_s=seconds,
        price_known=known,
        detail=f"{provider.name}/{model} answered as {served} in {seconds:.1f} s; price "
        + ("known" if known else "unknown"),
    )


def complaint(provider: Provider, model: str, line: LedgerLine, fault: str | None) -> ProviderError:
    """What went wrong with one request, as a sentence and its fix."""
    name = f"{provider.name}/{model}"
    key = f"${provider.key_env}" if provider.key_env else "the key"
    address = f"${provider.base_url_env}" if provider.base_url_env else "the network and any proxy"
    if fault and fault.startswith("wrong model"):
        return ProviderError(f"{name}: {fault}", "load that model, or declare its name in served_aliases")
    if line.status in (401, 403):
        return ProviderError(f"{name} refuses the key (HTTP {line.status})", f"check {key}")
    if line.status == 402:
        return ProviderError(f"{name} wants to be paid first (HTTP 402)", f"add credit to the account of {key}")
    if line.status == 404:
        return ProviderError(f"{name} is not known there (HTTP 404)", "check the model's name")
    if line.status == 429:
        return ProviderError(f"{name} is rate-limited (HTTP 429)", "try later or raise the account's limits")
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


def _ask(path: Path, token: str, provider: Provider, model: str, timeout_s: float) -> None:
    """Send the question; what came of it stands in the ledger."""
    wire = provider.protocols[0]
    connection = _UnixConnection(path, timeout_s)
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    if wire == "anthropic":
        headers["anthropic-version"] = "2023-06-01"
    try:
        connection.request("POST", "/v1" + PATHS[wire], json.dumps(question(wire, provider.dialect, model)), headers)
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        pass  # A cut or endless answer: the ledger has its line.
    finally:
        connection.close()
