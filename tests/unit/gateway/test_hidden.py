"""The search for the key finds it in every form, so that finding nothing means something."""

from __future__ import annotations

import base64
import gzip
import json
import urllib.parse

import pytest

from tests.support.hidden import holds

KEY = 'sk-test/SECRET+key=%7&"x'
RAW = KEY.encode()
ENCODED = {
    "plain": RAW,
    "json": json.dumps({"a": KEY}).encode(),
    "url": urllib.parse.quote(KEY, safe="").encode(),
    "query": urllib.parse.urlencode({"a": KEY}).encode(),
    "twice": urllib.parse.quote(urllib.parse.quote(KEY, safe=""), safe="").encode(),
    "lower-case url": urllib.parse.quote(KEY, safe="").lower().encode(),
    "hex": RAW.hex().upper().encode(),
    "packed": gzip.compress(b"a" + RAW),
    "wrapped": base64.encodebytes(b"0" * 50 + RAW),
    "wrapped in JSON": json.dumps(base64.encodebytes(b"0" * 50 + RAW).decode()).encode(),
    "reversed": RAW[::-1],
    "basic": base64.b64encode(b"user:" + RAW),
    "quoted base64": urllib.parse.quote(base64.b64encode(b"??>" + RAW).decode(), safe="").encode(),
}


@pytest.mark.parametrize("how", ENCODED)
def test_every_form_is_found(how: str) -> None:
    assert holds(KEY, b"before " + ENCODED[how] + b" after" if how != "packed" else ENCODED[how])


@pytest.mark.parametrize("kind", [base64.b64encode, base64.urlsafe_b64encode, base64.b32encode])
@pytest.mark.parametrize("before", range(5))
@pytest.mark.parametrize("after", range(5))
def test_base64_is_found_at_every_alignment(kind: object, before: int, after: int) -> None:
    assert callable(kind)
    assert holds(KEY, b"<" + kind(b"a" * before + RAW + b"z" * after) + b">")


def test_what_is_not_there_is_not_found() -> None:
    for data in (b"", b"sk-test", base64.b64encode(b"something else entirely"), RAW[:-3], gzip.compress(b"x")[:9]):
        assert holds(KEY, data) == []
