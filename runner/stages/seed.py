"""``bench-score report``: folds documents of layers, given or made here, into the seed's row and run detail."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from runner.errors import ConfigError, UsageError
from runner.lab.prepare import Log
from runner.report import format as fmt
from runner.report.seed import PENDING, Layers, Stated, seed_detail, seed_row
from runner.schema.base import complaint
from runner.schema.review import ReviewImport
from runner.schema.score import Gate, Score
from runner.schema.seed import DOCUMENTS
from runner.scoring import seed
from runner.scoring.agentic import agentic_components
from runner.scoring.branch import Branch
from runner.scoring.code import code_components
from runner.scoring.fold import compose
from runner.scoring.gates import measure_gates
from runner.scoring.given import read_given
from runner.scoring.layers import measure_corpus
from runner.scoring.plan import outcome_of
from runner.scoring.review import Places, from_import, review_cell
from runner.store.clock import now
from runner.store.files import write_atomic

Document = dict[str, Any]


@dataclass(frozen=True)
class Given:
    """Documents that were made before, by layer (``gates``, ``corpus``, ``mutations``, ``process``, ``cost``), and
    grades that were given elsewhere.
    """

    documents: Mapping[str, Document] = field(default_factory=dict)
    review: Path | None = None


def read_document(layer: str, path: Path) -> Document:
    """A layer's document, as it is. Raises ConfigError naming the key that cannot be used."""
    try:
        content = path.read_bytes()
        DOCUMENTS[layer].model_validate_json(content)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        raise ConfigError(f"{path}: {complaint(error)}", f"make it with bench-score {layer}") from None
    document: Document = json.loads(content)
    return document


def report(branch: Branch, given: Given, stated: Stated, log: Log, *, dry_run: bool) -> str:
    """The row; without ``dry_run`` the detail is written beside the registry, with it both are returned."""
    entry = branch.entry
    slug = slug_of(entry.branch_scheme, stated.branch)
    layers = _layers(branch, given, slug, log)
    run: Mapping[str, Any] = layers.process["run"] if layers.process else {}
    stamp = now()
    run_id = str(run.get("run_id") or stamp[:19].replace("-", "").replace(":", "").replace("T", "-"))
    target = branch.kit.benchmark.runs_dir / f"{run_id}-{slug}.md"
    row = seed_row(
        entry, layers, stated,
        date=fmt.minute(str(run.get("date") or stamp)),
        model=_model(layers.process, slug),
        report=f"[{run_id}]({entry.runs_dir}/{target.name})",
    )  # fmt: skip
    detail = seed_detail(entry, layers, stated, row, run_id)
    line = "| " + " | ".join(row.get(column, "-") for column in entry.history_columns) + " |"
    if dry_run:
        log(f"report: --dry-run, would write {target}")
        return f"{line}\n\n{detail}"
    if target.exists() and "\nstatus: measuring\n" not in target.read_text(encoding="utf-8"):
        raise UsageError(f"{target} is published already", "a published detail is never written anew")
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(target, detail.encode("utf-8"))
    log(f"report: wrote {target}")
    return line


def slug_of(scheme: str, branch: str) -> str:
    """The model's slug, read back out of a branch name; the branch itself where the scheme does not fit it."""
    pattern = re.escape(scheme).replace(r"\{model_slug\}", "(?P<slug>.+)")
    pattern = re.sub(r"\\\{\w+\\\}", ".+", pattern)
    match = re.fullmatch(pattern, branch)
    slug = match.group("slug") if match and "slug" in match.groupdict() else branch
    return re.sub(r"[^A-Za-z0-9]+", "-", slug).strip("-").lower() or "branch"


def _model(process: Mapping[str, Any] | None, slug: str) -> str:
    return str((process["run"].get("model") if process else None) or slug)


def _layers(branch: Branch, given: Given, slug: str, log: Log) -> Layers:
    entry, made = branch.entry, dict(given.documents)
    if "gates" not in made:
        made["gates"] = seed.gates_document(entry, gates_of(branch, log))
    wants_mutations = entry.mutations is not None and entry.mutations_dir is not None
    if "corpus" not in made or (wants_mutations and "mutations" not in made):
        result = measure_corpus(branch, log, branch.kit.side_by_side, whole=True)
        if result is None:
            raise ConfigError(f"{entry.id} has no cases_dir", "a benchmark without a corpus has no such report")
        made.setdefault("corpus", seed.corpus_document(result))
        if wants_mutations:
            made.setdefault("mutations", seed.mutations_document(branch.kit.benchmark, result))
    made["corpus"] = seed.recounted(made["corpus"])
    gates = seed.gates_from(made["gates"])
    milestones = next((gate for gate in gates.gates if gate.id == "milestones"), None)
    if milestones is None or milestones.passed is None:
        raise ConfigError("the gates document has no milestones, so there is no outcome", "bench-score gates makes one")
    outcome = outcome_of(_with_ci(milestones, made["gates"]))
    parts = code_components(entry, gates, seed.corpus_from(made["corpus"], made.get("mutations")), "not measured")
    diff = branch.mirror.diff_lines(branch.baseline, branch.head)
    process = made.get("process")
    figures = seed.process_from(process, diff) if process is not None else None
    agentic = agentic_components(entry, figures, outcome, "no log was read")
    review = PENDING if given.review is None else _review(branch, given.review, _model(process, slug))
    return Layers(
        gates=made["gates"], corpus=made["corpus"], mutations=made.get("mutations"), process=process,
        cost=made.get("cost"), outcome=outcome, diff_lines=diff, code=compose(parts, entry.formula), code_parts=parts,
        agentic=compose(agentic, entry.formula), agentic_parts=agentic, review=review,
    )  # fmt: skip


def gates_of(branch: Branch, log: Log) -> Score:
    """The gates of a plain clone, milestones by the plan's pages and their verifies."""
    return measure_gates(branch, None, lambda gate: log(f"{gate.id}: {gate.passed}"), plan=True)


def _with_ci(milestones: Gate, gates: Document) -> Gate:
    """The milestones with the verify that every one of them falls back to, where the document names none."""
    if milestones.evidence.get("verified") or "ci" not in gates:
        return milestones
    names = [stem.partition("-")[0] for stem in milestones.evidence["statuses"]]
    verified = dict.fromkeys(names, bool(gates["ci"]["pass"]))
    return milestones.model_copy(update={"evidence": {**milestones.evidence, "verified": verified}})


def _review(branch: Branch, path: Path, model: str) -> str:
    places = Places.of(branch.mirror, branch.baseline, branch.head)
    cell = review_cell(from_import(read_given(ReviewImport, path), branch.run_id, model, places))
    if cell.value is None:
        raise ConfigError(f"{path}: {cell.reason}")
    return fmt.grade(float(cell.value))
