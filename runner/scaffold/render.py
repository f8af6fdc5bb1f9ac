"""The files of a new entry as text, from templates: file name (relative to the entry's folder) to content."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

import runner.sprint
from runner.scaffold.guess import Guess
from runner.scaffold.patches import Proposal
from runner.scaffold.read import Source
from runner.scaffold.tools import Tools

_FOLDER = Path(__file__).parent / "templates"
_MIB = 1 << 20


@dataclass(frozen=True)
class Sheet:
    """What all templates are filled from. ``home`` is the folder of ``index.md``."""

    benchmark: str
    home: Path
    source: Source
    guess: Guess
    tools: Tools
    proposals: Sequence[Proposal]
    canary: str
    today: date

    @property
    def values(self) -> dict[str, Any]:
        repo = self.source.repo
        user = "".join(c if c.isalnum() else "_" for c in self.benchmark).strip("_")
        return {
            "id": self.benchmark,
            "g": self.guess,
            "tools": self.tools,
            "proposals": self.proposals,
            "baseline": self.source.commit,
            "source_repo": os.path.relpath(repo, self.home),
            "workspaces_dir": os.path.relpath(self.home.parent / ".bench" / "workspaces", repo),
            "disk_mb": self._disk_mb(),
            "database": user if user[:1].isalpha() else f"b_{user}",
            "canary": self.canary,
            "today": self.today.isoformat(),
            "answers": (Path(runner.sprint.__file__).parent / "templates" / "answers.md").read_text("utf-8").strip(),
        }

    def _disk_mb(self) -> int:
        """Room for the tree, its history and as much again, in steps of 256 MiB; 512 at least."""
        history = sum(f.stat().st_size for f in self.source.mirror.path.rglob("*") if f.is_file())
        return max(512, -(-2 * (history + self.source.tree_bytes) // (256 * _MIB)) * 256)


def entry_text(sheet: Sheet) -> str:
    """The entry for ``index.md``, its dash at the margin."""
    return _rendered("entry.yaml.j2", sheet)


def folder_files(sheet: Sheet) -> dict[str, bytes]:
    """Everything that lies in the entry's own folder."""
    files: dict[str, bytes] = {"guide.md": _rendered("guide.md.j2", sheet).encode()}
    files["image/Dockerfile"] = _rendered(f"{sheet.guess.language}.Dockerfile.j2", sheet).encode()
    files |= {f"image/deps/{name}": text.encode() for name, text in sheet.tools.files.items()}
    if sheet.guess.language == "node":
        files["image/toolchain/package.json"] = _rendered("toolchain.json.j2", sheet).encode()
    if sheet.guess.postgres:
        files["database/Dockerfile"] = _rendered("database.Dockerfile.j2", sheet).encode()
        files["database/seed/10-schema.sql"] = _rendered("schema.sql.j2", sheet).encode()
    if not sheet.guess.milestones:
        files["plan/index.md"] = _rendered("plan.md.j2", sheet).encode()
        files["plan/milestones/M01-first/M01-first.md"] = _rendered("milestone.md.j2", sheet).encode()
    if sheet.proposals:
        faults = "mutations/faults"
        mark = f"# {sheet.canary}\n".encode()
        files[f"{faults}/manifest.yaml"] = _rendered("manifest.yaml.j2", sheet).encode()
        files["mutations/REVIEW.md"] = _rendered("review.md.j2", sheet).encode()
        files |= {f"{faults}/{p.entry.id}.patch": mark + p.patch for p in sheet.proposals}
    return files


def _rendered(template: str, sheet: Sheet) -> str:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["y"] = _yaml
    environment.filters["code"] = _code
    return environment.get_template(template).render(**sheet.values)


def _yaml(value: object) -> str:
    """One value on one line, quoted where YAML needs it."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=1_000_000)
    return text.removesuffix("...\n").strip()


def _code(text: str) -> str:
    """A line of a program for Markdown, whatever is in it: the fence is longer than any run of backticks."""
    longest = max((len(run) for run in "".join(c if c == "`" else " " for c in text).split()), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"
