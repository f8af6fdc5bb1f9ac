"""Words into numbers and codes. Nothing here knows the database."""

from stockroom.errors import USAGE, StockError

_CODE_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
MAX_QUANTITY = 1_000_000


def parse_code(word: str, what: str) -> str:
    """A SKU, location or order: 2 to 20 of A-Z, 0-9 and dashes; case does not matter."""
    code = word.strip().upper()
    if not 2 <= len(code) <= 20 or not set(code) <= _CODE_LETTERS or code.startswith("-"):
        raise StockError(USAGE, f"bad {what} {word!r}: use 2 to 20 of A-Z, 0-9 and -")
    return code


def parse_whole(word: str, what: str) -> int:
    """A whole number, sign allowed."""
    digits = word[1:] if word[:1] in ("-", "+") else word
    if not (digits.isascii() and digits.isdigit()):
        raise StockError(USAGE, f"{what} must be a whole number, not {word!r}")
    return int(word)


def parse_quantity(word: str) -> int:
    """A quantity to move: at least 1, at most a million."""
    value = parse_whole(word, "quantity")
    if value < 1:
        raise StockError(USAGE, f"quantity must be at least 1, not {value}")
    if value > MAX_QUANTITY:
        raise StockError(USAGE, f"quantity must be at most {MAX_QUANTITY}, not {value}")
    return value


def parse_count(word: str) -> int:
    """A counted quantity: zero is a count too."""
    value = parse_whole(word, "count")
    if value < 0:
        raise StockError(USAGE, f"count must not be negative, not {value}")
    return value


def parse_price(word: str) -> int:
    """`12`, `12.5` or `12.50` as cents."""
    whole, dot, part = word.partition(".")
    if dot and not 1 <= len(part) <= 2:
        raise StockError(USAGE, f"bad price {word!r}: use at most two decimals")
    digits = whole + part
    if not (digits.isascii() and digits.isdigit()):
        raise StockError(USAGE, f"bad price {word!r}: use a number such as 12.50")
    return int(whole or "0") * 100 + int(part.ljust(2, "0") if part else "0")


def show_price(cents: int) -> str:
    """Cents as `12.50`."""
    return f"{cents // 100}.{cents % 100:02d}"
