"""Facts about the program's source, read with `ast`; nothing is imported from it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tools.process import ROOT

PROGRAM = ROOT / "stockroom"
STORAGE = PROGRAM / "storage"
SESSION = STORAGE / "session.py"
_SQL = re.compile(
    r"\b(SELECT\s.+\sFROM|SELECT\s+1|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM"
    r"|FOR\s+UPDATE|ORDER\s+BY|GROUP\s+BY)\b",
    re.DOTALL,
)
_TRANSACTION = re.compile(r"^\s*(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|START\s+TRANSACTION)\b")


def _sources(directory: Path) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(directory.rglob("*.py")):
        yield path, ast.parse(path.read_text(), str(path))


def _strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def _where(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def transactions_elsewhere() -> list[str]:
    """Transaction statements outside the session module."""
    return [
        f"{_where(path, line)} holds a transaction statement; only storage/session.py may"
        for path, tree in _sources(PROGRAM)
        if path != SESSION
        for line, text in _strings(tree)
        if _TRANSACTION.match(text)
    ]


def session_lacks() -> list[str]:
    """The session module must be there and end transactions both ways."""
    if not SESSION.is_file():
        return ["stockroom/storage/session.py does not exist"]
    texts = [text for _, text in _strings(ast.parse(SESSION.read_text()))]
    return [
        f"stockroom/storage/session.py never says {word}"
        for word in ("BEGIN", "COMMIT", "ROLLBACK")
        if not any(text.lstrip().startswith(word) for text in texts)
    ]


def sql_elsewhere() -> list[str]:
    """SQL outside the storage package."""
    return [
        f"{_where(path, line)} holds SQL; it belongs into stockroom/storage"
        for path, tree in _sources(PROGRAM)
        if not path.is_relative_to(STORAGE)
        for line, text in _strings(tree)
        if _SQL.search(text)
    ]


def driver_elsewhere() -> list[str]:
    """Commands that import the driver or open connections themselves."""
    found: list[str] = []
    for path, tree in _sources(PROGRAM / "commands"):
        for node in ast.walk(tree):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            found += [
                f"{path.relative_to(ROOT)} imports {name}"
                for name in names
                if name.split(".")[0] == "pgwire" or name == "stockroom.database"
            ]
    return found


def storage_modules() -> list[str]:
    """Names of the storage package's modules."""
    return sorted(path.stem for path in STORAGE.glob("*.py") if path.stem != "__init__")
