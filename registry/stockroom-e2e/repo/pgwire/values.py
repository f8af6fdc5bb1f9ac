"""Parameters and columns in text format."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

Value = str | int | bool | None
Row = tuple[Value, ...]
Param = str | int | bool | None

_INTEGERS = frozenset((20, 21, 23, 26))
_BOOLEAN = 16


def encode(value: Param) -> bytes | None:
    """One parameter as the server reads it; None is NULL."""
    if value is None:
        return None
    if value is True:
        return b"t"
    if value is False:
        return b"f"
    return str(value).encode()


def decode_row(body: bytes, types: Sequence[int]) -> Row:
    """One DataRow message as a tuple of int, bool, str or None."""
    values: list[Value] = []
    at = 2
    for oid in types:
        size = int.from_bytes(body[at : at + 4], "big", signed=True)
        at += 4
        if size < 0:
            values.append(None)
            continue
        text = body[at : at + size].decode()
        at += size
        if oid in _INTEGERS:
            values.append(int(text))
        elif oid == _BOOLEAN:
            values.append(text == "t")
        else:
            values.append(text)
    return tuple(values)


def decode_types(body: bytes) -> list[int]:
    """The column type oids of one RowDescription message."""
    types: list[int] = []
    at = 2
    for _ in range(int.from_bytes(body[:2], "big")):
        at = body.index(b"\0", at) + 1
        types.append(int.from_bytes(body[at + 6 : at + 10], "big"))
        at += 18
    return types
