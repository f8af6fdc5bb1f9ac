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
    wire_arm_id: str | None = None
    """What went over the wire, as an id: rows that share it are of one arm; null where nothing was seen there."""
    sample: int
    outcome: str
    cause: str | None
    manifest: str
    certificate: str | None = None
    """Hash of the certificate that proved the benchmark, where it was proven."""
    columns: list[str] = []
    cells: dict[str, str]
    revision: int = 1
    """1: as it was scored when it ran; a later one is another scoring of the same branch, and the row that counts."""
    scorer_version: str | None = None
    rubric: str | None = None
    """Hash of rubric, prompt and reviewers, where the row has a review."""
    provenance: Literal["local_test", "published_document"] = "local_test"
    """``published_document``: somebody else's row, read from a table; comparable with its like alone, never scored."""
    citation: str | None = None
    """Of a foreign row: the file it was read from, its hash and the line."""
    effort_evidence: str | None = None
    """Of a foreign row: where its effort stands, or that the source states none."""
    hash: str = ""

    @property
    def foreign(self) -> bool:
        return self.provenance == "published_document"

    def sealed(self) -> HistoryRecord:
        return self.model_copy(update={"hash": self.expected_hash()})

    def expected_hash(self) -> str:
        body = self.model_dump(mode="json")
        body.pop("hash")
        return digest(body)
