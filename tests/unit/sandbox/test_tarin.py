"""Forged archives: what the host makes of a stream that a contestant may have written."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.sandbox.tarin import CopyReport, NotCopied, unpack


def archive(*members: tarfile.TarInfo | tuple[str, bytes], form: int = tarfile.GNU_FORMAT) -> io.BytesIO:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form, errors="surrogateescape") as made:
        for member in members:
            if isinstance(member, tuple):
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                made.addfile(info, io.BytesIO(member[1]))
            else:
                made.addfile(member)
    buffer.seek(0)
    return buffer


def special(name: str, kind: bytes, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def take(stream: io.BytesIO, dest: Path, limit_bytes: int = 1 << 20, limit_files: int = 100) -> CopyReport:
    return unpack(stream, dest, limit_bytes=limit_bytes, limit_files=limit_files)


@pytest.fixture
def dest(tmp_path: Path) -> Path:
    return tmp_path / "in" / "dest"


def everything(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def test_files_and_directories(dest: Path) -> None:
    report = take(archive(special("./d", tarfile.DIRTYPE), ("./d/a", b"1"), ("b/c", b"22")), dest)
    assert (report.files, report.bytes, report.refused_count, report.truncated) == (2, 3, 0, False)
    assert everything(dest) == ["b", "b/c", "d", "d/a"]


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "a//b", "..", "a/./b", "x" * 300, "a/" * 40 + "b"])
def test_names_that_lead_elsewhere(dest: Path, tmp_path: Path, name: str) -> None:
    report = take(archive((name, b"1"), ("fine", b"2")), dest)
    assert report.refused_count == 1
    assert everything(tmp_path) == ["in", "in/dest", "in/dest/fine"]


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (tarfile.SYMTYPE, "symbolic link"),
        (tarfile.LNKTYPE, "hard link"),
        (tarfile.FIFOTYPE, "FIFO"),
        (tarfile.CHRTYPE, "special file"),
        (tarfile.BLKTYPE, "special file"),
        (tarfile.CONTTYPE, ""),
    ],
)
def test_kinds_that_are_no_files(dest: Path, kind: bytes, why: str) -> None:
    report = take(archive(special("odd", kind, "/etc/passwd"), ("fine", b"2")), dest)
    assert [reason for _, reason in report.refused] == ([why] if why else [])
    assert "fine" in everything(dest)
    assert not any(path.is_symlink() for path in dest.rglob("*"))


def test_a_link_and_then_through_it(dest: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    report = take(archive(special("d", tarfile.SYMTYPE, str(outside)), ("d/x", b"1")), dest)
    assert report.refused_count == 1
    assert everything(outside) == []
    assert (dest / "d" / "x").read_bytes() == b"1"


def test_a_name_twice_and_a_file_as_directory(dest: Path) -> None:
    report = take(archive(("a", b"1"), ("a", b"2"), ("a/b", b"3"), special("a", tarfile.DIRTYPE)), dest)
    assert (dest / "a").read_bytes() == b"1"
    assert report.refused_count == 3


def test_set_user_id_is_not_kept(dest: Path) -> None:
    info = tarfile.TarInfo("tool")
    info.mode = 0o6777
    take(archive(info), dest)
    assert (dest / "tool").stat().st_mode & 0o7777 == 0o755


def test_names_that_are_not_utf_8(dest: Path) -> None:
    take(archive((os.fsdecode(b"caf\xe9"), b"1")), dest)
    assert os.listdir(os.fsencode(dest)) == [b"caf\xe9"]
    report = take(archive((os.fsdecode(b"../caf\xe9"), b"1")), dest)
    assert report.refused == [("../caf\\xe9", "path leads outside")]


def test_limits(dest: Path) -> None:
    report = take(archive(("a", b"x" * 10), ("b", b"x" * 10), ("c", b"x" * 10)), dest, limit_bytes=25)
    assert (report.files, report.truncated) == (2, True)
    report = take(archive(*((str(n), b"") for n in range(200))), dest)
    assert (report.files, report.truncated) == (100, True)


def test_a_sparse_member(dest: Path) -> None:
    block = bytearray(archive(("sparse", b"")).getvalue())
    block[156:157] = b"S"  # GNU sparse, real size 1 TiB
    block[386:398] = b"00000000000\0"
    block[483:495] = b"77777777777\0"
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block[:512])
    report = take(io.BytesIO(bytes(block)), dest)
    assert report.files == 0
    assert report.truncated or report.refused == [("sparse", "sparse file")]
    assert everything(dest) == []


@pytest.mark.parametrize("cut", [100, 600, 5000])
def test_a_cut_archive_gives_whole_files_only(dest: Path, cut: int) -> None:
    whole = archive(("first", b"1" * 20), ("second", b"2" * 9000)).getvalue()
    if cut < 512:
        with pytest.raises(NotCopied):
            take(io.BytesIO(whole[:cut]), dest)
        return
    report = take(io.BytesIO(whole[: 1024 + cut - 512]), dest)
    assert report.truncated or report.files < 2
    assert "second" not in everything(dest)


Forge = Callable[[], io.BytesIO]


def _pax() -> io.BytesIO:
    info = tarfile.TarInfo("x")
    info.pax_headers = {"comment": "a" * 100_000}
    return archive(info, form=tarfile.PAX_FORMAT)


def _long_name() -> io.BytesIO:
    return archive(("x/" * 10_000, b""))


@pytest.mark.parametrize("forge", [_pax, _long_name, lambda: io.BytesIO(b"no archive" * 1000)])
def test_headers_that_tar_was_not_asked_to_write(dest: Path, forge: Forge) -> None:
    with pytest.raises(NotCopied):
        take(forge(), dest)
    assert everything(dest) == []
