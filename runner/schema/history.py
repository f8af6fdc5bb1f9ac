"""The history: hash-chained records are the truth, tables are views."""

from __future__ import annotations

from typing import Literal

from runner.schema.arm import Arm
from runner.schema.base import Strict, digest

GENESIS = "0" * 64


class HistoryRecord(Strict):
    """One published row. ``hash`` covers everything but itself, ``prev`` is the hash of the record before."""

    schema_: Literal["bench/history/1"] = "bench/history/1"
    seq: int
    prev: str
    run_id: str
    benchmark: str
    benchmark_hash: str
    series: str
    arm: Arm
    arm_id: str
    sample: int
    outcome: str
    cause: str | None
    manifest: str
    certificate: str | None = None
    """Hash of the certificate that proved the benchmark, where it was proven."""
    columns: list[str] = []
    cells: dict[str, str]
    hash: str = ""

    def sealed(self) -> HistoryRecord:
        return self.model_copy(update={"hash": self.expected_hash()})

    def expected_hash(self) -> str:
        body = self.model_dump(mode="json")
        body.pop("hash")
        return digest(body)
