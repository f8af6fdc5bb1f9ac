"""Takes secrets out of what is kept: the key and the run's token, in every form in which they could be quoted."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

MASK = b"[key]"


class Scrubber:
    """Replaces ``secrets`` in bytes: plain, JSON- and URL-quoted, hex, and base64 at any offset of a longer text."""

    def __init__(self, secrets: Iterable[str | None]) -> None:
        forms = {form for secret in secrets if secret for form in forms_of(secret)}
        # The longest first: a shorter form inside a longer one must not leave the rest of it behind.
        ordered = sorted(forms, key=len, reverse=True)
        self._forms = ordered
        self._pattern = re.compile(b"|".join(map(re.escape, ordered)), re.IGNORECASE) if ordered else None

    def __call__(self, data: bytes) -> bytes:
        return self._pattern.sub(MASK, data) if self._pattern else data

    def text(self, value: str) -> str:
        """The same for text."""
        return self(value.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")

    def glimpsed(self, data: bytes) -> bool:
        """As ``found``, but for letters' case: asked in a moment, however long the text."""
        return any(form in data for form in self._forms)

    def found(self, data: bytes) -> bool:
        """Whether a secret is in ``data`` in any form."""
        return self._pattern is not None and self._pattern.search(data) is not None


def forms_of(secret: str) -> Iterator[bytes]:
    """The ways in which ``secret`` may stand in a text."""
    raw = secret.encode()
    yield raw
    yield json.dumps(secret)[1:-1].encode()
    yield json.dumps(secret)[1:-1].replace("/", "\\/").encode()
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
