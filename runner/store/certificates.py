"""Where the proofs of benchmarks lie, beside the runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from runner.errors import RigError
from runner.schema.base import digest
from runner.schema.certificate import Certificate
from runner.store.files import read_record


def certificate_path(runs_dir: Path, benchmark: str, benchmark_hash: str) -> Path:
    """The certificate of a benchmark with exactly these files."""
    return runs_dir.parent / "certificates" / f"{benchmark}-{benchmark_hash[:16]}.json"


def proof_of(runs_dir: Path, benchmark: str, benchmark_hash: str, images: Mapping[str, str]) -> str | None:
    """The hash of its certificate where every claim was proven of this very benchmark on these very ``images`` (role to
    id; further ones do not matter); it goes into every row. Raises RigError where the certificate cannot be read.
    """
    path = certificate_path(runs_dir, benchmark, benchmark_hash)
    if not path.exists():
        return None
    try:
        certificate = read_record(path, Certificate)
    except RigError as error:
        raise RigError(error.what, f"bench validate {benchmark} writes it anew; or delete it") from None
    same = (certificate.benchmark, certificate.benchmark_hash) == (benchmark, benchmark_hash)
    if not (certificate.proven and same and certificate.images.items() <= dict(images).items()):
        return None
    return digest(certificate)
