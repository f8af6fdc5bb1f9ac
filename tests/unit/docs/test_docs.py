"""The documentation names what is there: links resolve, and no command, option, key, column or error is missing."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
import yaml
from pydantic import BaseModel

import runner.sprint
from runner import errors
from runner.gateway.providers import Provider
from runner.harness.described import PLACEHOLDERS, Described
from runner.harness.known import shipped
from runner.schema import entry as keys
from runner.schema.cassette import TapedExchange
from runner.schema.certificate import Certificate, Claim
from runner.schema.entry import Entry
from runner.schema.events import Event, EventKind
from runner.schema.history import HistoryRecord
from runner.schema.identity import Evidence, Facet, IdentityRecord, Said
from runner.schema.layers import CostSettings, ProcessSettings
from runner.schema.ledger import LedgerLine, Usage
from runner.schema.look import Change, Look
from runner.schema.manifests import Expectation, ExpectedTests, PatchEntry, Solution, SolutionManifest
from runner.schema.mapping import CaseMapping, Vote
from runner.schema.review import Finding, GivenReview, Grades, Review, ReviewImport, ReviewRecord
from runner.schema.run import AttemptRecord, Manifest, Revision, RunLock, RunResult, State
from runner.schema.run import Change as RevisionChange
from runner.schema.run_events import RunEvent, RunEventKind, Source
from runner.schema.score import Component, Composite, Gate, Score

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "registry" / "guide.md", *sorted(DOCS.rglob("*.md"))]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def text(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """Headings as a forge turns them into fragments."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        name, _, fragment = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.name}: {link}"
        assert not fragment or fragment in anchors(target), f"{page.name}: {link} has no such heading"


def test_every_page_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    linked = {(ROOT / link.partition("#")[0]).resolve() for link in LINK.findall(readme)}
    assert [p.relative_to(ROOT).as_posix() for p in PAGES[1:] if p not in linked] == []


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    yield " ".join(("bench", *path)), command
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(child, (*path, name))


def test_every_command_and_option_is_in_the_reference() -> None:
    from runner.cli.main import app

    sections = re.split(r"^##+ ", text("reference/cli.md"), flags=re.MULTILINE)
    by_name = {section.split("\n", 1)[0]: section for section in sections}
    for name, command in commands(typer.main.get_command(app)):
        section = sections[0] if name == "bench" else by_name.get(name)
        assert section is not None, f"docs/reference/cli.md has no section '{name}'"
        for parameter in command.params:
            for option in (word for word in parameter.opts if word.startswith("-")):
                assert f"`{option}" in section or f" {option}`" in section, f"{name}: {option}"


MODELS: list[tuple[str, type[BaseModel]]] = [
    ("reference/registry.md", model)
    for model in (keys.Entry, keys.Milestone, keys.Command, keys.ImageBuild, keys.Service, keys.Limits, keys.Mutations,
                  keys.Criterion, keys.Weights, keys.OwnTests, keys.Decoy, ProcessSettings, CostSettings)
]  # fmt: skip
MODELS += [("reference/providers.md", Provider), ("reference/harnesses.md", Described)]


@pytest.mark.parametrize(("page", "model"), MODELS, ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_every_key_has_a_line(page: str, model: type[BaseModel]) -> None:
    said = text(page)
    names = [name for name in model.model_fields if (model, name) not in ((Provider, "name"), (Described, "name"))]
    assert [name for name in names if f"\n| `{name}` |" not in said] == []


def test_defaults_are_as_the_code_has_them() -> None:
    sections = re.split(r"^## ", text("reference/registry.md"), flags=re.MULTILINE)
    for heading, model in (("Limits", keys.Limits), ("An entry", keys.Entry), ("CostSettings", CostSettings)):
        said = next(section for section in sections if section.startswith(f"{heading}\n"))
        for name, field in model.model_fields.items():
            if isinstance(field.default, int | float) or (isinstance(field.default, str) and field.default):
                line = next(line for line in said.splitlines() if line.startswith(f"| `{name}` |"))
                assert f"| `{field.default}` |" in line, line


RECORDS = [Component, Composite, Gate, Score, Certificate, Claim, Event, HistoryRecord, LedgerLine, Usage,
           RunEvent, Source, Look, Change, IdentityRecord, Facet, Said, Evidence,
           AttemptRecord, Manifest, RunLock, RunResult, State, TapedExchange, Revision, RevisionChange, ReviewRecord,
           Review, Grades, Finding, ReviewImport, GivenReview, CaseMapping, Vote]  # fmt: skip


@pytest.mark.parametrize("model", RECORDS, ids=lambda m: m.__name__)
def test_every_field_of_a_record_is_named(model: type[BaseModel]) -> None:
    said = text("reference/records.md")
    assert [name for name in model.model_fields if name != "schema_" and f"`{name}`" not in said] == []
    schema = model.model_fields.get("schema_")
    assert schema is None or f"`{schema.default}`" in said


def test_every_kind_of_event_is_named() -> None:
    said = text("reference/records.md")
    assert [kind for kind in get_args(EventKind) + get_args(RunEventKind) if f"`{kind}`" not in said] == []


def test_every_key_of_a_manifest_is_shown() -> None:
    said = text("reference/registry.md")
    shown = {
        name
        for model in (PatchEntry, SolutionManifest, Solution, Expectation, ExpectedTests)
        for name in model.model_fields
    }
    assert [name for name in sorted(shown) if not re.search(rf"\b{name}:", said)] == []


def test_every_column_has_a_line() -> None:
    said = text("reference/row.md")
    assert [c for c in keys.SEED_COLUMNS + keys.EXTRA_COLUMNS if f"\n| `{c}` |" not in said] == []


def test_the_error_table_is_the_codes() -> None:
    said = text("reference/errors-and-exit-codes.md")
    classes = [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, errors.BenchError)]
    for one in classes:
        if one is errors.BenchError:
            continue
        yes = {True: "yes", False: "no"}
        row = [f"`{one.__name__}`", one.exit_code, yes[one.retry], yes[one.grade], yes[one.count], one.cause]
        assert f"| {' | '.join(map(str, row))} |" in said


def test_the_examples_can_be_used() -> None:
    block = re.search(r"```yaml\n(- id: my-benchmark\n.*?)```", text("how-to/make-a-benchmark.md"), re.DOTALL)
    assert block
    (entry,) = yaml.safe_load(block.group(1))
    assert Entry.model_validate(entry).milestones[0].id == "M01"
    block = re.search(r"```yaml\n(  my-host:\n.*?)```", text("how-to/use-your-own-model.md"), re.DOTALL)
    assert block
    ((name, provider),) = yaml.safe_load(block.group(1)).items()
    assert Provider.model_validate({"name": name, **provider}).served_ok("m", "m-20260101")


def test_every_harness_has_its_line_and_the_example_can_be_used() -> None:
    said = text("reference/harnesses.md")
    for name, kind in shipped().items():
        one = kind()
        words = [f"`{name}`", one.version, ", ".join(one.speaks), ", ".join(one.efforts)]
        assert f"| {' | '.join(words)} |" in said
    assert [word for word in PLACEHOLDERS if f"\n| `{{{word}}}` |" not in said] == []
    block = re.search(r"```yaml\n(harnesses:\n.*?)```", said, re.DOTALL)
    assert block
    ((name, entry),) = yaml.safe_load(block.group(1))["harnesses"].items()
    assert Described.model_validate({"name": name, **entry}).protocols == ["chat"]


def test_the_guide_has_the_answer_sheet_word_for_word() -> None:
    sheet = Path(runner.sprint.__file__).parent / "templates" / "answers.md"
    assert sheet.read_text(encoding="utf-8").strip() in (ROOT / "registry" / "guide.md").read_text(encoding="utf-8")


def test_every_test_that_the_threat_model_names_is_there() -> None:
    named = set(re.findall(r"`([\w./]+\.py)`", text("threat-model.md")))
    assert named
    assert [name for name in sorted(named) if not (ROOT / "tests" / "integration" / name).exists()] == []


def test_every_room_is_in_the_architecture() -> None:
    said = text("architecture.md")
    rooms = [p.name for p in (ROOT / "runner").iterdir() if (p / "__init__.py").exists()]
    assert [room for room in rooms if f"`runner/{room}/`" not in said] == []


LINES = """
    cli
    fleet validate doctor scaffold
    stages
    sprint scoring report
    lab events
    harness gateway sandbox
    registry repo prices
    store
    hostgit archive
    schema errors
"""
NEIGHBOURS = {("harness", "gateway"), ("harness", "sandbox")}


def test_imports_go_down_as_the_architecture_draws_them() -> None:
    block = text("architecture.md").split("```\n")[1]
    assert block.split() == LINES.split()
    level = {room: number for number, line in enumerate(LINES.strip().splitlines()) for room in line.split()}
    wrong = []
    for file in sorted((ROOT / "runner").rglob("*.py")):
        room = file.relative_to(ROOT / "runner").parts[0].removesuffix(".py")
        for imported in _imports(file) if room in level else ():
            down = level.get(imported, 99) > level[room]
            if imported in level and imported != room and not down and (room, imported) not in NEIGHBOURS:
                wrong.append(f"{file.relative_to(ROOT)} imports runner.{imported}")
    assert wrong == []


def _imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("runner."):
            yield (node.module or "").split(".")[1]
        elif isinstance(node, ast.ImportFrom) and node.module == "runner":
            yield from (name.name for name in node.names)
