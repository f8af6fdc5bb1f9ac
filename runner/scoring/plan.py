"""Gate ``milestones`` of a plain clone: what the plan's pages say, and what a check of ours says to it.

The seed reads a milestone's ``status`` from its page, which the contestant can write. Here that is only half of it: a
milestone is done when its page says so *and* its verify (by default ``commands.ci``) passes on the branch's head.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from runner.registry.globs import matcher
from runner.schema.score import Gate
from runner.scoring.branch import Branch

_TERMINAL = re.compile(r"done|fail@M\d+")


def plan_gate(branch: Branch) -> Gate:
    """``statuses``: from the stem of each page to its status (a milestone whose page has none: from its verify)."""
    entry = branch.entry
    said = _statuses(branch)
    verified = {
        m.id: branch.verdict(entry.command(m.verify), f"verify-{m.id}").passed for m in entry.milestones
    }  # fmt: skip
    pages = {_id(stem): stem for stem in said}
    statuses: dict[str, str] = {}
    for milestone in entry.milestones:
        stem = pages.get(milestone.id)
        if stem is None:
            statuses[PurePosixPath(milestone.file).stem] = "none"
        elif said[stem] is None:
            statuses[stem] = "done" if verified[milestone.id] else f"fail@{milestone.id}"
        else:
            statuses[stem] = str(said[stem])
    listed = {m.id for m in entry.milestones}
    statuses |= {stem: str(status or "none") for stem, status in said.items() if _id(stem) not in listed}
    return Gate(
        id="milestones",
        passed=all(_TERMINAL.fullmatch(status) for status in statuses.values()),
        evidence={"statuses": dict(sorted(statuses.items())), "verified": verified},
        evidence_class="in-process",
    )


def outcome_of(gate: Gate) -> str:
    """``pass``, or the first milestone, in the order of names, that is not done or whose verify fails."""
    verified: dict[str, bool] = gate.evidence.get("verified", {})
    statuses: dict[str, str] = gate.evidence.get("statuses", {})
    for stem, status in sorted(statuses.items()):
        if status.startswith("fail@"):
            return status
        if status != "done":
            return f"fail@{_id(stem)}"
    failed = [name for name, passed in sorted(verified.items()) if not passed]
    # One command for all of them says only that the head is not done: that is the last milestone's failure.
    if failed and len(failed) == len(verified):
        return f"fail@{failed[-1]}"
    return f"fail@{failed[0]}" if failed else "pass"


def _statuses(branch: Branch) -> dict[str, str | None]:
    """From the stem of every page at the branch's head to the ``status`` of its frontmatter, or null without one."""
    entry = branch.entry
    folder = PurePosixPath(entry.plan).parent.as_posix()
    prefix = "" if folder == "." else f"{folder}/"
    pattern = matcher([entry.milestones_glob])
    listed = {m.file for m in entry.milestones}

    def is_page(name: str) -> bool:
        return name in listed or (name.startswith(prefix) and pattern.match(name[len(prefix) :]) is not None)

    files = [f for f in branch.mirror.tree(branch.head) if is_page(f.path.decode("utf-8", "surrogateescape"))]
    return {
        PurePosixPath(file.path.decode("utf-8", "backslashreplace")).stem: _status(content)
        for file, content in branch.mirror.blobs(files)
    }


def _status(page: bytes) -> str | None:
    text = page.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    match = re.match(r"---\n(.*?)\n---(?:\n|$)", text, re.DOTALL)
    if match is None:
        return None
    # One line, not a YAML document: a page is the contestant's, and parsers of deep nesting can be made to fail.
    line = re.search(r"^status:[ \t]*(.*?)[ \t]*(?:#.*)?$", match.group(1), re.MULTILINE)
    return line.group(1).strip("\"'") or None if line else None


def _id(stem: str) -> str:
    return stem.partition("-")[0]
