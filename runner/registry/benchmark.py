"""A benchmark, resolved: the entry, where its files lie, and the hash of all that decides a run."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from runner.errors import ConfigError
from runner.registry.carry import check_variables, read_carried
from runner.registry.load import pick, read_entries
from runner.registry.milestones import plan_milestones
from runner.schema.base import digest
from runner.schema.entry import Entry


@dataclass(frozen=True)
class Benchmark:
    """``home`` is the folder of ``index.md``; ``files`` maps every file the entry names (relative to home) to sha256."""

    entry: Entry
    index: Path
    home: Path
    source: Path
    files: dict[str, str]
    hash: str
    carried: dict[str, bytes] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.entry.id

    def path(self, relative: str) -> Path:
        """A path the entry names, beside the registry."""
        return beside(self.home, relative)

    @property
    def runs_dir(self) -> Path:
        return (self.home / self.entry.runs_dir).resolve()

    @property
    def reports_dir(self) -> Path:
        return (self.home / self.entry.reports_dir).resolve()

    @property
    def workspaces_dir(self) -> Path:
        return (self.source / self.entry.workspaces_dir).resolve()


def beside(home: Path, relative: str) -> Path:
    """A path relative to the folder of the index or, where nothing is there, to the top of the repository that holds
    the index (the seed's way for ``mutations_dir``).
    """
    here = home / relative
    if here.exists():
        return here
    top = next((folder for folder in (home, *home.parents) if (folder / ".git").exists()), home)
    there = top / relative
    return there if there.exists() else here


def load_benchmark(index: Path, benchmark: str, source: Path | None = None) -> Benchmark:
    """Read, check and resolve one entry; ``source`` stands in for its ``source_repo`` (a clone to be scored).

    An entry without ``milestones`` gets them from its plan, by ``milestones_glob`` at the baseline. Raises UsageError
    for an unknown id and ConfigError for a named file or folder that is not there, or a plan without milestones.
    """
    index = index.resolve()
    entry = pick(read_entries(index), benchmark, index)
    home = index.parent
    source = (source or home / Path(entry.source_repo).expanduser()).resolve()
    if not source.is_dir():
        what = f"{index}: {entry.id}: source_repo: there is no folder {source}"
        raise ConfigError(what, "clone it there, or mend the key")
    if not entry.milestones:
        pages = plan_milestones(source, entry)
        if not pages:
            raise ConfigError(
                f"{index}: {entry.id}: milestones: the list is empty, and {entry.milestones_glob} finds none beside "
                f"{entry.plan} at the baseline",
                "a plan without milestones has nothing to measure",
            )
        entry = entry.model_copy(update={"milestones": pages})
    files: dict[str, str] = {}
    for key, relative in _named(entry):
        path = beside(home, relative)
        if not path.exists():
            raise ConfigError(f"{index}: {entry.id}: {key}: there is no {path}", "put it there, or mend the key")
        for found in _walk(path):
            files[Path(os.path.relpath(found, home)).as_posix()] = file_hash(found)
    carried = read_carried(source, entry.carry)
    check_variables(entry.environment)
    for command in entry.commands.values():
        check_variables(command.env)
    files |= {f"carry:{name}": hashlib.sha256(content).hexdigest() for name, content in carried.items()}
    return Benchmark(
        carried=carried,
        entry=entry,
        index=index,
        home=home,
        source=source,
        files=files,
        hash=digest({"entry": decisive(entry), "files": files}),
    )


# What may change without changing what is measured: words, places, and how often it is done.
_INDECISIVE = {
    "title", "status", "samples", "workspaces_dir", "workspace_scheme", "runs_dir", "reports_dir", "history_columns",
    "branch_scheme", "push_remote", "worker", "logs_dir", "api_key_env", "objective", "source_repo",
}  # fmt: skip


def decisive(entry: Entry) -> dict[str, object]:
    """The part of an entry that decides what is measured; the source is pinned by its baseline commit. What is at its
    default is left out: a key that a later runner adds leaves frozen benchmarks as they are.
    """
    stated = entry.model_dump(mode="json", exclude_defaults=True)
    return {key: value for key, value in stated.items() if key not in _INDECISIVE}


def file_hash(path: Path) -> str:
    """SHA-256 of mode bit and content: a file that becomes executable is another file."""
    with path.open("rb") as handle:
        content = hashlib.file_digest(handle, "sha256").hexdigest()
    return f"{'x' if os.access(path, os.X_OK) else '-'}{content}"


def _named(entry: Entry) -> list[tuple[str, str]]:
    """Every file and folder beside the registry that an entry names, with its key."""
    named: list[tuple[str, str]] = []
    for key in ("etalon_dir", "mutations_dir", "probes_dir", "held_out_dir", "placebos_dir", "graded", "flawed"):
        value = getattr(entry, key)
        if value:
            named.append((key, value))
    named += [("reference", patch) for patch in entry.reference]
    if entry.image:
        named.append(("image.context", entry.image.context))
    if entry.services.database:
        named.append(("services.database.image.context", entry.services.database.image.context))
    commands = {f"commands.{name}": command for name, command in entry.commands.items()}
    commands |= {f"milestones.{m.id}.verify": m.verify for m in entry.milestones if not isinstance(m.verify, str)}
    steps = [(f"milestones.{m.id}.steps.{s.id}.verify", s.verify) for m in entry.milestones for s in m.steps]
    commands |= {key: verify for key, verify in steps if not isinstance(verify, str)}
    for key, tests in ((key, command.tests) for key, command in commands.items()):
        if tests:
            named.append((f"{key}.tests.expected", tests.expected))
            named += [(f"{key}.tests.decoy.file", tests.decoy.file)] if tests.decoy else []
    if entry.criterion:
        named.append(("criterion.dir", entry.criterion.dir))
        if entry.criterion.image:
            named.append(("criterion.image.context", entry.criterion.image.context))
    return named


def _walk(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return sorted(p for p in path.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
