"""The ladder of efforts: what each level that one can ask for really puts on the wire.

The agent itself is started once per level, in a sealed pod, in front of a server that says one word. What it sends is
compared, but for ids and dates: two levels that send the same are the same arm under two names. Words count as well: a
level may be another instruction beside the same option (Codex's ``ultra`` is ``max``, and leave to delegate).
"""

from __future__ import annotations

import json
import os
import re
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
from runner.gateway.said import CONVERSATION, options_of
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
_BY_CHANCE = re.compile(r"(?=[\w:.+-]*\d)[\w:.+-]{8,}")
"""Ids, dates and times: long words with a digit in them."""


@dataclass(frozen=True)
class Rung:
    """One level. ``sent``: what the request says besides its conversation; ``same_as``: an earlier level that sends
    the same, or null; ``unlike``: an earlier level with the same options, and where its words are others. ``problem``:
    why the agent sent nothing."""

    effort: str
    sent: dict[str, Any]
    same_as: str | None = None
    unlike: str | None = None
    problem: str | None = None


def levels(harness: Harness, provider: Provider, model: str) -> list[str]:
    """The levels that ``harness`` can express for this model, the unasked one first. Raises UsageError where it cannot
    be started with this provider at all.
    """
    found = []
    for effort in (UNASKED, *(word for word in EFFORTS if word != UNASKED)):
        try:
            harness.prepare(Request("http://127.0.0.1", "", provider, model, effort, ""))
        except UsageError:
            if effort == UNASKED:
                raise
            continue
        found.append(effort)
    return found


def draw(
    engine: Engine,
    image: str,
    trusted: str,
    harness: Harness,
    provider: Provider,
    model: str,
    efforts: Sequence[str],
) -> list[Rung]:
    """Start the agent of ``image`` once per level of ``efforts``. Raises RigError where the sandbox fails."""
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
                for effort in efforts:
                    gateway.begin_attempt(run_id, effort)
                    url = f"http://127.0.0.1:{GATEWAY_PORT}"
                    said[effort] = _speak(box, harness, Request(url, door.token, local, model, effort, "Say: ready"))
        finally:
            door.close()
        return rungs(said, read_cassette(tape))


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


def rungs(said: Mapping[str, str], tape: Sequence[TapedExchange]) -> list[Rung]:
    """What each level sent, from the recorded traffic; ``said``: levels, and the agent's last words at each."""
    found: list[Rung] = []
    words_of: dict[str, dict[str, str]] = {}
    for effort, last_words in said.items():
        asked = [taped.request for taped in tape if taped.attempt == effort]
        if not asked:
            found.append(Rung(effort, {}, problem=f"the agent sent nothing: {last_words}"))
            continue
        # Titles and summaries are asked for with fewer tools than the work itself.
        work = max(asked, key=lambda request: len(json.dumps(request.get("tools") or [])))
        sent, words = options_of(work), _words(work)
        twins = [rung.effort for rung in found if not rung.problem and rung.sent == sent]
        same = next((twin for twin in twins if words_of[twin] == words), None)
        unlike = None
        if twins and same is None:
            others = [name for name in CONVERSATION if words.get(name) != words_of[twins[-1]].get(name)]
            unlike = f"{twins[-1]}, in {' and '.join(others)}"
        words_of[effort] = words
        found.append(Rung(effort, sent, same, unlike))
    return found


def _words(request: Mapping[str, Any]) -> dict[str, str]:
    """The conversation by field, without what chance put into it."""
    said = {name: json.dumps(request[name], sort_keys=True) for name in CONVERSATION if name in request}
    return {name: _BY_CHANCE.sub("#", text) for name, text in said.items()}
