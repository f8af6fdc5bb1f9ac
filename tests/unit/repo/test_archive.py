"""Trees as archives, and what an overlay replaces."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.archive import Archiver, shadow

_NAME = st.binary(min_size=1, max_size=120).filter(lambda name: b"\0" not in name and b"/" not in name)
_PATH = st.lists(_NAME, min_size=1, max_size=3).map(b"/".join)
_ENTRY = st.one_of(
    st.tuples(st.sampled_from(["100644", "100755"]), st.binary(max_size=1200)), st.tuples(st.just("120000"), _PATH)
)


def by_library(files: Mapping[bytes, tuple[str, bytes]]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT, errors="surrogateescape") as archive:
        for path, (mode, content) in files.items():
            info = tarfile.TarInfo(path.decode("utf-8", "surrogateescape"))
            info.uid = info.gid = 1000
            info.mtime = 1_767_225_600
            if mode == "120000":
                info.type, info.linkname = tarfile.SYMTYPE, content.decode("utf-8", "surrogateescape")
                archive.addfile(info)
                continue
            info.mode, info.size = 0o755 if mode == "100755" else 0o644, len(content)
            archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


@given(st.lists(st.dictionaries(_PATH, _ENTRY, max_size=6), min_size=1, max_size=3))
def test_an_archive_is_what_the_library_makes_of_the_same_files(trees: list[dict[bytes, tuple[str, bytes]]]) -> None:
    archiver = Archiver()
    for files in [*trees, *trees]:  # the second time from what is kept
        assert archiver.archive(files) == by_library(files)


_SHORT = st.lists(st.sampled_from([b"a", b"b", b"ab"]), min_size=1, max_size=4).map(b"/".join)


@given(_SHORT, st.sets(_SHORT, max_size=4))
def test_a_path_is_replaced_with_whatever_lies_above_and_below_it(path: bytes, replaced: set[bytes]) -> None:
    related = (other for other in replaced
               if path == other or path.startswith(other + b"/") or other.startswith(path + b"/"))  # fmt: skip
    assert shadow(dict.fromkeys(replaced))(path) is any(related)


def test_what_two_trees_share_is_made_once_where_it_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    tobuf = tarfile.TarInfo.tobuf
    monkeypatch.setattr(tarfile.TarInfo, "tobuf", lambda info, *how: made.append(info.name) or tobuf(info, *how))
    archiver = Archiver()
    for text in (b"one", b"two"):
        archiver.archive({b"same": ("100644", b"x"), b"own": ("100644", text), b"large": ("100644", bytes(1 << 20))})
    assert made == ["same", "own", "large", "own", "large"]
