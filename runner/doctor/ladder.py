"""The ladder of efforts: what each level that one can ask for really puts on the wire.

The agent itself is started once per level, in a sealed pod, in front of a server that says one word. What it sends is
compared without the conversation: two levels that send the same are the same arm under two names.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.errors import UsageError
from runner.gateway.canned import Canned
from runner.gateway.cassette import read_cassette
from runner.gateway.client import Gateway
from runner.gateway.limits import Caps
from runner.gateway.providers import Provider
from runner.harness.base import Harness, Request, guard_version, under_folders
from runner.sandbox.box import Box
from runner.sandbox.engine import Engine
from runner.sandbox.pod import CONTESTANT, GATEWAY_PORT, Pod, PodSpec
from runner.schema.arm import EFFORTS
from runner.schema.cassette import TapedExchange

UNASKED = "unknown"
LEVEL_S = 60.0
MOST = 6
_EMPTY = "find /home/contestant /tmp -mindepth 1 -delete; rm -rf /work/repo && git init -q /work/repo"
# The conversation, and what is new in every session.
_NOT_EFFORT = frozenset(
    [
        "messages",
        "input",
        "system",
        "instructions",
        "tools",
        "metadata",
        "client_metadata",
        "prompt_cache_key",
        "user",
        "safety_identifier",
        "stream",
        "stream_options",
        "store",
        "include",
    ]
)


@dataclass(frozen=True)
class Rung:
    """One level. ``sent``: what the request says besides its conversation; ``same_as``: an earlier level that sends
    the same, or null. ``problem``: why the agent sent nothing."""

    effort: str
    sent: dict[str, Any]
    same_as: str | None = None
    problem: str | None = None


def levels(harness: Harness, provider: Provider, model: str) -> list[str]:
    """The levels that ``harness`` can express for this model, the unasked one first."""
    found = []
    for effort in (UNASKED, *(word for word in EFFORTS if word != UNASKED)):
        try:
            harness.prepare(Request("http://127.0.0.1", "", provider, model, effort, ""))
        except UsageError:
            continue
        found.append(effort)
    return found


def draw(engine: Engine, image: str, trusted: str, harness: Harness, provider: Provider, model: str) -> list[Rung]:
    """Start the agent of ``image`` once per level. Raises RigError where the sandbox fails."""
    with Canned() as server, Gateway() as gateway, tempfile.TemporaryDirectory(prefix="bench-ladder-") as folder:
        local = provider.model_copy(
            update={"kind": "http", "base_url": server.url, "base_url_env": None, "key_env": None, "local": False}
        )
        run_id, tape = f"ladder-{os.getpid()}", Path(folder)
        caps = Caps(attempt=Caps(requests=MOST, wall_s=LEVEL_S))
        door = gateway.open_run(run_id, local, model, caps, tape / "gateway.jsonl", cassette=tape)
        said: dict[str, str] = {}
        try:
            with Pod(engine, PodSpec(run_id, trusted, deadline_s=1800, gateway_socket_dir=door.socket_dir)) as pod:
                box = pod.contestant(image)
                guard_version(
                    harness,
                    lambda argv: box.exec(argv, timeout_s=60, user=CONTESTANT).stdout.decode("utf-8", "replace"),
                )
                for effort in levels(harness, local, model):
                    gateway.begin_attempt(run_id, effort)
                    url = f"http://127.0.0.1:{GATEWAY_PORT}"
                    said[effort] = _speak(box, harness, Request(url, door.token, local, model, effort, "Say: ready"))
        finally:
            door.close()
        return _rungs(said, read_cassette(tape))


def _speak(box: Box, harness: Harness, request: Request) -> str:
    """Let it speak in an empty HOME and work tree; its last words."""
    box.exec(["sh", "-c", _EMPTY], timeout_s=30, user=CONTESTANT)
    plan = harness.prepare(request)
    for where, files in under_folders(plan.files).items():
        box.put(files, where, user=CONTESTANT)
    argv = ["timeout", "-k", "5", str(int(LEVEL_S)), *plan.argv]  # the box must outlive an agent that hangs
    done = box.exec(argv, timeout_s=2 * LEVEL_S, cwd=plan.cwd, env=plan.env, user=CONTESTANT, stdin=plan.stdin or b"")
    words = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
    return words[-1][:200] if words else f"exit {done.exit_code}"


def _rungs(said: Mapping[str, str], tape: Sequence[TapedExchange]) -> list[Rung]:
    rungs: list[Rung] = []
    for effort, words in said.items():
        asked = [taped.request for taped in tape if taped.attempt == effort]
        if not asked:
            rungs.append(Rung(effort, {}, problem=f"the agent sent nothing: {words}"))
            continue
        # Titles and summaries are asked for with fewer tools than the work itself.
        sent = effect(max(asked, key=lambda request: len(json.dumps(request.get("tools") or []))))
        same = next((rung.effort for rung in rungs if not rung.problem and rung.sent == sent), None)
        rungs.append(Rung(effort, sent, same))
    return rungs


def effect(request: Mapping[str, Any]) -> dict[str, Any]:
    """What a request says besides its conversation."""
    return {name: value for name, value in sorted(request.items()) if name not in _NOT_EFFORT}
