# courier-api-canary-5b0d1f0e-7c55-4e0a-9a4e-2d6b7c1f93a8
"""What the service's clients send: the booking office, single scans, handhelds' uploads, boards."""

from __future__ import annotations

import http.client
import json
import subprocess
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from server import as_user

# Far beyond a busy machine: what is still open after this waits for somebody else.
PATIENCE_S = 25.0
MOST_PAGES = 2_000
ANSWER_BYTES = 8 << 20
FIRST_SCAN = "2026-05-04T06:00:00Z"

Change = tuple[str, str]
Row = dict[str, Any]


class Broken(Exception):
    """The branch did not do what the acceptance criteria ask for."""


def expect(condition: bool, message: str) -> None:
    if not condition:
        raise Broken(message)


def scan(reference: str, status: str, key: str, at: str = FIRST_SCAN) -> Row:
    return {"reference": reference, "status": status, "scanned_at": at, "key": key}


class Client:
    def __init__(self, port: int) -> None:
        self.port = port

    def call(self, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
        """Status and JSON of one request; a server that is busy (503) is asked again."""
        for _ in range(20):
            link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
            try:
                link.request(method, path, body, {"content-type": "application/json"} if body else {})
                answer = link.getresponse()
                text = answer.read(ANSWER_BYTES)
                if answer.status != 503:
                    return answer.status, json.loads(text)
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise Broken(f"{method} {path.split('?')[0]}: {type(error).__name__}") from error
            finally:
                link.close()
            time.sleep(0.1)
        raise Broken(f"{method} {path.split('?')[0]}: busy for good")

    def get(self, path: str) -> Any:
        status, value = self.call("GET", path)
        expect(status == 200, f"GET {path.split('?')[0]} answered {status}")
        return value

    def book(self, reference: str, depot: str = "LIS") -> str:
        row = {
            "reference": reference,
            "depot": depot,
            "recipient": "Ines Duarte",
            "address": "Cais 12",
            "promised_on": "2099-01-01",
        }
        status, _ = self.call("POST", "/deliveries", json.dumps(row).encode())
        expect(status == 201, f"a booking was answered {status}")
        return reference

    def scan(self, row: Row) -> None:
        status, _ = self.call("POST", "/scans", json.dumps(row).encode())
        expect(status == 201, f"a scan was answered {status}")

    def upload(self, rows: Iterable[Row]) -> int:
        body = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        return self.call("POST", "/uploads", body)[0]

    def cursor(self, depot: str = "LIS") -> str:
        return str(self.get(f"/board?depot={depot}")["cursor"])

    def page(self, cursor: str, limit: int | None = None) -> tuple[list[Change], str, bool]:
        size = "" if limit is None else f"&limit={limit}"
        page = self.get(f"/changes?after={cursor}{size}")
        try:
            rows = [(str(row["reference"]), str(row["status"])) for row in page["changes"]]
            expect(limit is None or len(rows) <= limit, "a page is longer than its limit")
            return rows, str(page["cursor"]), bool(page["more"])
        except (KeyError, TypeError) as error:
            raise Broken("a page of changes has lost a field") from error

    def follow(self, cursor: str, limit: int | None = None) -> tuple[list[Change], str]:
        """Everything after `cursor`, page by page as the board does, until a page is the last."""
        seen: list[Change] = []
        for _ in range(MOST_PAGES):
            rows, cursor, more = self.page(cursor, limit)
            seen += rows
            if not more:
                return seen, cursor
        raise Broken("the changes never come to an end")


def exactly_once(seen: list[Change], wanted: list[Change], who: str) -> None:
    """`wanted` in any order over deliveries, in this order within one, each once."""
    references = {reference for reference, _ in wanted}
    ours = [change for change in seen if change[0] in references]
    missing = Counter(wanted) - Counter(ours)
    surplus = Counter(ours) - Counter(wanted)
    expect(not missing, f"{who}: {missing.total()} of {len(wanted)} changes never came")
    expect(not surplus, f"{who}: {surplus.total()} changes came more than once")
    for reference in references:
        expect(
            [status for name, status in ours if name == reference]
            == [status for name, status in wanted if name == reference],
            f"{who}: the changes of a delivery came out of order",
        )


class Handheld:
    """The real client of the tree (a protected file), fed line by line."""

    def __init__(self, repo: Path, url: str, uid: int | None) -> None:
        self._process = subprocess.Popen(
            ["node", str(repo / "bin/handheld.ts"), url],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            **as_user(uid),  # type: ignore[call-overload]  # Popen's overloads take no mapping
        )

    def send(self, *rows: Row) -> None:
        assert self._process.stdin is not None
        try:
            for row in rows:
                self._process.stdin.write(json.dumps(row).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise Broken("an upload was refused before it was complete") from error

    def finish(self) -> None:
        try:
            self._process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired as error:
            raise Broken("an upload was never answered") from error
        expect(self._process.returncode == 0, "an upload was refused")


class OpenUpload:
    """The same bytes as a handheld sends, without a process for each: for many at a time."""

    def __init__(self, port: int) -> None:
        self._link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        self._link.putrequest("POST", "/uploads")
        self._link.putheader("content-type", "application/x-ndjson")
        self._link.putheader("transfer-encoding", "chunked")
        self._link.endheaders()

    def send(self, *rows: Row) -> None:
        try:
            for row in rows:
                line = json.dumps(row).encode() + b"\n"
                self._link.send(b"%x\r\n%s\r\n" % (len(line), line))
        except OSError as error:
            raise Broken("an upload was refused before it was complete") from error

    def finish(self) -> int:
        try:
            self._link.send(b"0\r\n\r\n")
            return self._link.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            raise Broken(f"an upload: {type(error).__name__}") from error
        finally:
            self._link.close()

    def drop(self) -> None:
        self._link.close()
