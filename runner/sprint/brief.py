"""What a contestant is told. The templates are part of the measurement: their hash is in every run's lock."""

from __future__ import annotations

import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from runner.errors import ConfigError
from runner.lab.check import CheckResult
from runner.lab.text import plain, shown
from runner.lab.tree import TREE
from runner.registry.benchmark import Benchmark
from runner.repo import Mirror
from runner.schema.entry import Command, Milestone

_FOLDER = Path(__file__).parent / "templates"


def templates_hash() -> str:
    """SHA-256 over names and contents of all templates."""
    total = hashlib.sha256()
    for file in sorted(_FOLDER.iterdir()):
        total.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return total.hexdigest()


def write_brief(
    benchmark: Benchmark, mirror: Mirror, baseline: str, branch: str, milestone: Milestone, number: int, feedback: str
) -> str:
    """The brief of one attempt: the milestone's page as the baseline has it, scope, rules, how it is checked."""
    entry = benchmark.entry
    page = mirror.read(baseline, milestone.file)
    if page is None:
        raise ConfigError(
            f"{benchmark.index}: {entry.id}: milestones.{milestone.id}.file: {milestone.file} is not in the baseline"
        )
    return _environment().get_template("brief.md.j2").render(
        milestone=milestone.id,
        count=len(entry.milestones),
        tree=TREE,
        branch=branch,
        number=number,
        attempts=entry.attempts,
        database=entry.services.database is not None,
        page=_without_frontmatter(page.decode("utf-8", "replace")).strip(),
        scope=entry.scope_allowlist,
        protected=entry.protected,
        verify=shown(entry.command(milestone.verify)),
        own_tests=entry.command(milestone.verify).tests is not None,
        answers=(_FOLDER / "answers.md").read_text(encoding="utf-8").strip(),
        feedback=feedback,
    )  # fmt: skip


def write_feedback(command: Command, result: CheckResult, limit: int) -> str:
    """What the failed verify printed, its end, within ``limit`` bytes; nothing of a hidden oracle is in it."""
    text = result.stdout + (b"\n" if result.stdout and result.stderr else b"") + result.stderr
    tail = plain(text)[-limit:]
    if len(tail) == limit:
        tail = "[...] " + tail.partition("\n")[2]
    return (
        _environment().get_template("feedback.md.j2").render(verify=shown(command), why=result.why(), tail=tail.strip())
    )


def _without_frontmatter(text: str) -> str:
    if text.startswith("---\n"):
        _, closing, rest = text[4:].partition("\n---\n")
        if closing:
            return rest
    return text


def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_FOLDER),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
