"""From edited files to frozen patches in git's format, each one proven to apply to the baseline."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from runner.scaffold.mutants import Edit
from runner.scaffold.read import Source
from runner.schema.manifests import PatchEntry
from runner.scoring.patches import apply_patch


@dataclass(frozen=True)
class Proposal:
    """One patch, its manifest entry (no killers yet), and the edit it came from."""

    entry: PatchEntry
    patch: bytes
    edit: Edit


def make_patches(source: Source, edits: Sequence[Edit]) -> list[Proposal]:
    """A patch for every edit, named by number, file and fault. Raises PatchFails for one that does not apply.

    The entries hold no hashes: whoever mutates the reference instead of the baseline has other files, same patches.
    """
    made = []
    for number, edit in enumerate(edits, 1):
        name = f"F{number:02d}-{_slug(PurePosixPath(edit.path).stem)}-{_slug(edit.about)}"
        patch = _diff(source, edit.path, edit.content.encode("utf-8"))
        apply_patch(source.mirror, source.commit, patch, name)
        made.append(
            Proposal(
                PatchEntry(
                    id=name,
                    about=f"{edit.path}:{edit.line}: {edit.about}",
                    source=edit.path,
                ),
                patch,
                edit,
            )
        )
    return made


def _diff(source: Source, path: str, content: bytes) -> bytes:
    mirror, file = source.mirror, source.files[path]
    folder, _, name = path.rpartition("/")
    new = mirror.git("hash-object", "-w", "--no-filters", "--stdin", stdin=content).strip().decode()
    # Only the tree of the file's own folder is made anew; the prefixes give the patch its whole path.
    listing = mirror.git("ls-tree", "-z", f"{source.commit}:{folder}")
    lines = []
    for record in listing.split(b"\0"):
        _, _, entry = record.partition(b"\t")
        if record:
            lines.append(f"{file.mode} blob {new}".encode() + b"\t" + entry if entry == name.encode() else record)
    tree = mirror.git("mktree", "-z", stdin=b"".join(line + b"\0" for line in lines)).strip().decode()
    prefix = f"{folder}/" if folder else ""
    return mirror.git(
        "diff-tree", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "-U3",
        f"--src-prefix=a/{prefix}", f"--dst-prefix=b/{prefix}", f"{source.commit}:{folder}", tree,
    )  # fmt: skip


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40] or "x"
