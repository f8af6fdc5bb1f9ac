"""Secrets are found in every form in which they could be quoted."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

from hypothesis import given
from hypothesis import strategies as st

from runner.gateway.scrub import Scrubber

KEY = "sk-live-THE-REAL-KEY/0123456789+abc="
scrub = Scrubber([KEY, None, "bench-run-token_0123456789"])


def test_every_form_is_taken_out() -> None:
    forms = [KEY, quote(KEY, safe=""), quote(KEY), quote_plus(KEY), KEY.encode().hex(), json.dumps(KEY), KEY.upper()]
    for form in forms:
        assert b"REAL" not in scrub(f"a {form} b".encode()).upper().replace(b"[KEY]", b"")
        assert scrub.found(form.encode())
    assert scrub.text("nothing here") == "nothing here"


@given(st.binary(max_size=40), st.binary(max_size=40), st.booleans())
def test_base64_of_anything_around_it(before: bytes, after: bytes, url: bool) -> None:
    encode = base64.urlsafe_b64encode if url else base64.b64encode
    text = encode(before + KEY.encode() + after)
    kept = scrub(text)
    assert scrub.found(text)
    assert not scrub.found(kept)
    filled = kept.replace(b"[key]", b"A" * (len(text) - len(kept) + len(b"[key]")))
    assert KEY.encode()[2:-2] not in base64.b64decode(filled, altchars=b"-_" if url else None)


@given(st.text(min_size=8, max_size=60), st.text(max_size=30), st.text(max_size=30))
def test_any_secret_is_taken_out(secret: str, before: str, after: str) -> None:
    try:
        secret.encode()
    except UnicodeEncodeError:
        return
    own = Scrubber([secret])
    raw = f"{before}{secret}{after}".encode("utf-8", "replace")
    assert not own.found(own(raw)) or "[key]" in secret or secret in "[key]"


def test_without_a_secret_nothing_happens() -> None:
    assert Scrubber([None, ""])(b"all of it") == b"all of it"
