"""Records: canonical bytes, cells that say why, identities, and the shipped JSON Schemas."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from runner.report.schemas import records, schema_text
from runner.schema.arm import Arm
from runner.schema.base import canonical, complaint
from runner.schema.cell import Cell
from runner.schema.seed import DOCUMENTS

SCHEMAS = Path(__file__).parents[3] / "docs" / "reference" / "schemas"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize("name", sorted(records()))
def test_the_shipped_schema_is_the_records_own(name: str) -> None:
    shipped = (SCHEMAS / f"{name}.json").read_text(encoding="utf-8")
    assert shipped == schema_text(records()[name]), "python -m runner.report.schemas docs/reference/schemas"


@given(JSON)
def test_canonical_is_one_ascii_line_that_reads_back(value: object) -> None:
    text = canonical(value)
    assert text.isascii()
    assert "\n" not in text
    assert canonical(json.loads(text)) == text


def test_half_a_character_is_written_as_its_escape() -> None:
    assert json.loads(canonical("caf\udce9")) == "caf\\udce9"


def test_nan_is_no_figure() -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical({"x": math.nan})


def test_a_cell_without_a_value_says_why() -> None:
    with pytest.raises(ValidationError, match="must say why"):
        Cell(value=None)
    assert Cell.none("not metered").text() == "-"
    assert Cell.of(0.0, "ledger").text() == "0.0"


def test_arms_differ_by_identity_and_not_by_role() -> None:
    arm = Arm(provider="p", model="m", harness="pi", harness_version="1.6.0")
    assert arm.arm_id == arm.model_copy(update={"role": "control"}).arm_id
    for change in ({"effort": "high"}, {"harness_version": "1.6.1"}, {"orchestration": "loop"}, {"model": "n"}):
        assert arm.arm_id != arm.model_copy(update=change).arm_id
    assert Arm(provider="p", model="Meta/Muse_30B!", harness="h", harness_version="1").model_slug == "meta-muse-30b"


def test_what_is_wrong_with_a_whole_document_names_no_key() -> None:
    with pytest.raises(ValidationError) as wrong:
        DOCUMENTS["gates"].model_validate({"milestones": {"pass": True, "statuses": {}}})
    assert complaint(wrong.value).startswith("milestones has no statuses: ")
