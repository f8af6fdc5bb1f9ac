"""stockroom count ...: counting a location by hand."""

from pgwire import Connection, PgError
from stockroom.args import Args, Spec
from stockroom.database import connect
from stockroom.errors import CONFLICT, NOT_FOUND, REFUSED, StockError
from stockroom.quantity import parse_code, parse_count, parse_whole
from stockroom.tables import render

SPECS = {
    "open_count": Spec(("LOCATION",)),
    "enter": Spec(("COUNT", "SKU", "QUANTITY")),
    "show": Spec(("COUNT",)),
    "close": Spec(("COUNT",), (), ("--missing-as-zero",)),
    "cancel": Spec(("COUNT",)),
}

LINES = """
SELECT coalesce(s.sku, l.sku), coalesce(s.quantity, 0), l.counted
FROM (SELECT sku, quantity FROM stock WHERE location = $2 AND quantity > 0) s
FULL JOIN (SELECT sku, counted FROM count_line WHERE count_id = $1) l ON l.sku = s.sku
ORDER BY 1
"""


def open_count(args: Args) -> None:
    code = parse_code(args["LOCATION"], "location")
    with connect() as db:
        db.execute("BEGIN")
        rows = db.query("SELECT active FROM location WHERE code = $1 FOR UPDATE", (code,))
        if not rows:
            db.execute("ROLLBACK")
            raise StockError(NOT_FOUND, f"no location {code}")
        if not rows[0][0]:
            db.execute("ROLLBACK")
            raise StockError(REFUSED, f"location {code} is closed")
        try:
            number = db.query(
                "INSERT INTO stock_count (location) VALUES ($1) RETURNING id", (code,)
            )[0][0]
        except PgError as error:
            db.execute("ROLLBACK")
            if error.constraint == "one_open_count":
                raise StockError(CONFLICT, f"location {code} is being counted") from error
            raise
        db.execute("COMMIT")
    print(f"opened count {number} at {code}")


def _load(db: Connection, number: int) -> str:
    """The location of an open count, locked; ends the transaction when there is none."""
    rows = db.query("SELECT location, status FROM stock_count WHERE id = $1 FOR UPDATE", (number,))
    if not rows:
        db.execute("ROLLBACK")
        raise StockError(NOT_FOUND, f"no count {number}")
    if rows[0][1] != "open":
        db.execute("ROLLBACK")
        raise StockError(CONFLICT, f"count {number} is {rows[0][1]}")
    return str(rows[0][0])


def enter(args: Args) -> None:
    number = parse_whole(args["COUNT"], "count number")
    sku = parse_code(args["SKU"], "SKU")
    counted = parse_count(args["QUANTITY"])
    with connect() as db:
        db.execute("BEGIN")
        code = _load(db, number)
        if not db.query("SELECT 1 FROM item WHERE sku = $1", (sku,)):
            db.execute("ROLLBACK")
            raise StockError(NOT_FOUND, f"no item {sku}")
        db.execute(
            "INSERT INTO count_line (count_id, sku, counted) VALUES ($1, $2, $3)"
            " ON CONFLICT (count_id, sku) DO UPDATE SET counted = excluded.counted",
            (number, sku, counted),
        )
        db.execute("COMMIT")
    print(f"count {number} at {code}: {sku} is {counted}")


def show(args: Args) -> None:
    number = parse_whole(args["COUNT"], "count number")
    with connect() as db:
        rows = db.query("SELECT location, status FROM stock_count WHERE id = $1", (number,))
        if not rows:
            raise StockError(NOT_FOUND, f"no count {number}")
        code, status = rows[0]
        lines = db.query(LINES, (number, code))
    print(f"count {number} at {code}, {status}")
    table = [
        (sku, expected, "-" if counted is None else str(counted),
         "?" if counted is None else f"{int(counted) - int(expected or 0):+d}")
        for sku, expected, counted in lines
    ]
    print(render(("SKU", "EXPECTED", "COUNTED", "DIFFERENCE"), table), end="")


def close(args: Args) -> None:
    number = parse_whole(args["COUNT"], "count number")
    with connect() as db:
        db.execute("BEGIN")
        code = _load(db, number)
        db.query("SELECT 1 FROM location WHERE code = $1 FOR UPDATE", (code,))
        lines = db.query(LINES, (number, code))
        missing = [str(sku) for sku, _, counted in lines if counted is None]
        if missing and not args.has("--missing-as-zero"):
            db.execute("ROLLBACK")
            raise StockError(REFUSED, "not counted yet: " + ", ".join(missing))
        changed = 0
        for sku, expected, counted in lines:
            after = int(counted or 0)
            difference = after - int(expected or 0)
            if difference == 0:
                continue
            db.execute(
                "INSERT INTO stock (sku, location, quantity) VALUES ($1, $2, $3)"
                " ON CONFLICT (sku, location) DO UPDATE SET quantity = excluded.quantity",
                (sku, code, after),
            )
            db.execute(
                "INSERT INTO movement (kind, sku, location, delta, note)"
                " VALUES ('count', $1, $2, $3, $4)",
                (sku, code, difference, f"count {number}"),
            )
            changed += 1
        db.execute("UPDATE stock_count SET status = 'closed' WHERE id = $1", (number,))
        db.execute("COMMIT")
    print(f"closed count {number} at {code}: {changed} of {len(lines)} differ")


def cancel(args: Args) -> None:
    number = parse_whole(args["COUNT"], "count number")
    with connect() as db:
        db.execute("BEGIN")
        code = _load(db, number)
        db.execute("DELETE FROM count_line WHERE count_id = $1", (number,))
        db.execute("UPDATE stock_count SET status = 'cancelled' WHERE id = $1", (number,))
        db.execute("COMMIT")
    print(f"cancelled count {number} at {code}")
