"""Where the proofs of benchmarks lie, beside the runs."""

from __future__ import annotations

from pathlib import Path

from runner.schema.base import digest
from runner.schema.certificate import Certificate
from runner.store.files import read_record


def certificate_path(runs_dir: Path, benchmark: str, benchmark_hash: str) -> Path:
    """The certificate of a benchmark with exactly these files."""
    return runs_dir.parent / "certificates" / f"{benchmark}-{benchmark_hash[:16]}.json"


def proof_of(runs_dir: Path, benchmark: str, benchmark_hash: str) -> str | None:
    """The hash of its certificate where every claim was proven on this machine; it goes into every row."""
    path = certificate_path(runs_dir, benchmark, benchmark_hash)
    if not path.exists():
        return None
    certificate = read_record(path, Certificate)
    return digest(certificate) if certificate.proven else None
