"""Published rows come into the history word for word, marked, once, and never in the place of what they came from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from runner.cli.main import app
from runner.errors import ConfigError, ProofError
from runner.report import format as fmt
from runner.report.foreign import import_table, read_rows
from runner.report.lookup import arms_of, history_of, verify_store
from runner.store.history import History

PUBLISHED = json.loads((Path(__file__).parents[1] / "scoring" / "published-rows.json").read_text())
ROWS: list[str] = PUBLISHED["rows_to_parse"]
OLD = """\
| date             | model         | provider   | outcome       | att   | code | agentic | tokens | run |
| ---------------- | :------------ | ---------- | ------------- | ----- | ---- | ------: | ------ | --- |
| 2026-08-14 18:39 | `meta/glim`   | openrouter | fail@M01 [^1] | 2     | -    | -       | 391.6k | [x](runs/x.md) |
| 2026-08-16 00:05 | `Qwen_medium` | local      | pass [^5]     | 2/3/2 | 89.0 | -       | n/a    | a \\| b |

[^1]: Both attempts were ended by the provider.
"""


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    index = tmp_path / "index.md"
    index.write_text("---\nbenchmarks:\n- {id: calc, source_repo: ., baseline: '0000000', plan: p, scope_allowlist: [],"
                     " commands: {ci: {argv: ['true']}}, runs_dir: runs}\n---\n")  # fmt: skip
    return index


def test_every_published_row_is_kept_to_the_letter(tmp_path: Path) -> None:
    table = tmp_path / "rows.md"
    table.write_text("\n".join(ROWS))
    done = import_table(table, "calc", History(tmp_path))
    written = [[record.cells[column] for column in record.columns] for record in History(tmp_path).verify()]
    assert written == [[cell.strip() for cell in row.strip()[1:-1].split("|")] for row in ROWS]
    first, last = done.added[0], done.added[-1]
    assert (first.outcome, first.arm.model, first.arm.effort) == ("fail@M01", "meta/muse-glimmer-30b", "unknown")
    assert first.effort_evidence == f"{first.citation}: states no effort"
    assert (first.citation or "").startswith("rows.md, line 1 (sha256 ")
    assert (last.arm.effort, last.arm.orchestration, last.provenance) == ("medium", "direct", "published_document")
    assert {r.series for r in done.added} != {""}
    assert import_table(table, "calc", History(tmp_path)).known == len(ROWS)  # once, however often


def test_tables_of_something_else_are_left_out_and_no_row_in_silence() -> None:
    other = "| column | meaning |\n| --- | --- |\n| date | when |\n| model | which |\n\n"
    head = "| date | model | effort | outcome | comment |\n| --- | --- | --- | --- | --- |\n"
    row = "| 2026-08-14 18:39 | m | None | pass | it is \\|"
    (found,) = read_rows(f"{other}{head}{row}\n\n{other}")
    assert found.line == 8
    assert found.cells["comment"] == "it is |"
    assert found.stated("effort") is None
    for word in ("-", "–", "—", "n/a", "N/A", "None", ""):
        assert read_rows(f"{head}{row.replace('None', word)}")[0].stated("effort") is None
    assert len(read_rows(f"{head}| --- | --- | --- | --- | --- |\n{row}\n{row}")) == 2
    with pytest.raises(ConfigError, match="line 3 has 2 cells, its table has 5 columns"):
        read_rows(f"{head}| 2026-08-14 18:39 | m\n")


@pytest.mark.parametrize("word", ["", "-", "–", "—", "n/a", "N/A", "None", "`-`", "- [^1]"])
def test_a_word_for_nothing_states_nothing(word: str) -> None:
    (found,) = read_rows(f"| date | model | outcome | effort |\n|---|---|---|---|\n|---|---|---|---|\n"
                         f"| 2026-08-14 | m | pass | {word} |")  # fmt: skip
    assert found.stated("effort") is None
    assert found.stated("model") == "m"


def test_older_tables_footnotes_and_escaped_pipes() -> None:
    first, second = read_rows(OLD)
    assert (first.cells["outcome"], first.stated("outcome")) == ("fail@M01 [^1]", "fail@M01")
    assert first.stated("code") is None
    assert (first.cells["report"], second.cells["report"]) == ("[x](runs/x.md)", "a | b")
    assert second.stated("tokens") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("| 2026-08-14 | m | x |", "line 1 has 3 cells"),
        (ROWS[0].replace("2026-08-14 18:39", "soon"), "date 'soon' is none"),
        (ROWS[0].replace("fail@M01", "nearly"), "outcome 'nearly' is none"),
        (ROWS[0].replace("`meta/muse-glimmer-30b`", "-"), "names no model"),
        ("| date | model | mood |", "no column 'outcome'"),
        ("| date | model | outcome | mood |", "a column 'mood'"),
        ("nothing", "holds no row"),
    ],
)
def test_a_table_that_cannot_be_read_is_a_sentence_and_nothing_is_written(tmp_path: Path, text: str, said: str) -> None:
    table = tmp_path / "rows.md"
    table.write_text(text)
    with pytest.raises(ConfigError, match=said):
        import_table(table, "calc", History(tmp_path))
    assert not History(tmp_path).file.exists()


def test_the_command_lists_them_as_published_and_leaves_the_old_table_alone(registry: Path) -> None:
    old = registry.with_name("history.md")
    old.write_text("# Benchmark history\n\n" + "\n".join(ROWS) + "\n")
    done = CliRunner().invoke(app, ["import", str(old), "--registry", str(registry), "--json"])
    assert done.exit_code == 0, done.exception
    assert len(json.loads(done.stdout)["rows"]) == len(ROWS)
    assert old.read_text().startswith("# Benchmark history\n\n| 2026-08-14 18:39")  # the seed's own table has our name
    assert "rows published elsewhere, not measured here" in registry.with_name("history-view.md").read_text()
    listed = CliRunner().invoke(app, ["list", "--registry", str(registry)])
    assert listed.stdout.count("published") == len(ROWS)
    assert {arm["source"] for arm in arms_of(history_of(registry))} == {"published"}
    assert verify_store(registry) == {"records": len(ROWS), "runs": 0}  # no folder stands behind a foreign row
    file = History(registry.parent).file
    file.write_text(file.read_text().replace("95.9", "99.9"))
    with pytest.raises(ProofError, match="was changed"):
        verify_store(registry)


plain = st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Zs"], exclude_characters="\\`[^]")
cell = st.text(plain, max_size=12)


@given(st.lists(st.tuples(cell, cell), min_size=1, max_size=4, unique=True))
def test_what_we_write_we_read(pairs: list[tuple[str, str]]) -> None:
    rows = [["2026-01-01 00:00", "`m`", "pass", tokens, comment] for tokens, comment in pairs]
    read = read_rows(fmt.table(["date", "model", "outcome", "tokens", "comment"], rows))
    assert [list(row.cells.values()) for row in read] == rows
