"""Gate ``scope``: every path that differs between baseline and head lies inside the allowlist."""

from __future__ import annotations

from collections.abc import Sequence

from runner.hostgit import printable
from runner.registry.globs import matcher
from runner.repo import Mirror
from runner.schema.score import Gate


def scope_gate(mirror: Mirror, baseline: str, head: str, allowlist: Sequence[str]) -> Gate:
    """Judged on trees, commit to commit, both sides of a rename, names as bytes; before anything is run."""
    pattern = matcher(allowlist)
    changed = mirror.changed_paths(baseline, head)
    outside = sorted(
        printable(path) for path in changed if not pattern.match(path.decode("utf-8", "surrogateescape"))
    )  # fmt: skip
    return Gate(
        id="scope",
        passed=not outside,
        evidence={
            "changed": len(changed),
            "outside": outside,
            "base_is_ancestor": mirror.has_ancestor(baseline, head),
        },
        evidence_class="files",
    )
