"""A plain clone of a stored run's branch."""

from __future__ import annotations

from pathlib import Path

from runner.errors import UsageError
from runner.hostgit import git
from runner.store.rundir import RunDir


def checkout_branch(run: RunDir, directory: Path) -> str:
    """Clone the run's bundle into ``directory`` (hooks, filters and the user's configuration off); returns the head.

    Raises UsageError where the folder is not empty or the run has no branch.
    """
    if directory.exists() and any(directory.iterdir()):
        raise UsageError(f"{directory} is not empty", "name a folder that is not there yet")
    if not run.bundle.exists():
        raise UsageError(f"run {run.path.name} has no branch: it ended before anything was copied out")
    branch = run.lock().branch
    git(["init", "-q", f"--initial-branch={branch}", str(directory)])
    git_dir = directory / ".git"
    git(
        ["-c", "protocol.file.allow=always", "fetch", "-q", "--no-tags", "--no-write-fetch-head", "--update-head-ok",
         "--end-of-options", str(run.bundle.resolve()), f"+refs/heads/{branch}:refs/heads/{branch}"],
        git_dir=git_dir,
    )  # fmt: skip
    git([f"--work-tree={directory}", "reset", "-q", "--hard", f"refs/heads/{branch}"], git_dir=git_dir)
    return git(["rev-parse", "--verify", f"refs/heads/{branch}"], git_dir=git_dir).decode().strip()
