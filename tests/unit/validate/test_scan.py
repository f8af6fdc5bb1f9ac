"""What a contestant could read is searched by content, packed or not, and the history of the repository with it."""

from __future__ import annotations

import gzip
import io
import lzma
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from runner.repo import blob_id
from runner.validate.scan import main

SECRET = b"-- cmd --\nadd 1 2\n"
CANARY = "canary-7f3a"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """With one commit whose file was overwritten by the next."""
    folder = tmp_path / "repo"
    folder.mkdir()

    def git(*argv: str) -> None:
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@x", *argv], cwd=folder, check=True)

    git("init", "-q")
    for text in ("plain", "changed"):
        (folder / "file").write_text(text)
        git("add", "-A")
        git("commit", "-q", "-m", "one")
    return folder


def search(top: Path, repository: Path, canary: str = CANARY) -> tuple[list[str], list[str]]:
    found = main({"hidden": [blob_id(SECRET)], "canary": canary}, [str(top)], str(repository))
    places = found["hidden"].get(blob_id(SECRET), [])
    return sorted(p.removeprefix(f"{top}/") for p in places), [p.removeprefix(f"{top}/") for p in found["canary"]]


def test_a_hidden_file_is_found_under_any_name_and_in_any_archive(tmp_path: Path, repository: Path) -> None:
    top = tmp_path / "image"
    top.mkdir()
    (top / "odd\nname").write_bytes(SECRET)
    (top / "notes.gz").write_bytes(gzip.compress(SECRET))
    (top / "notes.xz").write_bytes(lzma.compress(SECRET))
    with zipfile.ZipFile(top / "one.WHL", "w") as archive:
        archive.writestr("in/it", SECRET)
    with tarfile.open(top / "all.tar.gz", "w:gz") as tar:
        info = tarfile.TarInfo("deep/er")
        info.size = len(SECRET)
        tar.addfile(info, io.BytesIO(SECRET))
    (top / "broken.zip").write_bytes(b"PK\x03\x04 no archive")
    (top / "link").symlink_to("notes.gz")
    assert search(top, repository)[0] == [
        "all.tar.gz:deep/er", "notes.gz:", "notes.xz:", "odd\nname", "one.WHL:in/it",
    ]  # fmt: skip


def test_the_canary_is_found_in_files_names_archives_variables_and_history(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tmp_path / "image"
    (top / "etc").mkdir(parents=True)
    assert search(top, repository) == ([], [])
    # Across the border of two pieces that are read.
    (top / "etc" / "big").write_bytes(b"x" * ((1 << 20) - 4) + CANARY.encode() + b"x" * 9)
    (top / f"{CANARY}.txt").write_text("")
    (top / "notes.gz").write_bytes(gzip.compress(CANARY.encode()))
    monkeypatch.setenv("NOTE", f"see {CANARY}")
    assert sorted(search(top, repository)[1]) == [f"{CANARY}.txt", "etc/big", "notes.gz:", "the variable NOTE"]
    monkeypatch.delenv("NOTE")
    assert search(tmp_path / "no", repository, canary="plain")[1] == [f"{repository}: its history"]


def test_a_repository_that_cannot_be_read_is_no_clean_one(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="git cat-file"):
        search(tmp_path, tmp_path)
