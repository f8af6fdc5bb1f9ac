"""Plain text tables: words to the left, numbers to the right."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

Cell = str | int | bool | None


def render(headers: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Columns as wide as their widest cell, two spaces apart, no trailing spaces."""
    texts = [[_text(cell) for cell in row] for row in rows]
    widths = [
        max(len(header), *(len(row[column]) for row in texts)) if texts else len(header)
        for column, header in enumerate(headers)
    ]
    numeric = [bool(rows) and isinstance(rows[0][column], int) for column in range(len(headers))]
    lines = [_line(headers, widths, numeric)]
    lines += [_line(row, widths, numeric) for row in texts]
    return "\n".join(lines) + "\n"


def _text(cell: Cell) -> str:
    return "-" if cell is None or cell == "" else str(cell)


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = [
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    ]
    return "  ".join(padded).rstrip()
