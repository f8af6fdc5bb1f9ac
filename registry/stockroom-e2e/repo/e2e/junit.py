"""The verdicts as a JUnit file. It holds no times, so equal verdicts are equal files."""

from collections.abc import Sequence
from pathlib import Path


def write(path: Path, verdicts: Sequence[tuple[str, str | None]]) -> None:
    failed = sum(reason is not None for _, reason in verdicts)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuite name="e2e" tests="{len(verdicts)}" failures="{failed}" errors="0">',
    ]
    for name, reason in verdicts:
        start = f'  <testcase classname="e2e" name={_quote(name)}'
        if reason is None:
            lines.append(start + "/>")
        else:
            lines.append(f"{start}><failure message={_quote(reason)}/></testcase>")
    lines.append("</testsuite>")
    path.write_text("\n".join(lines) + "\n")


def _quote(text: str) -> str:
    """An attribute value; characters that XML cannot hold become question marks."""
    clean = "".join(c if c.isprintable() else "?" for c in text)
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        clean = clean.replace(sign, entity)
    return f'"{clean}"'
