"""Keeps every exchange of a run, compressed and without secrets, so that the run can be played back.

One file, ``exchanges.jsonl.gz``: each exchange is a gzip member of its own, written with one call. A machine that dies
leaves at most a torn last member, which is left out when the file is read.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from runner.errors import RigError
from runner.gateway.exchange import Exchange
from runner.gateway.scrub import Scrubber
from runner.gateway.upstream import inflated
from runner.schema.cassette import TapedExchange

FILE = "exchanges.jsonl.gz"
FULL = "incomplete.txt"
MAX_BYTES = 512 << 20
"""Of a cassette on disk; what comes after is not kept, and the cassette says so."""
_NOT_KEPT = {"content-length", "content-encoding", "date"}


@dataclass(frozen=True)
class Recorded:
    """An answer as it came: status, headers, plain body, the bytes in which it arrived, and whether it broke off."""

    status: int
    headers: dict[str, str]
    body: bytes
    sizes: list[int]
    streamed: bool
    cut: bool

    @classmethod
    def of(cls, status: int, headers: dict[str, str], pieces: list[bytes], *, streamed: bool, cut: bool) -> Recorded:
        """From the pieces on the wire; compressed ones are unpacked."""
        raw = b"".join(pieces)
        encoding = next((value for name, value in headers.items() if name.lower() == "content-encoding"), None)
        plain = inflated(raw, encoding)
        kept = {name: value for name, value in headers.items() if name.lower() not in _NOT_KEPT}
        sizes = [len(piece) for piece in pieces] if plain == raw else [len(plain)]
        return cls(status, kept, plain, sizes, streamed, cut)

    def pieces(self) -> Iterator[bytes]:
        """The body in the bytes in which it arrived."""
        at = 0
        for size in self.sizes:
            yield self.body[at : at + size]
            at += size
        if at < len(self.body):
            yield self.body[at:]


class Recorder:
    """Writes one run's cassette, in a thread of its own: the traffic does not wait for it."""

    def __init__(self, folder: Path, secrets: Iterable[str | None]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._scrub = Scrubber(secrets)
        self._file = os.open(folder / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._size = os.fstat(self._file).st_size
        self._pool = ThreadPoolExecutor(1, "cassette")

    def add(self, exchange: Exchange, recorded: Recorded) -> None:
        """Keep an exchange."""
        fields = {
            "at_ms": round(exchange.started_ms, 3),
            "attempt": exchange.attempt,
            "protocol": exchange.wire,
            "path": exchange.path,
        }
        self._pool.submit(self._keep, fields, exchange.asked.data, recorded)

    async def close(self) -> None:
        """Everything is on disk afterwards."""
        await asyncio.get_running_loop().run_in_executor(None, self._pool.shutdown)
        os.close(self._file)

    def _keep(self, fields: dict[str, object], request: dict[str, object], recorded: Recorded) -> None:
        try:
            self._write(fields, request, recorded)
        except (ValueError, OSError) as error:
            self._gives_up(f"an exchange could not be kept ({type(error).__name__})")

    def _gives_up(self, why: str) -> None:
        (self._folder / FULL).write_text(f"{why}\n", encoding="utf-8")

    def _write(self, fields: dict[str, object], request: dict[str, object], recorded: Recorded) -> None:
        body = self._scrub(recorded.body)
        taped = TapedExchange.model_validate(
            {
                **fields,
                "request": json.loads(self._scrub(json.dumps(request, ensure_ascii=False).encode("utf-8", "replace"))),
                "status": recorded.status,
                "headers": {name: self._scrub.text(value) for name, value in recorded.headers.items()},
                "streamed": recorded.streamed,
                "cut": recorded.cut,
                "answer": body.decode("utf-8", "replace"),
                "sizes": recorded.sizes if len(body) == len(recorded.body) else [len(body)],
            }
        )
        member = gzip.compress(taped.model_dump_json(by_alias=True).encode() + b"\n", 6, mtime=0)
        if self._size + len(member) > MAX_BYTES:
            self._gives_up(f"exchanges after {MAX_BYTES} bytes were not kept")
            return
        self._size += len(member)
        os.write(self._file, member)


def read_cassette(folder: Path) -> list[TapedExchange]:
    """All exchanges in the order in which they were asked. RigError where the cassette is missing or incomplete."""
    if (folder / FULL).exists():
        raise RigError(f"the cassette {folder} is incomplete: {(folder / FULL).read_text().strip()}")
    try:
        data = (folder / FILE).read_bytes()
    except FileNotFoundError:
        raise RigError(f"{folder} holds no cassette", "record the run with its model traffic") from None
    found = []
    for member in _members(data):
        try:
            found.append(TapedExchange.model_validate_json(member))
        except ValidationError:
            raise RigError(f"{folder / FILE} holds something that is no exchange") from None
    return sorted(found, key=lambda exchange: exchange.at_ms)


def _members(data: bytes) -> Iterator[bytes]:
    while data:
        unpack = zlib.decompressobj(16 + zlib.MAX_WBITS)
        try:
            plain = unpack.decompress(data)
        except zlib.error:
            raise RigError("the cassette is damaged") from None
        if not unpack.eof:
            return  # torn: its writer died
        yield plain
        data = unpack.unused_data
