"""A repository as files: one branch at one commit with its history, and nothing else.

It is made on the host, out of packs that are kept from one commit to its siblings, so that a tree with a repository can
be laid out anywhere with one archive.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from runner.repo import Mirror

_CONFIG = """[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
[user]
\tname = developer
\temail = developer@localhost
"""


def repository_files(mirror: Mirror, commit: str, branch: str) -> dict[bytes, tuple[str, bytes]]:
    """``.git`` by path below the work tree: mode and content. There is no index yet: ``git read-tree HEAD`` makes it.

    What a commit adds lies in a pack of its own, beside that of its parents' history: every commit has the same two,
    and none holds a trace of a sibling (a mutant's repository does not know the program). Raises RigError where the
    mirror does not have the commit.
    """
    made = {
        "HEAD": f"ref: refs/heads/{branch}\n".encode(),
        f"refs/heads/{branch}": f"{commit}\n".encode(),
        "config": _CONFIG.encode(),
        "info/exclude": b"",  # agents write there what they want to be ignored
        **_history(mirror, commit),
        **_pack(mirror, f"{commit}^!"),
    }
    return {b".git/" + name.encode(): ("100644", content) for name, content in made.items()}


def _history(mirror: Mirror, commit: str) -> dict[str, bytes]:
    parents = mirror.parents(commit)
    if not parents:
        return {}
    return mirror.kept(" ".join(parents), lambda: _pack(mirror, "\n".join(parents)))


def _pack(mirror: Mirror, revisions: str) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory(dir=mirror.path, prefix="packed-") as folder:
        mirror.git("pack-objects", "--revs", "-q", "--threads=1", f"{folder}/pack", stdin=f"{revisions}\n".encode())
        return {f"objects/pack/{p.name}": p.read_bytes() for p in sorted(Path(folder).iterdir())}
