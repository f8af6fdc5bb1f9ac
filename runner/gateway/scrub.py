"""Takes secrets out of what is kept: the key and the run's token, in every form in which they could be quoted."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from urllib.parse import quote, quote_plus

MASK = b"[key]"
PLACEHOLDER = 8
"""What is shorter is no secret but what a server that needs no key is given for one, perhaps a word of the language."""
_WORDS = re.compile(r"(?=.{1,19}\Z)[a-z]+(?:[-_][a-z]+)*")
"""What such a server is given as well: ``password``, ``no-key-required``. A secret has digits, or is long."""


def is_placeholder(secret: str) -> bool:
    """Whether ``secret`` may as well be a word, which no good answer may be robbed of."""
    return len(secret) < PLACEHOLDER or _WORDS.fullmatch(secret) is not None


class Scrubber:
    """Replaces ``secrets`` in bytes: plain, JSON- and URL-quoted, hex, and base64 at any offset of a longer text."""

    def __init__(self, secrets: Iterable[str | None]) -> None:
        forms = {form for secret in secrets if secret for form in forms_of(secret)}
        # The longest first: a shorter form inside a longer one must not leave the rest of it behind.
        ordered = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, ordered)), re.IGNORECASE) if ordered else None
        self._small = sorted({form.lower() for form in forms}, key=len)

    def __call__(self, data: bytes) -> bytes:
        return self._pattern.sub(MASK, data) if self._pattern and self.found(data) else data

    def text(self, value: str) -> str:
        """The same for text."""
        return self(value.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")

    def found(self, data: bytes) -> bool:
        """Whether a secret is in ``data`` in any form: asked in a moment, however long the text."""
        small = data.lower()
        return any(form in small for form in self._small)

    def begun(self, data: bytes) -> int:
        """How many bytes at the end of ``data`` may be the beginning of a secret."""
        if not data or data[-1:].lower() not in self._insides:
            return 0
        start = max(0, len(data) - len(self._small[-1]) + 1)
        if self._pattern is not None and self.found(data):
            # What belongs to a whole one begins no other.
            start = max(start, *(match.end() for match in self._pattern.finditer(data)))
        tail = data[start:].lower()
        return next((len(tail) - at for at in range(len(tail)) if tail[at:] in self._starts), 0)

    def mostly(self, start: bytes) -> bool:
        """Whether at least half of a secret begins so."""
        small = start.lower()
        return any(form.startswith(small) and 2 * len(small) >= max(PLACEHOLDER, len(form)) for form in self._small)

    @cached_property
    def _starts(self) -> frozenset[bytes]:
        return frozenset(form[:size] for form in self._small for size in range(1, len(form)))

    @cached_property
    def _insides(self) -> frozenset[bytes]:
        """The bytes on which a beginning may end."""
        return frozenset(start[-1:] for start in self._starts)


class Sieve:
    """Takes secrets out of a body that comes in pieces: only what may begin one waits, until the next bytes are there.

    A secret that a model spells across the texts of two events is words, and not found.
    """

    def __init__(self, scrub: Scrubber) -> None:
        self._scrub, self._held = scrub, b""

    def feed(self, piece: bytes) -> bytes:
        """What may go on now, perhaps nothing."""
        data = self._held + piece if self._held else piece
        whole = len(data) - self._scrub.begun(data)
        self._held = data[whole:]
        return self._scrub(data[:whole])

    def rest(self) -> bytes:
        """What waited, where nothing more comes: the greater part of a secret is as good as the whole."""
        held, self._held = self._held, b""
        return MASK if self._scrub.mostly(held) else held


def forms_of(secret: str) -> Iterator[bytes]:
    """The ways in which ``secret`` may stand in a text."""
    raw = secret.encode()
    yield raw
    said = json.dumps(secret)[1:-1]
    yield said.encode()
    yield said.replace("/", "\\/").encode()  # PHP
    for escaped in ("<>&", "<>&+'`"):  # Go, .NET
        yield "".join(f"\\u{ord(sign):04x}" if sign in escaped else sign for sign in said).encode()
    yield html.escape(secret).encode()
    for safe in ("", "/", "/+", "/:+="):
        yield quote(secret, safe=safe).encode()
        yield quote_plus(secret, safe=safe).encode()
    yield raw.hex().encode()
    for offset in range(3):
        # What stands before shifts base64 by 0 to 2 bytes; its neighbours blur the first and the last digits.
        digits = base64.b64encode(b"\0" * offset + raw)
        first = (offset * 8 + 5) // 6
        last = (offset + len(raw)) * 8 // 6
        core = digits[first:last]
        if len(core) >= 8:
            yield core
            yield core.replace(b"+", b"-").replace(b"/", b"_")
            yield core.replace(b"+", b"%2B").replace(b"/", b"%2F")
