"""Exit code 0 of a candidate's own tests is no pass: what speaks against it is named."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import ConfigError
from runner.lab.check import Check, CheckResult, laid
from runner.lab.doubts import decoy_doubts, doubts
from runner.lab.junit import read_junit
from runner.lab.kit import Kit
from runner.lab.protected import protected_check
from runner.lab.tripwires import tripwires
from runner.registry.benchmark import Benchmark, load_benchmark
from runner.registry.manifests import expected_tests
from runner.repo import Mirror
from runner.sandbox.engine import Engine
from runner.schema.entry import Command
from runner.scoring.branch import Branch
from runner.scoring.gates import measure_gates

HOSTILE = Path(__file__).parents[2] / "support" / "hostile"
REPORT = "/out/ci.xml"


def junit(*cases: tuple[str, str]) -> bytes:
    inner = "".join(f'<testcase classname="t" name="{n}">{f"<{k}/>" if k else ""}</testcase>' for n, k in cases)
    return f"<testsuites><testsuite>{inner}</testsuite></testsuites>".encode()


def ended(code: int | None = 0, report: bytes | None = None, **more: object) -> CheckResult:
    reports = {} if report is None else {REPORT: report}
    return replace(CheckResult(code, False, False, 1.0, b"", b"", reports=reports), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (junit(("a", ""), ("b", ""), ("more", "")), []),
        (None, ["2 expected tests were not executed: t::a, b"]),
        (b"<not", ["2 expected tests were not executed: t::a, b"]),
        (junit(("a", "skipped"), ("b", "")), ["1 expected tests were not executed: t::a"]),
        (junit(("a", ""), ("b", ""), ("c", "failure")), ["its report names failed tests: c"]),
        (junit(("a", "error"), ("b", "")), ["its report names failed tests: a"]),
    ],
)
def test_expected_cases(report: bytes | None, said: list[str]) -> None:
    assert doubts({REPORT: ["t::a", "b"]}, ended(report=report)) == said


def test_who_left_processes_is_doubted() -> None:
    assert doubts({REPORT: ["a"]}, ended(report=junit(("a", "")), left=("sleep",))) == [
        "it left processes behind: sleep"
    ]


def test_a_decoy_has_to_be_red_by_name() -> None:
    red = junit(("a", ""), ("bad", "failure"))
    assert decoy_doubts("t::bad", ended(1, red)) == []
    assert decoy_doubts("bad", ended(1, red)) == []
    assert "passes as well" in decoy_doubts("bad", ended(0, red))[0]
    assert "does not name" in decoy_doubts("bad", ended(1, junit(("a", ""))))[0]
    assert "does not name" in decoy_doubts("bad", ended(1))[0]
    assert "timed out" in decoy_doubts("bad", ended(None, red, timed_out=True))[0]


def test_a_report_of_the_commit_is_never_read() -> None:
    check = Check("c", load("hostile").entry.commands["ci"], report="out/a.xml", reports=["out/b.xml", "/out/c.xml"])
    assert laid(check) == {b"out/a.xml": None, b"out/b.xml": None}


def load(name: str) -> Benchmark:
    return load_benchmark(HOSTILE / "index.md", name)


@pytest.fixture
def mirror(tmp_path: Path) -> tuple[Mirror, str]:
    benchmark = load("hostile")
    return Mirror.create(tmp_path / "mirror.git", benchmark.source, benchmark.entry.baseline)


@pytest.mark.parametrize(
    ("folder", "name", "content", "said"),
    [
        ("tests", "conftest.py", b"", "tests/conftest.py is read by the test machinery unasked"),
        ("src", "usercustomize.py", b"", "src/usercustomize.py is read"),
        ("src/x", "evil.pth", b"", "src/x/evil.pth is read"),
        ("src/x.dist-info", "entry_points.txt", b"", "src/x.dist-info/entry_points.txt is read"),
        ("src/_pytest", "runner.py", b"", "src/_pytest/runner.py takes the place of a module"),
        ("bin", "python3.12", b"", "bin/python3.12 takes the place of a tool"),
        ("bin", "check.sh", b"", "bin/check.sh takes the place of a tool"),
        ("tests", "test_x.py", b"def pytest_runtest_call(): ...", "tests/test_x.py names pytest_runtest_call"),
        ("tests", "test_x.py", b"open('/out/ci.xml')", "tests/test_x.py names ci.xml"),
        ("tests", "test_x.py", b"def pytest_tests_are_nice(): ...", None),
        ("src", "pythonic.py", b"import calc", None),
        ("ci", "conftest.py", b"", None),  # outside the allowlist: not in effect
    ],
)
def test_tripwires(mirror: tuple[Mirror, str], folder: str, name: str, content: bytes, said: str | None) -> None:
    host, base = mirror
    there = {f.path.split(b"/")[-1]: (f.mode, c) for f, c in host.blobs(host.tree(base))
             if f.path.startswith(folder.encode() + b"/")}  # fmt: skip
    head = host.replace_folder(base, folder, {**there, name.encode(): ("100644", content)}, "work")
    overlay = {b"ci/conftest.py": None}
    found = tripwires(host, base, head, overlay, [REPORT], [], {"check.sh"})
    assert [said in sentence for sentence in found] == ([True] if said else [])
    assert tripwires(host, base, head, overlay, [REPORT], [f"{folder}/**"], {"check.sh"}) == []


_XML = st.recursive(
    st.sampled_from([b"<testcase name='b'/>", b"<testcase/>", b"<skipped/>", b"text", b"&lt;", b"<!-- x -->"]),
    lambda inner: st.tuples(st.sampled_from([b"testsuites", b"testsuite", b"testcase", b"failure", b"x"]),
                            st.lists(inner, max_size=4))
    .map(lambda made: b"<%s tests='no'>%s</%s>" % (made[0], b"".join(made[1]), made[0])),
)  # fmt: skip


@given(st.binary(max_size=200) | _XML)
def test_a_report_can_hold_anything(content: bytes) -> None:
    assert doubts({REPORT: ["a"]}, ended(report=content))


@pytest.mark.parametrize(
    "content",
    [
        b"<?xml version='1.0' encoding='bogus'?><testsuite/>",
        b"<?xml version='1.0' encoding='base64'?><testsuite/>",
        b"<testsuite>" * 100_000 + b"</testsuite>" * 100_000,
        b"<!DOCTYPE l [<!ENTITY a 'aaaaaaaaaa'>" + b"".join(b"<!ENTITY %c '%s'>" % (98 + n, b"&%c;" % (97 + n) * 10)
                                                           for n in range(9)) + b"]><testsuite name='&j;'/>",
    ],
    ids=["encoding", "codec", "deep", "entities"],
)  # fmt: skip
def test_no_report_ends_its_reader(content: bytes) -> None:
    assert doubts({REPORT: ["a"]}, ended(report=content)) == ["1 expected tests were not executed: a"]


def scripted(results: list[CheckResult], seen: list[Check]) -> Callable[[Check], CheckResult]:
    def run(check: Check) -> CheckResult:
        seen.append(check)
        return results.pop(0)

    return run


def branch(mirror: tuple[Mirror, str], folder: Path, results: list[CheckResult], seen: list[Check]) -> Branch:
    kit = Kit(cast(Engine, None), load("hostile"), {}, threading.Event())
    host, base = mirror
    return Branch(kit, host, base, base, "unit", folder, scripted(results, seen))


def test_a_timeout_is_believed_only_when_it_comes_twice(mirror: tuple[Mirror, str], tmp_path: Path) -> None:
    late, green, seen = ended(None, timed_out=True), ended(), list[Check]()
    command = load("hostile").entry.commands["suite"]
    assert branch(mirror, tmp_path, [late, green], seen).check(command, "x").passed
    assert branch(mirror, tmp_path, [late, late], seen).check(command, "x").timed_out
    assert branch(mirror, tmp_path, [green], seen).check(command, "x").passed
    assert len(seen) == 5


def test_the_decoy_islaid_over_a_second_run_of_its_own(mirror: tuple[Mirror, str], tmp_path: Path) -> None:
    seen: list[Check] = []
    ids = expected_tests(load("hostile"), "expected.yaml")[REPORT]
    cases = "".join(f'<testcase classname="{i.split("::")[0]}" name="{i.split("::")[1]}"/>' for i in ids)
    honest = f"<testsuite>{cases}</testsuite>".encode()
    red = honest.replace(b"</testsuite>", b'<testcase classname="tests.test_totals" name="test_total"><failure/>'
                         b"</testcase></testsuite>")  # fmt: skip
    command = load("hostile").entry.commands["ci"]
    good = branch(mirror, tmp_path, [ended(0, honest), ended(1, red)], seen).check(command, "x")
    assert (good.passed, good.why()) == (True, "exit 0")
    assert [check.reports for check in seen] == [[REPORT], [REPORT]]
    assert b"tests/test_totals.py" not in (seen[0].overlay or {})
    assert b"tests/test_totals.py" in (seen[1].overlay or {})
    forged = branch(mirror, tmp_path, [ended(0, honest), ended(0, honest)], seen).check(command, "x")
    assert (forged.passed, forged.why()) == (False, "exit 0, but it passes as well with a failing test added")
    count = len(seen)
    assert not branch(mirror, tmp_path, [ended(1, red)], seen).check(command, "x").passed
    assert len(seen) == count + 1  # who is red needs no decoy


def test_a_command_without_tests_is_judged_by_its_exit_code(mirror: tuple[Mirror, str], tmp_path: Path) -> None:
    host, base = mirror
    kit = Kit(cast(Engine, None), load("hostile"), {}, threading.Event())
    check = Check(base, kit.benchmark.entry.commands["suite"])
    assert protected_check(kit, host, base, check, run_id="unit", place=scripted([ended()], [])).passed


@pytest.mark.parametrize("text", ["expected_tests: {}", "expected_tests: {a: []}", "a: b", "- x"])
def test_an_empty_list_of_expected_tests_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "e.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"e\.yaml"):
        expected_tests(replace(load("hostile"), home=tmp_path), "e.yaml")


def test_a_name_forges_no_row_and_fills_no_page() -> None:
    """Names of cases stand in evidence, scores and tables."""
    forged = "&#10;| corpus.mutation | points | 60 | 60.00 | 20/20 |"
    report = f"<testsuite><testcase classname='t' name='{forged}'><failure/></testcase>" \
             f"<testcase classname='{'c' * 999_999}' name='{'n' * 9_999_999}'/></testsuite>"  # fmt: skip
    read = read_junit(report.encode())
    assert read.failed == {"\\x0a| corpus.mutation | points | 60 | 60.00 | 20/20 |"}
    assert all(len(name) < 700 and name.isprintable() for name in read.executed | read.ids | read.failed_ids)
    breaks = "".join(f"<testcase name='a&#{number};b'/>" for number in (0x85, 0x2028, 0x2029, 0x202E, 0x2066))
    assert read_junit(f"<testsuite>{breaks}</testsuite>".encode()).executed == {
        "a\\x85b", "a\\x2028b", "a\\x2029b", "a\\x202eb", "a\\x2066b"
    }  # fmt: skip


def test_a_report_of_millions_of_cases_or_attributes_is_none() -> None:
    """It would take minutes to read; what nobody reads proves nothing."""
    few, many = (b"<testsuite>" + b"<testcase name='x'/>" * n + b"</testsuite>" for n in (1000, 500_000))
    assert (read_junit(few).executed, read_junit(many).executed) == ({"x"}, set())
    few, many = (b"<testsuite><testcase name='x' %s/></testsuite>" % b" ".join(b"a%x = ''" % n for n in range(count))
                 for count in (1000, 1_000_000))  # fmt: skip
    assert (read_junit(few).executed, read_junit(many).executed) == ({"x"}, set())


def test_a_gate_carries_out_what_the_baseline_says_and_names_what_was_rewritten(
    mirror: tuple[Mirror, str], tmp_path: Path
) -> None:
    """A path is a contestant's, too: it forges no line of a table."""
    host, base = mirror
    head = host.overlaid(base, {b"ci/check.sh": ("100755", b"exit 0\n")}, "work")
    seen: list[Check] = []
    rewritten = ended(changed=["src/a\n| b |"])
    judged = branch(mirror, tmp_path, [rewritten], seen)
    entry = judged.entry.model_copy(update={"commands": {**judged.entry.commands, "e2e_update": Command(argv=["x"])}})
    kit = replace(judged.kit, benchmark=replace(judged.kit.benchmark, entry=entry))
    (gate,) = measure_gates(replace(judged, kit=kit, head=head), None, lambda gate: None, ["determinism"]).gates
    assert (gate.passed, gate.evidence["rewritten"]) == (False, ["src/a\\x0a| b |"])
    there = dict(host.blobs(host.tree(base)))
    whole = {file.path: (file.mode, content) for file, content in there.items()}
    assert (seen[0].overlay or {})[b"ci/check.sh"] == whole[b"ci/check.sh"]
