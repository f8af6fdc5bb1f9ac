"""The documents of the seed's ``bench-score``: same names, so that what reads them goes on working.

Added keys are marked in docs/reference/cli.md. Where a figure differs from the seed's, it is because the seed's was
wrong: a kill without a named case, a mutant that left the denominator, a ratio of nothing.
"""

from __future__ import annotations

from typing import Any

from runner.errors import ConfigError
from runner.lab.text import shown
from runner.registry.benchmark import Benchmark
from runner.schema.cell import Cell
from runner.schema.entry import Entry
from runner.schema.score import Gate, Score
from runner.scoring import SCORER_VERSION
from runner.scoring.code import Corpus
from runner.scoring.corpus import Form, Recall, Tally
from runner.scoring.layers import CorpusResult
from runner.scoring.mutations import Mutant
from runner.scoring.patches import patch_set
from runner.scoring.readers import Case

SEED_GATES = ("milestones", "ci", "e2e", "determinism", "unit_deleted", "scope")
Document = dict[str, Any]


# -- gates


def gates_document(entry: Entry, score: Score) -> Document:
    """Gate by gate ``pass`` (null: not measured) and ``evidence``, a sentence; ``facts`` has the same as data."""
    found = {gate.id: gate for gate in score.gates}
    order = [*SEED_GATES, *(name for name in found if name not in SEED_GATES)]
    return {name: _gate(entry, found[name]) for name in order if name in found}


def _gate(entry: Entry, gate: Gate) -> Document:
    document: Document = {"pass": gate.passed, "evidence": gate.reason or _sentence(entry, gate)}
    if gate.id == "milestones" and gate.passed is not None:
        document["statuses"] = gate.evidence.get("statuses", {})
    return {**document, "class": gate.evidence_class, "facts": gate.evidence}


def _sentence(entry: Entry, gate: Gate) -> str:
    facts = gate.evidence
    match gate.id:
        case "milestones":
            statuses: dict[str, str] = facts["statuses"]
            done = sum(s == "done" or s.startswith("fail@") for s in statuses.values())
            listed = ", ".join(f"{name}={status}" for name, status in statuses.items())
            failed = [name for name, passed in facts.get("verified", {}).items() if not passed]
            verdict = f"; verify fails: {', '.join(failed)}" if failed else ""
            return f"{done}/{len(statuses)} milestones terminal: {listed}{verdict}"
        case "scope":
            said = "all within allowlist" if not facts["outside"] else _counted(facts["outside"], "outside")
            return f"{facts['changed']} changed path(s) vs {entry.baseline}; {said}"
        case "determinism":
            after = _counted(facts["rewritten"], "file(s) rewritten") if facts["rewritten"] else "clean"
            return f"{facts['command']} {facts['ended']}; the tree after it: {after}"
        case "unit_deleted":
            hits = _counted(facts["references"], "hit(s)") if facts["references"] else "0 hits"
            there = "still present" if facts["present"] else "absent"
            grep = f"; references to {facts['token']}: {hits}" if facts["token"] else ""
            return f"{facts['file']} {there}{grep}"
        case "ci" | "e2e":
            return f"{facts['command']} {facts['ended']}"
    return ", ".join(f"{key}: {value}" for key, value in facts.items())


def _counted(items: list[str], what: str) -> str:
    return f"{len(items)} {what}: {' '.join(items)}"


def gates_from(document: Document) -> Score:
    """The gates of such a document, whoever wrote it."""
    gates = []
    for name, value in document.items():
        facts = value.get("facts") if isinstance(value.get("facts"), dict) else {"said": value.get("evidence")}
        if name == "milestones":
            facts = {**(facts or {}), "statuses": value.get("statuses") or {}}
        reason = str(value.get("evidence")) if value["pass"] is None else None
        known = value.get("class") in ("black-box", "in-process", "files")
        gates.append(Gate(id=name, passed=value["pass"], evidence=facts or {}, reason=reason,
                          evidence_class=value["class"] if known else "in-process"))  # fmt: skip
    return Score(layer="gates", scorer_version=SCORER_VERSION, gates=gates)


# -- corpus


def corpus_document(result: CorpusResult) -> Document:
    """``cases`` and ``aggregate``; a ratio of nothing is null. Added: ``recall.source``, ``judged``, ``agreement``."""
    form = result.corpus.form
    aggregate: Document = {
        "case_count": form.case_count,
        "four_channel_cases": form.four_channel_cases,
        "four_channel_pct": _pct(form.four_channel_cases, form.case_count) if form.channels else None,
        "wildcards": form.wildcards,
        "wildcard_lines": form.wildcard_lines,
        "asserted_lines": form.asserted_lines,
        "wildcard_line_ratio": _ratio(form.wildcard_lines, form.asserted_lines),
    }
    recall = result.recall
    if recall is not None:
        aggregate |= {"recall": _recall(recall, result.cases), "gaps": _gaps(recall)}
    document: Document = {"cases": {case.name: _case(case) for case in result.cases}, "aggregate": aggregate}
    if result.corpus.unusable:
        document["unusable"] = result.corpus.unusable
    return document


def _case(case: Case) -> Document:
    return {
        "channels": sorted(case.channels) if case.channels is not None else None,
        "four_channel": case.four_channel,
        "asserted_lines": case.asserted_lines,
        "wildcards": case.wildcards,
        "wildcard_lines": case.wildcard_lines,
        "wildcard_line_ratio": _ratio(case.wildcard_lines, case.asserted_lines),
    }


def _recall(recall: Recall, cases: list[Case]) -> Document:
    etalon = {*recall.matched, *recall.unmatched}
    return {
        "matched": len(recall.matched),
        "total": recall.total,
        "pct": _pct(len(recall.matched), recall.total),
        "unmatched_etalon": sorted(recall.unmatched),
        "unmatched_branch": sorted(case.name for case in cases if case.name not in etalon),
        "source": recall.source,
        "judged": list(recall.judged),
        "agreement": recall.agreement,
    }


def _gaps(recall: Recall) -> Document:
    found = set(recall.gaps_matched)
    return {
        "matched": len(found),
        "total": recall.gaps_total,
        "unmatched": sorted(recall.gaps_unmatched),
        "judged": len(found & set(recall.judged)),
    }


def _pct(part: int, whole: int) -> float | None:
    return round(100 * part / whole, 2) if whole else None


def _ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


# -- mutations


def mutations_document(benchmark: Benchmark, result: CorpusResult) -> Document:
    """One line per patch, in the order of names. ``total`` is every patch that fits a frozen program: one that no
    longer applies or was not judged stays in it. Added: ``invalid``, ``unfit``, ``control``, ``unusable``.
    """
    entry, sweep = benchmark.entry, result.sweep
    if sweep is None or entry.mutations is None:
        raise ConfigError(f"{benchmark.id} has no mutations", "name mutations and mutations_dir in its entry")
    names = [patch.name for patch in patch_set(benchmark, entry.mutations_dir)]
    if not names:
        raise ConfigError(f"{benchmark.id}: there is no patch in {entry.mutations_dir}", "freeze a set first")
    unusable = result.corpus.unusable
    judged = {mutant.name: mutant for mutant in sweep.mutants}
    lines = [_patch(judged.get(name), name, unusable) for name in names]
    for name, line in zip(names, lines, strict=True):
        if name in result.unfit:
            line["evidence"] += "; nor to a frozen program, so it does not count"
    verdicts = [line["verdict"] for line in lines]
    killed, total = verdicts.count("killed"), len(names) - len(result.unfit)
    return {
        "command": shown(entry.command(entry.mutations.command)),
        "patch_count": len(names),
        "killed": killed,
        "survived": verdicts.count("survived"),
        "not_applicable": verdicts.count("not-applicable"),
        "invalid": sum(v in ("invalid", "timeout") for v in verdicts),
        "unfit": sorted(f"{name}.patch" for name in result.unfit),
        "total": total,
        "kill_rate": f"{killed}/{total}",
        "kill_rate_pct": _pct(killed, total),
        "survivors": [line["patch"] for line in lines if line["verdict"] == "survived"],
        "inapplicable": [line["patch"] for line in lines if line["verdict"] == "not-applicable"],
        "worktree_clean": True,
        "control": sweep.control.ended,
        "unusable": unusable,
        "patches": lines,
    }


def _patch(mutant: Mutant | None, name: str, unusable: str | None) -> Document:
    if unusable or mutant is None:
        return {"patch": f"{name}.patch", "verdict": "invalid", "exit": None, "killed_by": [],
                "evidence": unusable or "not judged"}  # fmt: skip
    by = sorted({case.rsplit("/", 1)[-1] for case in mutant.killed_by})
    said = ", ".join(by) or mutant.detail or f"exit {mutant.exit_code}: no case fails"
    return {"patch": f"{name}.patch", "verdict": mutant.verdict, "exit": mutant.exit_code, "killed_by": by,
            "evidence": said}  # fmt: skip


# -- back into what the fold takes


def recounted(corpus: Document) -> Document:
    """The document with a source that fits its counts: matches beyond those that it lists were added by a judge,
    whoever wrote them in.
    """
    aggregate = corpus["aggregate"]
    recall, gaps = aggregate.get("recall"), aggregate.get("gaps")
    added = recall["matched"] - (recall["total"] - len(recall.get("unmatched_etalon", []))) if recall else 0
    if added <= 0:
        return corpus
    by = recall.get("source", "exact names").removesuffix(" + judge")
    recall = {**recall, "source": f"{by} + judge", "pct": _pct(recall["matched"], recall["total"]),
              "judged": [*recall.get("judged", []), *["by hand"] * added]}  # fmt: skip
    more = max(0, gaps["matched"] - (gaps["total"] - len(gaps.get("unmatched", []))))
    gaps = {**gaps, "judged": gaps.get("judged", 0) + more}
    return {**corpus, "aggregate": {**aggregate, "recall": recall, "gaps": gaps}}


def corpus_from(corpus: Document, mutations: Document | None) -> Corpus:
    """Figures of such documents, whoever wrote them (a judge may have raised the counts of recall).

    Of a kill only what names a case is believed, and every patch that fits a frozen program counts.
    """
    a = corpus["aggregate"]
    form = Form(a["case_count"], a["four_channel_cases"], a["asserted_lines"], a["wildcards"], a["wildcard_lines"],
                channels=a["four_channel_pct"] is not None or not a["case_count"])  # fmt: skip
    tally = None
    if a.get("recall"):
        r, g = a["recall"], a["gaps"]
        tally = Tally(r["matched"], r["total"], g["matched"], g["total"], r.get("source", "exact names or judge"),
                      len(r.get("judged", [])), g.get("judged", 0))  # fmt: skip
    kills = None
    unusable = corpus.get("unusable")
    if mutations is not None:
        named = [p for p in mutations["patches"] if p["verdict"] == "killed" and p["killed_by"]]
        kills = (len(named), mutations["patch_count"] - len(mutations.get("unfit", [])))
        unusable = unusable or mutations.get("unusable")
    return Corpus(form, tally, kills, unusable or (None if form.case_count else "the corpus is empty"))


def process_from(document: Document, diff_lines: int | None = None) -> dict[str, Cell]:
    """The figures that ``agentic`` needs, from a document; ``diff_lines``: the branch's, where it names none."""
    totals, run = document["totals"], document["run"]
    churn = totals["churn"]
    figures = {"retries": run["retries"], "context_deaths": totals["deaths"]}
    figures |= {key: totals[key] for key in ("tool_calls", "malformed", "loops")}
    figures["blind_rebaselines_1"] = totals["blind_rebaselines"]
    figures["blind_rebaselines_2"] = totals.get("blind_rebaselines_2")
    cells = {
        name: Cell.none(f"{name} was not measured") if value is None else Cell.of(value, "process")
        for name, value in figures.items()
    }
    diff = churn["diff_lines"] if churn["diff_lines"] is not None else diff_lines
    return cells | {"churn_payload": churn_ratio(churn["pushed_lines"], diff)}


def churn_ratio(pushed: int | None, diff: int | None) -> Cell:
    """Pushed lines by the lines of the diff, four decimals; an empty side is no ratio and never full marks."""
    if not diff:
        return Cell.none("the diff is empty" if diff == 0 else "the diff is not known")
    if not pushed:
        return Cell.none("no pushed line was seen, although the branch has a diff")
    return Cell.of(round(pushed / diff, 4), "payloads")
