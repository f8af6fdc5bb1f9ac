"""What the gateway costs, against the same requests sent directly, in the same run."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perf.floor import Floor
from perf.load import Tally, Target, alternate, storm
from runner.gateway.client import Gateway
from runner.gateway.limits import Caps
from runner.gateway.providers import Provider

MODEL = "perf-model"
ROUNDS, PAUSE_S = 600, 0.001
CONNECTIONS, STORM_S, STORMS = 64, 1.5, 3
WARM = 100
TICK = os.sysconf("SC_CLK_TCK")
PROMPT = "Please look at the file and tell me what it does. " * 80
TOOLS = [
    {"type": "function", "function": {"name": name, "description": "x" * 200, "parameters": {"type": "object"}}}
    for name in ("bash", "read", "write", "edit")
]


@contextmanager
def model() -> Iterator[int]:
    """A model server in a process of its own; its port."""
    argv = [sys.executable, "-m", "perf.model"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait(10)


def measure() -> list[Floor]:
    """All floors that concern the gateway; about 25 seconds, on loopback alone."""
    with model() as port, tempfile.TemporaryDirectory(prefix="bperf-") as folder, Gateway() as gateway:
        provider = Provider(name="perf", base_url=f"http://127.0.0.1:{port}/v1", price="openai", served="first")
        door = gateway.open_run("perf", provider, MODEL, Caps(), Path(folder, "gateway.jsonl"))
        path = str(door.socket_dir / "gw.sock")
        assert gateway.pid is not None
        idle_mb = resident_mb(gateway.pid)
        direct = Target(_request(None, True), port=port)
        through = Target(_request(door.token, True), path=path)
        asyncio.run(alternate([direct, through], WARM, 0))
        near, far = asyncio.run(alternate([direct, through], ROUNDS, PAUSE_S))
        plain = Target(_request(door.token, False), path=path)
        bare = asyncio.run(storm(Target(_request(None, False), port=port), CONNECTIONS, STORM_S))
        storms = [_storm(gateway.pid, plain) for _ in range(STORMS)]
        best, _ = max(storms, key=lambda one: one[0].done / one[0].seconds)
        rss = max(idle_mb, resident_mb(gateway.pid))
        totals = door.close()
    asked = WARM + ROUNDS + sum(tally.done + tally.failed for tally, _ in storms)
    failed = near.failed + far.failed + sum(tally.failed for tally, _ in storms)
    rate = best.done / best.seconds
    cheapest = min(cpu for _, cpu in storms)
    note = f"direct {bare.done / bare.seconds:.0f}/s; {cheapest * 1000:.2f} ms CPU a request"
    return [
        _later("first byte later, median", near, far, 0.50, 1.0),
        _later("first byte later, p99", near, far, 0.99, 3.0),
        Floor("requests a second, 64 connections", rate, 1500, "at least", "/s", note),
        Floor("resident, prices loaded", rss, 75, "at most", "MB", f"{idle_mb:.0f} MB before the load"),
        Floor("requests not in the ledger", abs(asked - totals.answered), 0, "at most", "", f"{asked} asked"),
        Floor("requests that failed", failed, 0, "at most", "", ""),
    ]


def _storm(pid: int, target: Target) -> tuple[Tally, float]:
    before = cpu_seconds(pid)
    tally = asyncio.run(storm(target, CONNECTIONS, STORM_S))
    return tally, (cpu_seconds(pid) - before) / max(1, tally.done)


def _later(name: str, near: Tally, far: Tally, share: float, limit_ms: float) -> Floor:
    direct, through = quantile(near.first_byte, share) * 1000, quantile(far.first_byte, share) * 1000
    return Floor(name, through - direct, limit_ms, "at most", "ms", f"{through:.2f} against {direct:.2f} ms")


def quantile(values: list[float], share: float) -> float:
    """The ``share`` quantile (nearest rank for tails, the median proper at one half)."""
    if share == 0.5:
        return statistics.median(values)
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _request(token: str | None, stream: bool) -> bytes:
    messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": "go"}]
    fields: dict[str, object] = {"model": MODEL, "messages": messages, "tools": TOOLS}
    if stream:
        fields |= {"stream": True, "stream_options": {"include_usage": True}}
    body = json.dumps(fields, separators=(",", ":")).encode()  # as the agents' own serialisers write it
    auth = f"authorization: Bearer {token or 'nobody'}\r\n"
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: gw\r\ncontent-type: application/json\r\n{auth}"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def resident_mb(pid: int) -> float:
    """Resident memory of a process in MB (10^6 bytes)."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK
