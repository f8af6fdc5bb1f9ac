"""``detail.md``: everything that was measured of one run, and why what was not was not."""

from __future__ import annotations

from collections.abc import Sequence

from runner.report import format as fmt
from runner.schema.base import canonical
from runner.schema.identity import Said
from runner.schema.run import RunLock, RunResult
from runner.schema.score import Component, Composite, Gate, Score


def write_detail(lock: RunLock, result: RunResult, scores: Sequence[Score], cells: dict[str, str]) -> str:
    """The run detail as markdown, sections in the seed's order."""
    unmeasured = [c.reason or "-" for c in result.components if c.id.startswith("corpus.") and c.earned is None]
    passed = result.outcome == "pass"
    why_not = "a run that did not pass has no score" if not passed else next(iter(unmeasured), "-")
    gates = next((s for s in scores if s.layer == "gates"), None)
    parts = [
        _frontmatter(lock, result),
        f"# {lock.arm.label} on {lock.benchmark}: {result.outcome}",
        _summary(lock, result),
        "## Gates",
        _gates(gates.gates if gates else []),
        _layer("Corpus quality", "corpus", scores, why_not),
        _layer("Mutation kills", "mutations", scores, why_not),
        "## Process profile",
        _attempts(result),
        _figures("process", scores),
        "## Identity",
        _identity(result),
        "## Cost",
        _cost(result),
        _figures("cost", scores),
        "## Composites",
        _composite("code", result.code, result.outcome),
        _components(result.components),
        _composite("agentic", result.agentic, result.outcome),
        "## Review",
        _reviews(result, scores),
        "## History row",
        f"| {' | '.join(cells)} |\n|{'|'.join(' --- ' for _ in cells)}|\n| {' | '.join(cells.values())} |",
    ]
    return "\n\n".join(parts) + "\n"


def _frontmatter(lock: RunLock, result: RunResult) -> str:
    def number(composite: Composite) -> str:
        return "null" if composite.value is None or result.outcome != "pass" else f"{composite.value:g}"

    return "\n".join(
        [
            "---",
            f"benchmark: {lock.benchmark}",
            f"model: {lock.arm.label}",
            f"branch: {lock.branch}",
            f"run_id: {lock.run_id}",
            f"date: {result.started_at}",
            f"outcome: {result.outcome}",
            f"code: {number(result.code)}",
            f"agentic: {number(result.agentic)}",
            f"review: {_review(result)}",
            f"status: {'done' if result.outcome not in ('invalid', 'cancelled') else result.outcome}",
            "---",
        ]
    )


def _review(result: RunResult) -> str:
    value = result.review.value
    return fmt.grade(value) if isinstance(value, (int, float)) and result.outcome == "pass" else "null"


def _reviews(result: RunResult, scores: Sequence[Score]) -> str:
    """The mean, then every reviewer's grade and how far they are apart."""
    if result.outcome != "pass":
        return "`-` (a run that did not pass has no score)"
    score = next((s for s in scores if s.layer == "review"), None)
    head = f"`{_review(result)}`: {result.review.reason or result.review.source}"
    if score is None:
        return head
    rows = [[name, cell.text(), cell.reason or cell.source or ""] for name, cell in score.figures.items()]
    return f"{head}\n\n{fmt.table(['', 'value', 'source'], rows)}"


def _summary(lock: RunLock, result: RunResult) -> str:
    server = ", ".join(f"{name} {value}" for name, value in (lock.server or {}).items() if value is not None)
    lines = [
        "## Summary",
        "",
        f"- outcome: **{result.outcome}**{f' (cause: {result.cause})' if result.cause else ''}"
        + (f": {result.detail}" if result.detail else ""),
        f"- arm: `{result.arm_id}` = {lock.arm.label}, {lock.arm.harness} {lock.arm.harness_version}, effort "
        f"{lock.arm.effort}, {lock.arm.orchestration}, by {lock.arm.delegation}; sample {lock.sample}",
        f"- baseline `{lock.baseline[:12]}`, head `{(result.head or '-')[:12]}`, branch `{lock.branch}`, "
        f"{result.diff_lines if result.diff_lines is not None else '-'} changed lines",
        f"- benchmark hash `{lock.benchmark_hash[:16]}`, formula {lock.formula}, runner {lock.runner_version}",
        "- images: "
        + ", ".join(
            f"{n} `{i.tag}` ({i.id[7:19]}{', ' + i.source if i.source else ''})" for n, i in lock.images.items()
        ),
        *([f"- set by the gateway in every request: `{canonical(lock.pinned)}`"] if lock.pinned else []),
        *([f"- the model's own server said: {server}"] if server else []),
    ]
    return "\n".join(lines)


def _gates(gates: Sequence[Gate]) -> str:
    if not gates:
        return "Not measured: the run ended before it could be scored."
    lines = ["| gate | verdict | evidence | class |", "| --- | --- | --- | --- |"]
    for gate in gates:
        verdict = "-" if gate.passed is None else "pass" if gate.passed else "FAIL"
        evidence = gate.reason or ", ".join(f"{k}: {_short(v)}" for k, v in gate.evidence.items())
        lines.append(f"| {gate.id} | {verdict} | {evidence.replace('|', chr(92) + '|')} | {gate.evidence_class} |")
    return "\n".join(lines)


def _short(value: object) -> str:
    if isinstance(value, list) and len(value) > 8:
        return f"{', '.join(map(str, value[:8]))} and {len(value) - 8} more"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    return str(value)


def _layer(title: str, layer: str, scores: Sequence[Score], why_not: str) -> str:
    score = next((s for s in scores if s.layer == layer), None)
    if score is None:
        return f"## {title}\n\n`-`: {why_not}."
    lines = [
        f"- {name}: {cell.text()}{f' ({cell.reason})' if cell.reason else ''}" for name, cell in score.figures.items()
    ]
    return f"## {title}\n\n" + ("\n".join(lines) or f"`-`: {score.reason}")


def _figures(layer: str, scores: Sequence[Score]) -> str:
    """Every figure of a layer, with where it comes from or why it is not there."""
    score = next((s for s in scores if s.layer == layer), None)
    if score is None:
        return "Not measured."
    lines = ["| figure | value | source, or why not |", "| --- | --- | --- |"]
    for name, cell in score.figures.items():
        lines.append(f"| {name} | {cell.text()} | {(cell.reason or cell.source or '-').replace('|', '/')} |")
    return "\n".join(lines)


def _identity(result: RunResult) -> str:
    """Requested, logged, on the wire; with the line that says so."""
    record = result.identity
    if record is None:
        return "Not recorded."
    seen = result.contamination

    def said(one: Said) -> str:
        if one.value is None:
            return f"- ({one.reason})" if one.reason else "-"
        where = f" ({one.evidence.file}:{one.evidence.line})" if one.evidence else ""
        return f"`{one.value}`{where}{f', {one.reason}' if one.reason else ''}".replace("|", "/")

    lines = ["| | requested | logged | on the wire | agree |", "| --- | --- | --- | --- | --- |"]
    for name, facet in record.facets.items():
        agree = "-" if facet.agrees is None else "yes" if facet.agrees else "NO"
        lines.append(f"| {name} | {said(facet.requested)} | {said(facet.logged)} | {said(facet.on_wire)} | {agree} |")
    lines.append("")
    lines.append(
        f"Effective effort `{record.effort}` (normalized {record.effort_normalized}, from {record.effort_provenance}); "
        f"mode {record.mode}, {record.orchestration}, by {record.delegation}."
    )
    if seen is not None:
        words = f"{seen.value} than the benchmark ({seen.source})" if seen.value else f"of unknown age ({seen.reason})"
        lines.append(f"The model is {words}.")
    if record.confounds:
        lines.append(f"Comparisons with this run are {', '.join(record.confounds)}.")
    return "\n".join(lines)


def _attempts(result: RunResult) -> str:
    lines = [
        "| milestone | attempt | ended | verify | cause | steps that stand | time |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for a in result.attempts:
        verdict = "pass" if a.passed else a.detail or "fail"
        counted = a.ended if a.counted else f"{a.ended} (not counted)"
        steps = ", ".join(a.steps_passed) or "-"
        cells = [
            a.milestone,
            a.number,
            counted,
            verdict.replace("|", "/"),
            a.cause or "-",
            steps,
            fmt.duration(a.wall_s),
        ]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) if result.attempts else "No attempt was made."


def _cost(result: RunResult) -> str:
    tokens = (
        f"{fmt.tokens(result.tokens)}, cache {fmt.cache(result.tokens)}"
        if result.tokens
        else f"`-`: {result.tokens_reason}"
    )
    price = result.cost.text() if result.cost.value is None else fmt.dollars(float(result.cost.value))
    served = ", ".join(result.models_served) or "-"
    return "\n".join(
        [
            f"- cost: {price} ({result.cost.reason or result.cost.source})",
            f"- tokens: {tokens}",
            f"- requests: {result.requests if result.requests is not None else '-'}; models that answered: {served}",
            f"- time: {fmt.duration(result.wall_s)}",
        ]
    )


def _components(components: Sequence[Component]) -> str:
    lines = ["| component | kind | weight | earned | how |", "| --- | --- | --- | --- | --- |"]
    for c in components:
        earned = "-" if c.earned is None else f"{c.earned:.2f}"
        if c.judged:
            earned += f" ({c.judged:.2f} of them by a judge's votes)"
        lines.append(
            f"| {c.id} | {c.kind} | {c.weight:g} | {earned} | {(c.reason or c.arithmetic).replace('|', '/')} |"
        )
    return "\n".join(lines)


def _composite(name: str, composite: Composite, outcome: str) -> str:
    if outcome != "pass":
        head = f"`{name}`: `-` (a run that did not pass has no score)"
    elif composite.value is None:
        head = f"`{name}`: `-` ({composite.reason})"
    else:
        head = f"`{name}`: **{composite.value:g}**"
    lines = [f"{head}; {composite.earned:g} of {composite.available:g} available points ({composite.total:g} in all)"]
    lines += [f"- not measured: {line}" for line in composite.excluded]
    return "\n".join(lines)
