"""One question to one model, through the gateway: no history, no tool, nothing but the text."""

from __future__ import annotations

import http.client
import json
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.errors import ProviderError
from runner.gateway.client import Gateway
from runner.gateway.limits import Caps
from runner.gateway.probe import complaint
from runner.gateway.providers import Provider
from runner.gateway.totals import read_ledger
from runner.gateway.wire import PATHS

ANSWER_TOKENS = 8_000
ANSWER_S = 900.0
_TRIES = 2


@dataclass(frozen=True)
class Said:
    """``served``: the model that answered, as it named itself."""

    text: str
    served: str | None


def ask(gateway: Gateway, run_id: str, provider: Provider, model: str, text: str, journal: Path) -> Said:
    """The model's answer to ``text`` alone. Raises ProviderError, after a second try, where it gives none."""
    door = gateway.open_run(run_id, provider, model, Caps(requests=_TRIES, wall_s=2 * ANSWER_S), journal)
    wire = provider.protocols[0]
    try:
        for _ in range(_TRIES):
            status, body = _post(door.socket_dir / "gw.sock", door.token, wire, _question(wire, provider, model, text))
            said = _text(wire, body) if status == 200 else None
            if said is not None:
                break
    finally:
        totals = door.close()
    lines = read_ledger(journal)
    if said is None or totals.provider_fault:
        if not lines:
            raise ProviderError(f"{provider.name}/{model} gave no answer")
        raise complaint(provider, model, lines[-1], totals.provider_fault)
    return Said(said, lines[-1].model_served if lines else None)


def _question(wire: str, provider: Provider, model: str, text: str) -> dict[str, Any]:
    if wire == "responses":
        return {"model": model, "input": text, "max_output_tokens": ANSWER_TOKENS}
    # OpenAI's own newer models know only the longer name of this limit.
    limit = "max_completion_tokens" if provider.dialect == "openai" else "max_tokens"
    return {"model": model, "messages": [{"role": "user", "content": text}], limit: ANSWER_TOKENS}


def _post(path: Path, token: str, wire: str, question: dict[str, Any]) -> tuple[int, bytes]:
    connection = _UnixConnection(path)
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    if wire == "anthropic":
        headers["anthropic-version"] = "2023-06-01"
    try:
        connection.request("POST", "/v1" + PATHS[wire], json.dumps(question), headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""  # a cut or endless answer: the ledger has its line
    finally:
        connection.close()


def _text(wire: str, body: bytes) -> str | None:
    """The text of an answer, or null where it holds none."""
    try:
        answer = json.loads(body)
        if wire == "chat":
            found = answer["choices"][0]["message"]["content"]
        elif wire == "anthropic":
            found = "".join(part["text"] for part in answer["content"] if part["type"] == "text")
        else:
            items = [item for item in answer["output"] if item["type"] == "message"]
            found = "".join(part["text"] for item in items for part in item["content"] if part["type"] == "output_text")
    except (ValueError, KeyError, IndexError, TypeError):
        return None
    return found if isinstance(found, str) and found.strip() else None


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("gateway", timeout=ANSWER_S)
        self._path = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(ANSWER_S)
        self.sock.connect(self._path)
