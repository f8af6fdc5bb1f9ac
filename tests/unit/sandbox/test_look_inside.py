"""Looks at a work tree on real repositories, without a container."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.sandbox.inside.files import Refused
from runner.sandbox.inside.look import look
from tests.unit.sandbox.test_snapshot_inside import LIMITS, Repo


class Watched(Repo):
    """A contestant's repository that is looked at."""

    last: str | None = None

    def look(self) -> dict[str, Any]:
        scratch = self.root / "look"
        scratch.mkdir(exist_ok=True)
        found = look({"work": str(self.path), "scratch": str(scratch), "base": self.base, "last": self.last,
                      "exclude": ["/dropped"], "limits": LIMITS})  # fmt: skip
        self.last = found["tree"]
        return found


@pytest.fixture
def repo(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


def changes(found: dict[str, Any]) -> dict[str, tuple[int | None, int | None]]:
    return {path: (added, taken) for path, _, _, added, taken in found["changes"]}


def test_each_look_says_what_changed_since_the_one_before(repo: Watched) -> None:
    assert (repo.look()["paths"], repo.last) == (0, repo.git("rev-parse", "HEAD^{tree}"))
    (repo.path / "a.txt").write_text("one\ntwo\n")
    (repo.path / "new.txt").write_text("1\n2\n3\n")
    found = repo.look()
    assert changes(found) == {"a.txt": (1, 0), "new.txt": (3, 0)}
    assert found["lines"] == 4
    (repo.path / "new.txt").unlink()
    (repo.path / "dir" / "b.txt").write_bytes(b"\0binary")
    found = repo.look()
    assert changes(found) == {"new.txt": (0, 3), "dir/b.txt": (None, None)}
    assert {path: content for path, _, content, _, _ in found["changes"]}["new.txt"] is None
    assert repo.look()["changes"] == []


def test_a_content_that_comes_back_has_its_old_name(repo: Watched) -> None:
    repo.look()
    before = repo.git("rev-parse", "HEAD:a.txt")
    (repo.path / "a.txt").write_text("other\n")
    repo.look()
    (repo.path / "a.txt").write_text("one\n")
    assert [content for _, _, content, _, _ in repo.look()["changes"]] == [before]


def test_commits_and_the_contestants_index_change_nothing_about_it(repo: Watched) -> None:
    repo.look()
    (repo.path / "a.txt").write_text("x\n")
    repo.git("update-index", "--assume-unchanged", "a.txt")
    assert changes(repo.look()) == {"a.txt": (1, 1)}
    repo.git("update-index", "--no-assume-unchanged", "a.txt")
    repo.commit("mine")
    assert repo.look()["changes"] == []


def test_ignored_files_and_the_runners_own_are_left_out(repo: Watched) -> None:
    (repo.path / "x.log").write_text("x\n")
    (repo.path / "dropped").write_text("x\n")
    assert repo.look()["changes"] == []


def test_a_change_in_the_same_second_and_of_the_same_size_is_seen(repo: Watched) -> None:
    repo.look()
    for content in ("two\n", "six\n", "ten\n"):
        (repo.path / "a.txt").write_text(content)
        assert changes(repo.look()) == {"a.txt": (1, 1)}


def test_nothing_that_the_contestant_configured_is_run(repo: Watched) -> None:
    (repo.path / ".gitattributes").write_text("* filter=evil\n")
    repo.git("config", "filter.evil.clean", f"touch {repo.root}/ran; cat")
    repo.git("config", "core.fsmonitor", f"touch {repo.root}/ran")
    (repo.path / "a.txt").write_text("x\n")
    assert changes(repo.look()) == {".gitattributes": (1, 0), "a.txt": (1, 1)}
    assert not (repo.root / "ran").exists()


def test_a_repository_that_is_being_moved_is_missed_and_found_again(repo: Watched) -> None:
    repo.look()
    (repo.path / ".git").rename(repo.root / "away")
    with pytest.raises(Refused):
        repo.look()
    (repo.root / "away").rename(repo.path / ".git")
    (repo.path / "a.txt").write_text("x\n")
    assert changes(repo.look()) == {"a.txt": (1, 1)}
