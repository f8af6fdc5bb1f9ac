"""Secrets are found in every form in which they could be quoted, and in however many pieces."""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.gateway.scrub import Scrubber, Sieve, forms_of
from runner.gateway.upstream import Upstream

KEY = "sk-live-THE-REAL-KEY/0123456789+abc="
scrub = Scrubber([KEY, None, "bench-run-token_0123456789"])


def test_every_form_is_taken_out() -> None:
    forms = [KEY, quote(KEY, safe=""), quote(KEY), quote_plus(KEY), KEY.encode().hex(), json.dumps(KEY), KEY.upper()]
    for form in forms:
        assert b"REAL" not in scrub(f"a {form} b".encode()).upper().replace(b"[KEY]", b"")
        assert scrub.found(form.encode())
    assert scrub.text("nothing here") == "nothing here"


@pytest.mark.parametrize(
    "form",
    [
        r"a\u002Bb\u0026c/d\u003C=",  # as .NET writes JSON
        r"a+b\u0026c/d\u003c=",  # as Go does
        r"a+b&c\/d<=",  # as PHP does
        "a+b&amp;c/d&lt;=",
        "a%2Bb%26c%2fd%3C%3D",
    ],
)
def test_each_languages_own_way_to_quote(form: str) -> None:
    for secret in ("12345678a+b&c/d<=", "a+b&c/d<=12345678"):
        own = Scrubber([secret])
        quoted = secret.replace("a+b&c/d<=", form)
        assert own(f"({quoted})".encode()) == b"([key])"


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


def test_a_login_in_an_address_is_a_secret_as_well() -> None:
    """The provider sees the one of its own address, and a proxy its own: either may quote it, whole or its password."""
    upstream = Upstream("http://me:pass%2Fw0rd%40long@host/v1", proxy="http://you:pr0xy-passw0rd@proxy:3128")
    for name, secret in (("me", "pass/w0rd@long"), ("you", "pr0xy-passw0rd")):
        quoted = [secret, quote(secret, safe=""), base64.b64encode(f"{name}:{secret}".encode()).decode()]
        for words in quoted:
            text = f"no such login: Basic {words}".encode()
            for kept in (upstream.scrub(text), upstream.error_text(text, None), sieved(upstream.sieve(), text, [30])):
                assert b"[key]" in kept
                assert not upstream.scrub.found(kept)
        assert upstream.secrets.count(secret) == 1


def test_without_a_secret_nothing_happens() -> None:
    assert Scrubber([None, ""])(b"all of it") == b"all of it"


PARTS = [form[:cut] for form in forms_of(KEY) for cut in (None, -1, 1, 9)] + [
    b"[key]",
    b" ",
    b"sk",
    KEY.upper().encode(),
]


def sieved(sieve: Sieve, text: bytes, cuts: list[int]) -> bytes:
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    pieces = [text[start:end] for start, end in pairwise(places)]
    return b"".join(map(sieve.feed, pieces)) + sieve.rest()


@given(st.lists(st.sampled_from(PARTS) | st.binary(max_size=3), max_size=6).map(b"".join), st.lists(st.integers(0)))
def test_a_text_in_pieces_is_cleaned_like_the_whole(text: bytes, cuts: list[int]) -> None:
    kept = sieved(Sieve(Scrubber([KEY])), text, cuts)
    assert kept == sieved(Sieve(Scrubber([KEY])), text, [])
    assert kept.removesuffix(b"[key]") in Scrubber([KEY])(text)


@given(st.text("abk", min_size=1, max_size=9), st.text("abk", max_size=30), st.lists(st.integers(0)))
def test_nor_does_one_that_overlaps_itself_get_through(secret: str, text: str, cuts: list[int]) -> None:
    own = Scrubber([secret])
    kept = sieved(Sieve(own), text.encode() + b"\n", cuts)
    assert kept == own(text.encode() + b"\n")


@pytest.mark.parametrize("form", [KEY.encode(), KEY.encode().hex().encode().upper(), base64.b64encode(KEY.encode())])
def test_the_greater_part_of_a_secret_at_the_end_is_one(form: bytes) -> None:
    """Whoever has all of it but the end has it: an answer may be cut there, an error where it is too long."""
    upstream = Upstream("http://x", KEY)
    for size in range(1, len(form) - 4):
        text = b"x" * (100 - size) + form[:size]
        kept = sieved(upstream.sieve(), text, [])
        assert kept in (text, text[: 100 - size] + b"[key]")
        assert (kept == text) is (size < len(form) // 2 - 2) or abs(size - len(form) // 2) < 3
        assert upstream.error_text(text, None) == kept


@pytest.mark.parametrize("form", [KEY.encode(), base64.b64encode(KEY.encode()), quote(KEY, safe="").encode()])
def test_only_what_may_begin_a_secret_waits_and_no_longer(form: bytes) -> None:
    sieve = Sieve(Scrubber([KEY]))
    assert sieve.feed(b"data: one\n\n") == b"data: one\n\n"
    assert (sieve.feed(b"as" + form[:1]), sieve.feed(b""), sieve.feed(form[1:7])) == (b"as", b"", b"")
    assert sieve.feed(b"\n") == form[:7] + b"\n"
    assert (sieve.feed(b"<" + form[:-5]), sieve.feed(form[-5:] + b">\n")[-2:]) == (b"<", b">\n")
    assert (sieve.feed(b"end " + form[:4]), sieve.rest(), sieve.rest()) == (b"end ", form[:4], b"")
