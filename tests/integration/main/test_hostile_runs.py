"""Hostile contestants through the whole command line: each ends in a row with the right verdict and its reason, its
bundle holds what was judged, and it is verified, shown and scored again like any other.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.main.conftest import KEY, ROOT, Bench
from tests.integration.main.test_rescore import mini as mini
from tests.integration.main.test_rescore import scores
from tests.support.hostile_agent import described
from tests.support.stub_llm import StubServer

CONFIGURED = r"""cases; commit work
printf '#!/bin/sh\ntouch /tmp/pwned /scratch/pwned; exec cat\n' > .git/evil; chmod +x .git/evil
for key in core.fsmonitor diff.external filter.x.clean filter.x.smudge core.sshCommand uploadpack.packObjectsHook
do git config $key /work/repo/.git/evil; done
git config extensions.worktreeConfig true; git config --worktree core.bare true; git config core.worktree /etc
mkdir .git/h; cp .git/evil .git/h/post-checkout; git config core.hooksPath .git/h; git config include.path /dev/zero
mkdir -p .git/info .git/refs/heads/refs/heads ".git/refs/tags/$(dirname "$branch")"
head=$(cat ".git/refs/heads/$branch")
for name in heads/HEAD heads/refs/heads/x "heads/--upload-pack=x" "tags/$branch" "replace/$head"
do mkdir -p "$(dirname ".git/refs/$name")"; echo $base > ".git/refs/$name"; done
echo $head > .git/shallow; echo $head > .git/info/grafts
echo '* filter=x working-tree-encoding=UTF-16 eol=crlf export-ignore' > .git/info/attributes"""
HIDDEN = r"""cases; git add -A; git update-index --assume-unchanged cases/add.txtar
git update-index --skip-worktree src/calc.py; echo src > .git/info/exclude; git commit -qm work
echo 'import sys; sys.exit(0)' > src/calc.py; printf 'import sys\nsys.exit(0)\n' > tools/run_cases.py"""
# The second attempt throws away the history that the first one left, and leaves a tree that git refuses.
REFUSED = r"""if test -e cases/add.txtar; then
printf '[submodule "x"]\n path = cases/s\n url = u\n update = !touch /tmp/pwned\n' > .gitmodules; git add -A
git update-ref "refs/heads/$branch" $(git commit-tree $(git write-tree) -m orphan)
else cases; printf 'no case' > cases/broken.txtar; commit work; fi"""
GONE = r"""cases; commit work; git checkout -q --detach; git branch -qD "$branch"
setsid sh -c 'while :; do date +%N > "cases/$(date +%N).txtar"; done' < /dev/null > /dev/null 2>&1 &"""
SCRIPTS = {"configured": CONFIGURED, "hidden": HIDDEN, "refused": REFUSED, "gone": GONE}

# The command line on another day and under another umask; what else differs is in the environment.
LATER = """
import datetime, os, sys, time
real = time.time
time.time = lambda: real() + 1500 * 86400
class Later(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)
datetime.datetime = Later
os.umask(0o077)
from runner.cli.main import main
main()
"""
ELSEWHERE = {
    "LC_ALL": "C",
    "LANG": "C",
    "PYTHONCOERCECLOCALE": "0",
    "PYTHONUTF8": "0",
    "USER": "other",
    "HOSTNAME": "other",
}


def heads(bundle: Path) -> list[str]:
    done = subprocess.run(["git", "bundle", "list-heads", str(bundle)], capture_output=True, text=True, check=True)
    return [line.split()[0] for line in done.stdout.splitlines()]


@pytest.fixture
def cheats(mini: Bench) -> Bench:
    mini.change(probes_dir=None, placebos_dir=None)  # fewer checks, the same paths
    harness = {"harnesses": {"hostile": described(SCRIPTS)}}
    (mini.home / "harnesses.yaml").write_text(yaml.safe_dump(harness))
    shutil.copy(ROOT / "registry" / "providers.yaml", mini.home)
    return mini


def test_every_cheat_has_its_row_and_its_reason(cheats: Bench) -> None:
    models = [word for name in SCRIPTS for word in ("-m", f"llama-local/{name}")]
    common = ("--registry", str(cheats.index))
    with StubServer() as stub:
        cheats.env |= {"LLAMA_LOCAL_URL": stub.url("talk", "cheats"), "LLAMA_LOCAL_KEY": KEY}
        done = cheats("run", "mini", *common, "--json", "--harness", "hostile", "--jobs", "2", *models, timeout=600)
    assert done.code == 0, done.err
    rows: dict[str, Any] = {row["cells"]["model"].strip("`"): row for row in done.document["rows"]}
    found = {name: (row["cells"]["outcome"], row["cells"]["att"], row["cells"]["code"]) for name, row in rows.items()}
    assert found == {
        "configured": ("pass", "1", "100.0"),
        "hidden": ("pass", "1", "66.7"),  # the runner is the baseline's, so the cases were run; but scope is broken
        "refused": ("fail@M01", "2", "-"),
        "gone": ("fail@M01", "2", "-"),
    }
    assert {row["result"]["cause"] for row in rows.values()} == {None, "model"}
    folders = {name: next(cheats.runs.glob(f"*-{name}")) for name in SCRIPTS}
    gates = {g["id"]: g for g in json.loads((folders["hidden"] / "scores" / "gates.json").read_text())["gates"]}
    assert gates["scope"]["passed"] is False
    assert {"src/calc.py", "tools/run_cases.py"} <= set(gates["scope"]["evidence"]["outside"])
    for name, words in (("refused", "disallowed submodule update setting"), ("gone", "is gone; HEAD is at")):
        assert rows[name]["result"]["detail"].startswith("its work is refused: "), rows[name]["result"]["detail"]
        assert words in rows[name]["result"]["detail"]
        assert words in cheats("show", folders[name].name, *common).out
    for name, folder in folders.items():
        assert heads(folder / "branch.bundle") == [rows[name]["result"]["head"]], "the bundle holds what was judged"
    assert rows["refused"]["result"]["head"] != rows["gone"]["result"]["head"], "the first attempt's work is lost"
    _score_again(cheats, [folders["configured"], folders["refused"]])
    done = cheats("verify", *common)
    assert (done.code, "6 rows chained" in done.out) == (0, True), done.out + done.err


def _score_again(bench: Bench, folders: list[Path]) -> None:
    """No agent, no model, no mirror: the same bytes, shuffled, on one worker or three, in another time zone and locale,
    by another user's umask, with other hashes, years later.
    """
    shutil.rmtree(bench.home / ".bench/workspaces")
    (bench.home / "harnesses.yaml").unlink()
    bench.program = ["-c", LATER]
    for number, folder in enumerate(folders):
        before = scores(folder)
        assert {"gates.json", "process.json", "cost.json"} <= before.keys()
        bench.env |= ELSEWHERE | {"TZ": ("Pacific/Auckland", "America/Lima")[number], "PYTHONHASHSEED": str(number + 1)}
        done = bench("rescore", folder.name, "--registry", str(bench.index), "--json", "--seed", str(number + 5),
                     "--jobs", str(1 + 2 * number), timeout=300)  # fmt: skip
        assert done.code == 0, done.err
        assert (done.document[0]["revision"], done.document[0]["changes"]) == (2, [])
        assert scores(folder / "revisions/2") == before
        day = json.loads((folder / "revisions/2/revision.json").read_text())["at"][:4]
        assert int(day) > int(folder.name[:4]) + 3
