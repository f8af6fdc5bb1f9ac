"""Where the proof of a benchmark lies."""

from __future__ import annotations

from pathlib import Path

from runner.registry.benchmark import Benchmark
from runner.schema.base import digest
from runner.schema.certificate import Certificate
from runner.store.files import read_record


def certificate_path(benchmark: Benchmark) -> Path:
    """The certificate of this very benchmark, all its files as they are."""
    return benchmark.runs_dir.parent / "certificates" / f"{benchmark.id}-{benchmark.hash[:16]}.json"


def proof_of(benchmark: Benchmark) -> str | None:
    """The hash of its certificate where every claim was proven on this machine; it goes into every row."""
    path = certificate_path(benchmark)
    if not path.exists():
        return None
    certificate = read_record(path, Certificate)
    return digest(certificate) if certificate.proven else None
