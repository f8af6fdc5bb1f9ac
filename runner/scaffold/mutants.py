"""Single faults for Python sources, proposed by Cosmic Ray's operators (optional extra ``mutants``).

Of that library three things are used: its operators by name, where each can act, and the edited text. Nothing of the
repository is imported or run.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from runner.errors import ConfigError
from runner.registry.testnames import is_test

# From operator to what it does to the program. One sensible replacement each: the library knows 200, most of which
# (a sum that becomes an exclusive or) no test could miss.
OPERATORS = {
    "ReplaceComparisonOperator_Lt_LtE": "a strict bound includes its end",
    "ReplaceComparisonOperator_LtE_Lt": "an inclusive bound leaves out its end",
    "ReplaceComparisonOperator_Gt_GtE": "a strict bound includes its end",
    "ReplaceComparisonOperator_GtE_Gt": "an inclusive bound leaves out its end",
    "ReplaceComparisonOperator_Eq_NotEq": "equal becomes unequal",
    "ReplaceComparisonOperator_NotEq_Eq": "unequal becomes equal",
    "ReplaceComparisonOperator_Is_IsNot": "is becomes is not",
    "ReplaceComparisonOperator_IsNot_Is": "is not becomes is",
    "ReplaceBinaryOperator_Add_Sub": "a sum becomes a difference",
    "ReplaceBinaryOperator_Sub_Add": "a difference becomes a sum",
    "ReplaceBinaryOperator_Mul_Add": "a product becomes a sum",
    "ReplaceBinaryOperator_Div_Mul": "a quotient becomes a product",
    "ReplaceBinaryOperator_FloorDiv_Mul": "a quotient becomes a product",
    "ReplaceBinaryOperator_Mod_Add": "a remainder becomes a sum",
    "ReplaceUnaryOperator_Delete_Not": "a negation is missing",
    "ReplaceUnaryOperator_Delete_USub": "a sign is missing",
    "AddNot": "a condition is turned round",
    "ReplaceTrueWithFalse": "true becomes false",
    "ReplaceFalseWithTrue": "false becomes true",
    "ReplaceAndWithOr": "and becomes or",
    "ReplaceOrWithAnd": "or becomes and",
    "ReplaceContinueWithBreak": "a loop ends too early",
    "NumberReplacer": "a number is off by one",
    "ZeroIterationForLoop": "a loop does nothing",
}
MAX_FILES = 200
_MAX_BYTES = 200_000
_SKIPPED_LINE = re.compile(r"__name__|__version__|TYPE_CHECKING|pragma: no cover|^\s*(from|import|@|assert|raise)\b")
_SKIPPED_FILE = re.compile(
    r"(^|/)(setup|noxfile|conf|manage|__main__|_version|version)\.py$"
    r"|(^|/)(docs?|examples?|vendor|_vendor|third_party|migrations|alembic|node_modules)/"
)


@dataclass(frozen=True)
class Edit:
    """One edited file. ``line`` counts from 1; ``before`` and ``after`` are that line, ``after`` may be empty."""

    path: str
    line: int
    before: str
    after: str
    operator: str
    content: str

    @property
    def about(self) -> str:
        return OPERATORS[self.operator]


def mutable(paths: Iterable[str], folders: Sequence[str]) -> list[str]:
    """The Python files of a program that are worth a fault: below its top folders, no tests, no set-up."""
    inside = [p for p in paths if p.endswith(".py") and p.split("/", 1)[0] in folders]
    return sorted(p for p in inside if not is_test(p) and not _SKIPPED_FILE.search(p))


def check_library() -> None:
    """Raises ConfigError where Cosmic Ray is not installed."""
    try:
        import cosmic_ray.mutating
        import cosmic_ray.plugins  # noqa: F401
    except ImportError:
        raise ConfigError(
            "faults are proposed by the library cosmic-ray, which is not installed",
            "pip install 'bakeoff-runner[mutants]' (or pip install cosmic-ray), or go without them: --patches 0",
        ) from None


def propose(sources: Mapping[str, str], limit: int) -> list[Edit]:
    """At most ``limit`` edits, one a line, spread over files and operators; the same sources give the same edits.

    Files that this Python cannot parse are left out. Raises ConfigError where the library is not installed.
    """
    check_library()
    names = sorted(sources, key=_mixed)[:MAX_FILES]
    queues = {name: _edits(name, sources[name]) for name in sorted(names)}
    chosen: list[Edit] = []
    while queues and len(chosen) < limit:
        for name in list(queues):
            edit = next(queues[name], None)
            if edit is None:
                del queues[name]
            elif len(chosen) < limit:
                chosen.append(edit)
    return sorted(chosen, key=lambda e: (e.path, e.line))


def _edits(path: str, source: str) -> Iterator[Edit]:
    """Edits of one file, lazily, mixed so that the first few differ in place and kind."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    if len(source) > _MAX_BYTES or source.startswith("\ufeff") or not _parses(source):
        return
    used_lines: set[int] = set()
    used_kinds: dict[str, int] = {}
    rest = _places(source)
    rest.sort(key=lambda place: _mixed(f"{path}:{place}"))
    while rest:
        rest.sort(key=lambda place: used_kinds.get(place[0], 0))  # stable: seldom used kinds first
        name, occurrence = rest.pop(0)
        content = mutate_code(source, get_operator(f"core/{name}")(), occurrence)
        edit = _single(path, source, content, name)
        if edit is None or edit.line in used_lines or _SKIPPED_LINE.search(edit.before) or not _parses(edit.content):
            continue
        used_lines.add(edit.line)
        used_kinds[name] = used_kinds.get(name, 0) + 1
        yield edit


def _places(source: str) -> list[tuple[str, int]]:
    """Operator and occurrence, for all that can be done to a text; occurrences count as the library's walk does."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator

    nodes = list(ast_nodes(get_ast(source)))
    places = []
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        count = sum(1 for node in nodes for _ in operator.mutation_positions(node))
        # A number has two occurrences, one more and one less: one more is enough.
        places += [(name, n) for n in range(0, count, 2 if name == "NumberReplacer" else 1)]
    return places


def _single(path: str, source: str, content: str | None, operator: str) -> Edit | None:
    """The edit, where it changes or removes exactly one line; None otherwise."""
    if content is None:
        return None
    old, new = source.split("\n"), content.split("\n")
    changed = [c for c in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if c[0] != "equal"]
    if len(changed) != 1:
        return None
    _, first, last, start, end = changed[0]
    if last - first != 1 or end - start > 1:
        return None
    if end > start:
        tidied = "\n".join([*new[:start], _tidy(old[first], new[start]), *new[end:]])
        content = tidied if _same_program(content, tidied) else content
    after = content.split("\n")[start:end]
    return Edit(path, first + 1, old[first].strip(), "".join(after).strip(), operator, content)


def _tidy(before: str, after: str) -> str:
    """The edited line without the spaces that the library leaves where it put a word or took one out."""
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    word, rest = after[head : len(after) - tail], after[len(after) - tail :]
    if not before[head:].startswith(" "):
        word = word.lstrip(" ")
    if not word and after[:head].endswith((" ", "(", "[", "=")):
        rest = rest.lstrip(" ")
    return after[:head] + word + rest


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _same_program(one: str, other: str) -> bool:
    return _parses(one) and _parses(other) and ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))


def _parses(source: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _mixed(text: object) -> str:
    return hashlib.sha256(str(text).encode("utf-8", "surrogateescape")).hexdigest()
