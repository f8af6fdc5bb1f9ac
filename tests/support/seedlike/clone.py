"""A small plain clone with a registry in the seed's own form: flat thresholds, no milestones, no verify, no image."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

PROGRAM = dedent(
    """\
    import sys

    def main(words):
        if not words:
            print("nothing to do", file=sys.stderr)
            return 2
        if words[0] == "add":
            print(int(words[1]) + int(words[2]))
            return 0
        if words[0] == "sub":
            print(int(words[1]) - int(words[2]))
            return 0
        print("what is " + words[0], file=sys.stderr)
        return 1

    if __name__ == "__main__":
        sys.exit(main(sys.argv[1:]))
    """
)
RUNNER = dedent(
    '''\
    """Runs cases/*.txtar: FAILED lines, exit 1; exit 5 without a case; --update rewrites them."""
    import pathlib, subprocess, sys

    def sections(text):
        found, name = {}, None
        for line in text.splitlines(keepends=True):
            if line.startswith("-- ") and line.rstrip().endswith(" --"):
                name = line.strip()[3:-3]
                found[name] = ""
            elif name:
                found[name] += line
        return found

    folder = pathlib.Path("cases")
    cases = sorted(folder.glob("*.txtar"))
    failed = 0
    for case in cases:
        want = sections(case.read_text())
        done = subprocess.run([sys.executable, "prog.py", *want["args"].split()], capture_output=True, text=True)
        got = {"exit": f"{done.returncode}\\n", "stdout": done.stdout, "stderr": done.stderr, "expected": ""}
        if "--update" in sys.argv:
            new = "".join(f"-- {k} --\\n{got[k]}" for k in want if k != "args")
            case.write_text("-- args --\\n" + want["args"] + new)
        elif any(want[k] != got[k] and "[..]" not in want[k] for k in want if k != "args"):
            print(f"FAILED cases/{case.name} - differs")
            failed += 1
    print(f"{len(cases) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0 if cases else 5)
    '''
)
INDEX = dedent(
    """\
    ---
    benchmarks:
      - id: calc
        source_repo: /nowhere/calc
        workspaces_dir: .benchmarks
        workspace_scheme: "{{workspace_id}}-{{model_slug}}"
        push_remote:
          name: gh
          url: git@host.invalid:someone/calc.git
        baseline: "{baseline}"
        plan: vault/plans/calc/index.md
        branch_scheme: bench/{{model_slug}}
        worker: pi-developer
        logs_dir: ~/.tmp/pi-developer
        api_key_env: OPENROUTER_API_KEY
        scope_allowlist:
          - cases/*.txtar
          - tests_unit.py
          - vault/plans/calc/**
        milestones_glob: milestones/*/M*.md
        cases_dir: cases
        unit_file: tests_unit.py
        unit_grep: tests_unit
        unit_grep_exclude: [vault]
        commands:
          ci: {{argv: [python3, run.py, --ci]}}
          e2e: {{argv: [python3, run.py, --ci]}}
          e2e_update: {{argv: [python3, run.py, --ci, --update]}}
          mutation_e2e: {{argv: [python3, run.py]}}
        etalon_cases: [adds.txtar, subtracts.txtar, refuses-nothing.txtar, refuses-unknown.txtar]
        gap_cases: [refuses-unknown.txtar]
        mutations_dir: vault/benchmarks/mutations/calc
        mutations: {{command: mutation_e2e, failure_pattern: "^FAILED\\\\s+(\\\\S+\\\\.txtar)"}}
        runs_dir: runs
        reports_dir: reports
        process:
          loop_threshold: 3
          edit_tools: [Write, Edit, write, edit]
          shell_tools: [Bash, bash]
          rebaseline_pattern: "--update"
        cost: {{endpoint: "https://example.invalid/generation", retries: 3, backoff_seconds: 1.0, concurrency: 8}}
        weights:
          code:
            gates: {{ci: 10, determinism: 10, scope: 10, e2e: 5, unit_deleted: 5}}
            corpus: {{mutation: 25, recall: 15, four_channel: 10, gaps: 5, wildcard: 5}}
          agentic: {{attempts: 30, rebaseline: 20, tool_discipline: 30, churn: 20}}
          penalties: {{retry: 10, rebaseline: 10, malformed: 2, loop: 5, death: 10}}
          thresholds: {{wildcard_full_max: 0.05, wildcard_zero_min: 0.3, churn_full_max: 1.5, churn_zero_min: 4.0}}
    ---
    A registry as the seed's scripts read it.
    """
)
MUTANTS = {
    "01_add": ("int(words[1]) + int(words[2])", "int(words[1]) + int(words[2]) + 1"),
    "02_sub": ("int(words[1]) - int(words[2])", "int(words[2]) - int(words[1])"),
    "03_nothing": ("return 2", "return 3"),
}


def case(args: str, exit_code: int, stdout: str = "", stderr: str = "", *, all_four: bool = True) -> str:
    more = "-- expected --\n" if all_four else ""
    return f"-- args --\n{args}\n-- exit --\n{exit_code}\n-- stdout --\n{stdout}-- stderr --\n{stderr}{more}"


CASES = {
    "adds.txtar": case("add 1 2", 0, "3\n"),
    "subtracts.txtar": case("sub 5 3", 0, "2\n"),
    "no-words.txtar": case("", 2, stderr="nothing to do\n", all_four=False),
}


@dataclass(frozen=True)
class Clone:
    """``registry``: the index; ``repo``: the clone, at the baseline. ``branch`` commits what ``change`` does to it."""

    repo: Path
    registry: Path

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false", *arguments],
            cwd=self.repo, check=True, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout.strip()

    def branch(self, name: str, change: Callable[[Path], None]) -> str:
        self.git("checkout", "-q", "-b", name, "main")
        change(self.repo)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "work")
        self.git("checkout", "-q", "main")
        return name


def make_clone(folder: Path) -> Clone:
    repo, vault = folder / "calc", folder / "vault-repo"
    milestones = repo / "vault/plans/calc/milestones/core"
    milestones.mkdir(parents=True)
    clone = Clone(repo, vault / "index.md")
    clone.git("init", "-q", "--initial-branch=main", ".")
    (repo / "vault/plans/calc/index.md").write_text("# Plan\n")
    for stem in ("M01-cases", "M02-drop-units"):
        (milestones / f"{stem}.md").write_text(f"---\nstatus: pending\n---\n# {stem}\n")
    (repo / "prog.py").write_text(PROGRAM)
    (repo / "run.py").write_text(RUNNER.replace("else 5)", 'else 0 if "--ci" in sys.argv else 5)'))
    (repo / "tests_unit.py").write_text("import prog\n")
    clone.git("add", "-A")
    clone.git("commit", "-q", "-m", "baseline")
    baseline = clone.git("rev-parse", "HEAD")[:7]
    mutants = vault / "vault/benchmarks/mutations/calc"
    mutants.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(vault)], check=True)
    for name, (old, new) in MUTANTS.items():
        (repo / "prog.py").write_text(PROGRAM.replace(old, new))
        (mutants / f"{name}.patch").write_text(clone.git("diff") + "\n")
    clone.git("checkout", "-q", "prog.py")
    clone.registry.write_text(INDEX.format(baseline=baseline))
    return clone


def finish(repo: Path, cases: dict[str, str] | None = None, status: str = "done") -> None:
    """What a sprint that did everything leaves."""
    (repo / "cases").mkdir(exist_ok=True)
    for name, text in (CASES if cases is None else cases).items():
        (repo / "cases" / name).write_text(text)
    (repo / "tests_unit.py").unlink()
    for page in (repo / "vault/plans/calc/milestones/core").glob("M*.md"):
        page.write_text(page.read_text().replace("status: pending", f"status: {status}"))
