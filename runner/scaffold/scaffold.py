"""``bench new``: from a clone and a commit to a registry entry that a person can finish."""

from __future__ import annotations

import re
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from runner.errors import UsageError
from runner.scaffold.guess import Guess, guess
from runner.scaffold.index import check_new
from runner.scaffold.mutants import MAX_FILES, check_library, mutable, propose
from runner.scaffold.patches import Proposal, make_patches
from runner.scaffold.read import Source, open_source
from runner.scaffold.render import Sheet, entry_text, folder_files
from runner.scaffold.tools import Tools, node_tools, python_tools
from runner.scaffold.write import write_entry
from runner.schema.entry import Entry

_ID = re.compile(next(m.pattern for m in Entry.model_fields["id"].metadata if hasattr(m, "pattern")))
MAX_PATCHES = 40


@dataclass(frozen=True)
class Scaffolded:
    """What was written. ``notes``: what a person should know before trusting it; ``next_steps``: what to do now."""

    id: str
    index: Path
    folder: Path
    baseline: str
    language: str
    files: list[str]
    patches: int
    todos: int
    notes: list[str]
    next_steps: list[str]


def scaffold(index: Path, benchmark: str, repo: Path, baseline: str, *, patches: int = MAX_PATCHES) -> Scaffolded:
    """Read the clone, guess, propose faults, write. Nothing is fetched, and of the clone nothing is run or changed.

    ``patches`` is the greatest number of faults to propose (0: none). Raises UsageError and ConfigError with nothing
    written.
    """
    index = index.resolve()
    if not _ID.fullmatch(benchmark):
        raise UsageError(f"{benchmark!r} is no id", "small letters, digits, . _ and -, and a letter or digit first")
    check_new(index, benchmark)
    with tempfile.TemporaryDirectory(prefix="bench-new-") as folder:
        source = open_source(repo, baseline, Path(folder) / "mirror.git")
        guessed = guess(source)
        proposals, notes = _proposals(source, guessed, patches)
        tools = _tools(source, guessed)
        sheet = Sheet(
            benchmark=benchmark,
            home=index.parent,
            source=source,
            guess=guessed,
            tools=tools,
            proposals=proposals,
            canary=f"bakeoff-runner {benchmark} canary {uuid.uuid4()}",
            today=datetime.now(UTC).date(),
        )
        files, entry = folder_files(sheet), entry_text(sheet)
        write_entry(index, benchmark, files, entry)
    return Scaffolded(
        id=benchmark,
        index=index,
        folder=index.parent / benchmark,
        baseline=source.commit,
        language=guessed.language,
        files=sorted(files),
        patches=len(proposals),
        todos=entry.count("TODO") + sum(c.count(b"TODO") for n, c in files.items() if not n.endswith(".patch")),
        notes=[*tools.notes, *notes, *_missing(index, guessed)],
        next_steps=_next_steps(index, benchmark, guessed, proposals),
    )


def _proposals(source: Source, guessed: Guess, limit: int) -> tuple[list[Proposal], list[str]]:
    if limit == 0:
        return [], []
    names = mutable(source.files, guessed.sources)
    if guessed.language != "python" or not names:
        return [], ["no faults proposed: that is possible for Python sources only; write them as patches by hand"]
    check_library()
    edits = propose(source.texts(names), limit)
    notes = [] if edits else ["no faults proposed: nothing in the Python sources can be changed by one sensible edit"]
    if len(names) > MAX_FILES:
        notes.append(f"faults were looked for in {MAX_FILES} of {len(names)} Python files")
    return make_patches(source, edits), notes


def _tools(source: Source, guessed: Guess) -> Tools:
    if guessed.language == "python":
        return python_tools(source, guessed)
    return node_tools(source) if guessed.language == "node" else Tools()


def _missing(index: Path, guessed: Guess) -> list[str]:
    notes = []
    if guessed.ci is None:
        notes.append("no CI command found: commands.ci fails until you write one")
    if guessed.ci and "pytest" in guessed.ci and not guessed.corpus_dir:
        notes.append("no folder of tests found: a corpus needs one, with the test files directly in it (cases_dir)")
    if not guessed.milestones:
        notes.append("the baseline holds no plan: a template lies in the entry's folder")
    if not (index.parent / "providers.yaml").exists():
        notes.append(f"{index.parent} has no providers.yaml: copy the one of the runner's registry there")
    return notes


def _next_steps(index: Path, benchmark: str, guessed: Guess, proposals: Sequence[Proposal]) -> list[str]:
    registry = "" if (index.parent.name, index.name) == ("registry", "index.md") else f" --registry {index}"
    steps = [f"fill in every TODO of {benchmark} in {index}, and those below {index.parent / benchmark}"]
    if guessed.milestones:
        steps.append("groom the plan: each milestone's verify command must fail on the baseline")
    else:
        steps.append(
            f"write the plan (template: {benchmark}/plan), commit it to the clone, set 'baseline' to that commit"
        )
    if proposals:
        steps.append(f"review {benchmark}/mutations/REVIEW.md: delete what is no fault, name killers")
    steps.append(f"bench validate {benchmark}{registry}, until every claim but 'frozen' holds")
    steps.append(f"bench validate {benchmark}{registry} --freeze; from then on nothing may change")
    return steps
