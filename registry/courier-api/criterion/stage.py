# courier-api-canary-5b0d1f0e-7c55-4e0a-9a4e-2d6b7c1f93a8
"""What a case has to work with: the server, and the deliveries it books for itself."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from client import Change, Client, Handheld, OpenUpload, Row, scan
from server import Server

SETTLE_S = 0.5


@dataclass
class Stage:
    server: Server
    out: Path
    uid: int | None
    browser_uid: int | None

    @property
    def client(self) -> Client:
        return Client(self.server.port)

    def book(self, prefix: str, count: int, depot: str = "LIS") -> list[str]:
        return [self.client.book(f"{prefix}-{number:04d}", depot) for number in range(count)]

    def handheld(self) -> Handheld:
        return Handheld(self.server.repo, self.server.url, self.uid)

    def open_upload(self, *rows: Row) -> OpenUpload:
        """An upload whose first lines have reached the server and whatever it does with them at once."""
        upload = OpenUpload(self.server.port)
        upload.send(*rows)
        self.settle()
        return upload

    def settle(self) -> None:
        # The server has read what lay in its sockets when it answers a later request; the pauses
        # leave time for what it may have asked of the database meanwhile.
        for _ in range(2):
            self.client.get("/depots")
            time.sleep(SETTLE_S)


def ways(references: list[str], *statuses: str) -> tuple[list[Row], list[Change]]:
    """An upload that takes every delivery through `statuses`, and the changes it makes."""
    changes = [(reference, status) for status in statuses for reference in references]
    return [scan(name, status, f"{name}-{status}") for name, status in changes], changes
