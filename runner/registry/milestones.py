"""Milestones of an entry that lists none: the pages of its plan, as the seed's registry names them."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from runner.errors import ConfigError, RigError
from runner.hostgit import git, git_dir_of
from runner.registry.globs import matcher
from runner.schema.entry import Entry, Milestone

_STEM = re.compile(r"(M\d{2,})(?:-.*)?")


def plan_milestones(source: Path, entry: Entry) -> list[Milestone]:
    """The pages that ``milestones_glob`` finds below the plan's folder at the baseline, in the order of their names.

    The id is the part of the file's name before the first ``-``; each is verified by ``commands.ci``. Raises
    ConfigError for a page whose name has no such id, or an id that two pages share.
    """
    folder = PurePosixPath(entry.plan).parent.as_posix()
    prefix = "" if folder == "." else f"{folder}/"
    pattern = matcher([entry.milestones_glob])
    pages = [n for n in _names(source, entry.baseline) if n.startswith(prefix) and pattern.match(n[len(prefix) :])]
    found: dict[str, Milestone] = {}
    for page in sorted(pages, key=lambda name: PurePosixPath(name).stem):
        match = _STEM.fullmatch(PurePosixPath(page).stem)
        if match is None:
            raise ConfigError(f"{entry.id}: the plan's page {page} has no milestone id", "name it M01-what-it-does.md")
        if match.group(1) in found:
            raise ConfigError(f"{entry.id}: two pages of the plan are called {match.group(1)}", "number them apart")
        found[match.group(1)] = Milestone(id=match.group(1), file=page)
    return list(found.values())


def _names(source: Path, baseline: str) -> list[str]:
    """Every path of the baseline; a source that is no repository is its own baseline."""
    git_dir = git_dir_of(source)
    if git_dir is None:
        return [p.relative_to(source).as_posix() for p in source.rglob("*") if p.is_file()]
    try:
        out = git(["ls-tree", "-r", "-z", "--name-only", "--full-tree", "--end-of-options", baseline], git_dir=git_dir)
    except RigError:
        raise ConfigError(
            f"baseline {baseline} is no commit of {source}", "fetch it there, or mend the entry"
        ) from None
    return [name.decode("utf-8", "surrogateescape") for name in out.split(b"\0") if name]
