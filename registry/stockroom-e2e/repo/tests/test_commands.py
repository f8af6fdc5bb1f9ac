"""Unit tests of the commands, with the database mocked away.

Every test tells a fake connection what to answer and then looks at what the command printed or
at the SQL it sent. They know the order and the wording of the statements.
"""

from collections.abc import Sequence
from typing import Any
from unittest.mock import MagicMock, call, patch

import pytest

from pgwire import PgError
from stockroom.cli import main
from stockroom.errors import StockError


def connection(*answers: Sequence[Any]) -> MagicMock:
    """A connection whose `query` gives these answers one after the other."""
    db = MagicMock(name="connection")
    db.__enter__.return_value = db
    db.__exit__.return_value = False
    db.query.side_effect = [list(answer) for answer in answers]
    db.execute.return_value = 1
    return db


def run(module: str, db: MagicMock, *argv: str) -> int:
    with patch(f"stockroom.commands.{module}.connect", return_value=db) as opened:
        code = main(argv)
    opened.assert_called_once_with()
    return code


def statements(db: MagicMock) -> list[str]:
    return [args[0][0].split()[0] for args in db.execute.call_args_list]


def test_item_add(capsys: pytest.CaptureFixture[str]) -> None:
    db = connection()
    assert run("item", db, "item", "add", "nut-8", "Hex nut", "--price", "0.10") == 0
    assert statements(db) == ["BEGIN", "INSERT", "COMMIT"]
    assert db.execute.call_args_list[1][0][1] == ("NUT-8", "Hex nut", "pcs", 10, 0)
    assert capsys.readouterr().out == "added item NUT-8\n"


def test_item_add_twice(capsys: pytest.CaptureFixture[str]) -> None:
    db = connection()
    db.execute.side_effect = [0, PgError("23505", "duplicate key"), 0]
    assert run("item", db, "item", "add", "NUT-8", "Hex nut") == 4
    assert db.execute.call_args_list[-1] == call("ROLLBACK")
    assert "exists already" in capsys.readouterr().err


def test_item_list(capsys: pytest.CaptureFixture[str]) -> None:
    db = connection([("NUT-8", "Hex nut", "pcs", 10, 5, True)])
    assert run("item", db, "item", "list") == 0
    assert "AND active" in db.query.call_args[0][0]
    assert "NUT-8" in capsys.readouterr().out


def test_item_list_empty(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("item", connection([]), "item", "list") == 0
    assert capsys.readouterr().out == "no items\n"


def test_item_show(capsys: pytest.CaptureFixture[str]) -> None:
    db = connection([("Hex nut", "pcs", 10, 5, True)], [("A1", 7)], [(2,)])
    assert run("item", db, "item", "show", "NUT-8") == 0
    assert "on hand 7, reserved 2, available 5" in capsys.readouterr().out


def test_item_show_missing() -> None:
    assert run("item", connection([]), "item", "show", "NUT-8") == 3


def test_item_rename() -> None:
    db = connection()
    assert run("item", db, "item", "rename", "NUT-8", "Nut") == 0
    assert db.execute.call_args_list[1][0][1] == ("NUT-8", "Nut")


def test_item_retire() -> None:
    db = connection([(True,)], [(0,)], [(0,)])
    assert run("item", db, "item", "retire", "NUT-8") == 0
    assert statements(db) == ["BEGIN", "UPDATE", "COMMIT"]


def test_item_retire_with_stock(capsys: pytest.CaptureFixture[str]) -> None:
    db = connection([(True,)], [(3,)])
    assert run("item", db, "item", "retire", "NUT-8") == 5
    assert statements(db) == ["BEGIN", "ROLLBACK"]
    assert "3 on hand" in capsys.readouterr().err


def test_location_add() -> None:
    db = connection()
    assert run("location", db, "location", "add", "a1", "--capacity", "10") == 0
    assert db.execute.call_args_list[1][0][1] == ("A1", "main", 10)


def test_location_add_twice() -> None:
    db = connection()
    db.execute.side_effect = [0, PgError("23505", "duplicate key"), 0]
    assert run("location", db, "location", "add", "A1") == 4


def test_location_list(capsys: pytest.CaptureFixture[str]) -> None:
    db = connection([("A1", "main", 3, 10, True)])
    assert run("location", db, "location", "list") == 0
    assert "A1" in capsys.readouterr().out


def test_location_close_with_stock() -> None:
    db = connection([(True,)], [(3,)])
    assert run("location", db, "location", "close", "A1") == 5


def test_receive(capsys: pytest.CaptureFixture[str]) -> None:
    db = connection([("pcs", True)], [(None, True)], [], [(12,)])
    assert run("receive", db, "receive", "NUT-8", "A1", "5") == 0
    assert statements(db) == ["BEGIN", "INSERT", "COMMIT"]
    assert capsys.readouterr().out == "received 5 pcs of NUT-8 at A1 (now 12)\n"


def test_receive_unknown_item() -> None:
    assert run("receive", connection([]), "receive", "NUT-8", "A1", "5") == 3


def test_receive_over_capacity(capsys: pytest.CaptureFixture[str]) -> None:
    db = connection([("pcs", True)], [(10, True)], [], [(8,)])
    assert run("receive", db, "receive", "NUT-8", "A1", "5") == 5
    assert statements(db) == ["BEGIN", "ROLLBACK"]
    assert "room for 2" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["0", "-3", "x", "1.5"])
def test_receive_bad_quantity(word: str) -> None:
    assert main(["receive", "NUT-8", "A1", word]) == 2


def test_pick(capsys: pytest.CaptureFixture[str]) -> None:
    db = connection([("pcs",)], [(1,)], [], [(7,)], [(7,)])
    assert run("pick", db, "pick", "NUT-8", "A1", "5") == 0
    assert statements(db) == ["BEGIN", "UPDATE", "INSERT", "COMMIT"]
    assert capsys.readouterr().out == "picked 5 pcs of NUT-8 from A1 (2 left)\n"
    db.close.assert_called_once_with()


def test_pick_too_many() -> None:
    db = connection([("pcs",)], [(1,)], [], [(3,)])
    assert run("pick", db, "pick", "NUT-8", "A1", "5") == 5
    assert db.execute.call_args_list[-1] == call("ROLLBACK")


def test_pick_for_order() -> None:
    db = connection([("pcs",)], [(1,)], [], [(7,)], [(5,)])
    assert run("pick", db, "pick", "NUT-8", "A1", "5", "--order", "o-1") == 0
    assert statements(db) == ["BEGIN", "DELETE", "UPDATE", "INSERT", "COMMIT"]


def test_transfer() -> None:
    db = connection([(1,)], [("A1", None, True), ("B1", None, True)], [], [], [(9,)])
    assert run("transfer", db, "transfer", "NUT-8", "A1", "B1", "4") == 0
    assert statements(db) == ["BEGIN", "UPDATE", "INSERT", "INSERT", "INSERT", "COMMIT"]


def test_transfer_same_location() -> None:
    with patch("stockroom.commands.transfer.connect") as opened:
        assert main(["transfer", "NUT-8", "A1", "a1", "4"]) == 2
    opened.assert_not_called()


def test_adjust() -> None:
    db = connection([(1,)], [(1,)], [(9,)], [(9,)], [(0,)])
    assert run("adjust", db, "adjust", "NUT-8", "A1", "-4", "--reason", "loss") == 0
    assert db.execute.call_args_list[1][0][1] == ("NUT-8", "A1", 5)


def test_adjust_without_reason() -> None:
    assert main(["adjust", "NUT-8", "A1", "-4"]) == 2


def test_count_open() -> None:
    db = connection([(True,)], [(1,)])
    assert run("count", db, "count", "open", "A1") == 0
    assert statements(db) == ["BEGIN", "COMMIT"]


def test_count_enter() -> None:
    db = connection([("A1", "open")], [(1,)])
    assert run("count", db, "count", "enter", "1", "NUT-8", "9") == 0
    assert db.execute.call_args_list[1][0][1] == (1, "NUT-8", 9)


def test_count_close() -> None:
    db = connection([("A1", "open")], [(1,)], [("NUT-8", 10, 9)])
    assert run("count", db, "count", "close", "1") == 0
    assert statements(db) == ["BEGIN", "INSERT", "INSERT", "UPDATE", "COMMIT"]


def test_reserve_add() -> None:
    db = connection([(True,)], [(10,)], [(4,)], [(3,)])
    assert run("reserve", db, "reserve", "add", "o-1", "NUT-8", "3") == 0
    assert statements(db) == ["BEGIN", "COMMIT"]


def test_reserve_add_too_many() -> None:
    db = connection([(True,)], [(10,)], [(8,)])
    assert run("reserve", db, "reserve", "add", "o-1", "NUT-8", "3") == 5


def test_reserve_release() -> None:
    db = connection([("NUT-8", 3)])
    assert run("reserve", db, "reserve", "release", "o-1") == 0
    assert statements(db) == ["BEGIN", "COMMIT"]


def test_report_stock(capsys: pytest.CaptureFixture[str]) -> None:
    db = connection([("NUT-8", "A1", "main", 7, "pcs"), ("NUT-8", "B1", "main", 3, "pcs")])
    assert run("report", db, "report", "stock") == 0
    assert capsys.readouterr().out.endswith("total 10\n")


def test_report_movements() -> None:
    db = connection([("2026-01-05 10:00:00", "pick", "NUT-8", "A1", -3, "")])
    assert run("report", db, "report", "movements", "--limit", "5") == 0
    assert db.query.call_args[0][1] == [5]


def test_export_items(tmp_path: Any) -> None:
    target = tmp_path / "items.csv"
    db = connection([("NUT-8", "Hex nut", "pcs", 10, 5)])
    assert run("export", db, "export", "items", str(target)) == 0
    assert target.read_text() == "sku,name,unit,price,reorder\nNUT-8,Hex nut,pcs,0.10,5\n"


def test_import_items(tmp_path: Any) -> None:
    source = tmp_path / "items.csv"
    source.write_text("sku,name,unit,price,reorder\nNUT-8,Hex nut,pcs,0.10,5\n")
    db = connection([])
    assert run("importer", db, "import", "items", str(source)) == 0
    assert statements(db) == ["BEGIN", "INSERT", "COMMIT"]


def test_import_receipts(tmp_path: Any) -> None:
    source = tmp_path / "receipts.csv"
    source.write_text("sku,location,quantity,ref\nNUT-8,A1,5,PO-1\n")
    db = connection([(None,)], [(1,)], [], [(0,)])
    assert run("importer", db, "import", "receipts", str(source)) == 0
    assert statements(db) == ["BEGIN", "INSERT", "INSERT", "INSERT", "UPDATE", "COMMIT"]


def test_error_has_a_code() -> None:
    assert StockError(5, "no").exit_code == 5
