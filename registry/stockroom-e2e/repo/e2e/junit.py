"""The verdicts as a JUnit file. It holds no times, so equal verdicts are equal files."""

from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr


def write(path: Path, verdicts: Sequence[tuple[str, str | None]]) -> None:
    failed = sum(reason is not None for _, reason in verdicts)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuite name="e2e" tests="{len(verdicts)}" failures="{failed}" errors="0">',
    ]
    for name, reason in verdicts:
        start = f'  <testcase classname="e2e" name={quoteattr(name)}'
        if reason is None:
            lines.append(start + "/>")
        else:
            clean = "".join(c if c.isprintable() else "?" for c in reason)
            lines.append(f"{start}><failure message={quoteattr(clean)}/></testcase>")
    lines.append("</testsuite>")
    path.write_text("\n".join(lines) + "\n")
