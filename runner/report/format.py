"""How figures are written in a row; the seed's formats to the letter."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from runner.schema.ledger import Usage
from runner.schema.run import AttemptRecord, RunResult


def rounded(value: float, places: int) -> str:
    """Half up on the decimal digits a person sees (4.125 is 4.13), not on the binary fraction."""
    return str(Decimal(str(value)).quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP))


def count(value: int) -> str:
    """``950``, ``56.5k``, ``3.9M``."""
    if value < 1000:
        return str(value)
    if value < 999_950:
        return f"{rounded(value / 1000, 1)}k"
    return f"{rounded(value / 1_000_000, 1)}M"


def minute(moment: str) -> str:
    """Date and time of day, of a moment in ISO 8601; one that is written so already stays."""
    return f"{moment[:10]} {moment[11:16]}"


def duration(seconds: float) -> str:
    """``1h03m09s``, ``21m38s``, ``0m05s``; nothing at all is ``0s``."""
    whole = int(seconds + 0.5)
    if whole <= 0:
        return "0s"
    hours, rest = divmod(whole, 3600)
    minutes, secs = divmod(rest, 60)
    return f"{hours}h{minutes:02d}m{secs:02d}s" if hours else f"{minutes}m{secs:02d}s"


def dollars(value: float) -> str:
    return f"${rounded(value, 2)}"


def tokens(value: Usage) -> str:
    return f"in {count(value.uncached_input + value.cache_read + value.cache_write)} out {count(value.output)}"


def cache(value: Usage) -> str:
    return f"in {count(value.cache_read)} out {count(value.cache_write)}"


def effort(result: RunResult) -> str:
    """What was asked for; where log or wire say something else, that as well: the row is then effort-confounded."""
    asked = result.arm.effort if result.arm.effort != "unknown" else "-"
    facet = result.identity.facets.get("effort") if result.identity else None
    if facet is None or facet.agrees is not False:
        return asked
    return f"{asked} (log {facet.logged.value or 'silent'}, wire {facet.on_wire.value or 'silent'})"


def attempts(records: list[AttemptRecord]) -> str:
    """Counted attempts per milestone, ``1/2/1``; none at all is ``0``."""
    per: dict[str, int] = {}
    for record in records:
        if record.counted:
            per[record.milestone] = per.get(record.milestone, 0) + 1
    return "/".join(str(n) for n in per.values()) or "0"


def grade(value: float) -> str:
    """A mean of grades: two decimals, half up, without a trailing zero but for ``4.0``."""
    return str(float(rounded(value, 2)))


def stall(count: int | None, milliseconds: float | None) -> str:
    """Time lost to stalls and their number, ``4m40s (6)``; none at all is ``0s``, not measured ``-``."""
    if count is None:
        return "-"
    lost = "-" if milliseconds is None else duration(milliseconds / 1000)
    return f"{lost} ({count})" if count else "0s"


def table(columns: list[str], rows: list[list[str]]) -> str:
    """A markdown table; a ``|`` or a line break in a cell cannot break it."""

    def line(cells: list[str]) -> str:
        return "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |"

    return "\n".join([line(columns), line(["---"] * len(columns)), *map(line, rows)])
