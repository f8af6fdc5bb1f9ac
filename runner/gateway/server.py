"""The gateway's own process: ``python -m runner.gateway.server FOLDER``, where FOLDER holds the sockets.

Its controller speaks JSON lines on its stdin and reads answers on its stdout; when stdin ends, whoever held the
other end is gone, and so are this process and FOLDER. Keys come from the environment it was started with, or with
the line that opens a run; they are written nowhere.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import ssl
import sys
from pathlib import Path
from typing import Any

from runner.errors import BenchError
from runner.gateway.door import Door, DoorSpec
from runner.gateway.egress import Egress
from runner.gateway.limits import Caps
from runner.gateway.providers import Provider
from runner.gateway.proxy import proxy_for, trust
from runner.gateway.totals import add_up, read_ledger
from runner.gateway.upstream import Upstream
from runner.prices import price_source

MAX_COMMAND = 1024 * 1024


class Server:
    """All doors of one controller."""

    def __init__(self, trust: ssl.SSLContext) -> None:
        self._trust = trust
        self._egress = Egress(os.environ, trust)
        self._doors: dict[str, Door] = {}

    async def command(self, message: dict[str, Any]) -> Any:
        """Carry out one line of the controller's."""
        kind, run_id = message["do"], str(message.get("run_id"))
        if kind == "open":
            return await self._open(run_id, message)
        door = self._doors.get(run_id)
        if door is None:
            raise KeyError(f"no open run {run_id}")
        if kind == "begin":
            await door.begin(str(message["label"]))
        elif kind == "end":
            return (await door.end()).model_dump(mode="json")
        elif kind == "totals":
            return door.totals(message.get("attempt")).model_dump(mode="json")
        elif kind == "close":
            await self._doors.pop(run_id).close()
            return add_up(read_ledger(door.spec.journal)).model_dump(mode="json")
        else:
            raise KeyError(f"unknown command {kind}")
        return None

    async def _open(self, run_id: str, message: dict[str, Any]) -> None:
        if run_id in self._doors:
            raise KeyError(f"run {run_id} is open already")
        provider = Provider.model_validate(message["provider"])
        replay = message.get("replay")
        door = Door(
            DoorSpec(
                run_id=run_id,
                token=message["token"],
                provider=provider,
                model=message["model"],
                upstream=Upstream("http://replay.invalid") if replay else _upstream(provider, message),
                caps=Caps.model_validate(message["caps"]),
                journal=Path(message["journal"]),
                socket=Path(message["socket"]),
                tools=frozenset(message["tools"]),
                egress=frozenset(message["egress"]),
                cassette=_path(message.get("cassette")),
                replay=_path(replay),
            ),
            self._trust,
            self._egress,
            lambda event, what: _say({"event": event, "run_id": run_id, event: what}),
        )
        await door.open()
        self._doors[run_id] = door

    async def close(self) -> None:
        for door in list(self._doors.values()):
            await door.close()


def _upstream(provider: Provider, message: dict[str, Any]) -> Upstream:
    base_url = message.get("base_url") or provider.url()
    return Upstream(
        base_url=base_url,
        key=message.get("key") or provider.key(),
        key_header=provider.key_header,
        proxy=proxy_for(base_url, os.environ),
    )


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


async def serve() -> None:
    """Serve until stdin ends."""
    loop = asyncio.get_running_loop()
    commands = asyncio.StreamReader(limit=MAX_COMMAND)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    server = Server(trust(os.environ))
    pending: set[asyncio.Task[None]] = set()
    while line := await commands.readline():
        task = asyncio.create_task(_answer(server, json.loads(line)))
        pending.add(task)
        task.add_done_callback(pending.discard)
    await server.close()


async def _answer(server: Server, message: dict[str, Any]) -> None:
    reply: dict[str, Any] = {"id": message["id"]}
    try:
        reply["result"] = await server.command(message)
    except BenchError as error:
        reply["error"] = [error.what, error.fix]
    except (KeyError, OSError, ValueError) as error:
        # A pydantic error quotes its input, which holds the key; its kind is enough.
        reply["error"] = [f"the gateway could not {message.get('do')}: {_safe(error)}", ""]
    _say(reply)


def _say(message: dict[str, Any]) -> None:
    """One line to the controller."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _safe(error: Exception) -> str:
    if isinstance(error, KeyError):
        return str(error.args[0])
    if isinstance(error, OSError):
        return f"{type(error).__name__} ({error.strerror})"
    return type(error).__name__


def _warm() -> None:
    """Load the price list now; the first request must not wait for it."""
    from importlib import import_module

    price_source()
    import_module("genai_prices.data")
    # The list is some hundred thousand objects that never change: nobody has to look through them again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def main() -> None:
    _warm()
    try:
        asyncio.run(serve())
    finally:
        shutil.rmtree(sys.argv[1], ignore_errors=True)


if __name__ == "__main__":
    main()
