"""stockroom import ...: CSV in, one file is one transaction."""

import csv
import hashlib
import os

from pgwire import PgError
from stockroom.args import Args, Spec
from stockroom.database import connect
from stockroom.errors import BAD_FILE, CONFLICT, StockError
from stockroom.quantity import parse_code, parse_price, parse_quantity, parse_whole

SPECS = {
    "check": Spec(("FILE",)),
    "items": Spec(("FILE",), (), ("--update",)),
    "receipts": Spec(("FILE",), (), ("--skip-errors",)),
}
ITEM_COLUMNS = ["sku", "name", "unit", "price", "reorder"]
RECEIPT_COLUMNS = ["sku", "location", "quantity", "ref"]


def _read(path: str) -> tuple[str, list[list[str]]]:
    """The file's digest and its CSV rows, the header among them."""
    name = os.path.basename(path)
    try:
        with open(path, "rb") as file:
            data = file.read()
        text = data.decode()
    except OSError as error:
        raise StockError(BAD_FILE, f"cannot read {name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise StockError(BAD_FILE, f"{name} is not UTF-8") from error
    return hashlib.sha256(data).hexdigest(), list(csv.reader(text.splitlines()))


def _rows(name: str, rows: list[list[str]], columns: list[str]) -> list[tuple[int, list[str]]]:
    """Data rows with their line numbers; raises when the header or a row's width is wrong."""
    if not rows or [cell.strip().lower() for cell in rows[0]] != columns:
        raise StockError(BAD_FILE, f"{name}: the first line must be {','.join(columns)}")
    numbered = [(number, row) for number, row in enumerate(rows[1:], 2) if row]
    for number, row in numbered:
        if len(row) != len(columns):
            expected = f"{len(columns)} cells expected, not {len(row)}"
            raise StockError(BAD_FILE, f"{name} line {number}: {expected}")
    return numbered


def check(args: Args) -> None:
    path = args["FILE"]
    name = os.path.basename(path)
    digest, rows = _read(path)
    with connect() as db:
        seen = db.query("SELECT kind, rows FROM import_batch WHERE digest = $1", (digest,))
    print(f"{name}: {len(rows)} lines, sha256 {digest[:16]}")
    print(f"imported as {seen[0][0]}, {seen[0][1]} rows" if seen else "not imported yet")


def items(args: Args) -> None:
    path = args["FILE"]
    file_name = os.path.basename(path)
    _, rows = _read(path)
    added = updated = 0
    db = connect()
    db.execute("BEGIN")
    for number, (sku, name, unit, price, reorder) in _rows(file_name, rows, ITEM_COLUMNS):
        try:
            values = (
                parse_code(sku, "SKU"),
                name.strip(),
                unit.strip() or "pcs",
                parse_price(price.strip() or "0"),
                parse_whole(reorder.strip() or "0", "reorder point"),
            )
        except StockError as error:
            db.execute("ROLLBACK")
            db.close()
            raise StockError(BAD_FILE, f"{file_name} line {number}: {error.message}") from error
        if db.query("SELECT 1 FROM item WHERE sku = $1 FOR UPDATE", (values[0],)):
            if not args.has("--update"):
                db.execute("ROLLBACK")
                db.close()
                raise StockError(
                    CONFLICT, f"{file_name} line {number}: item {values[0]} exists already"
                )
            db.execute(
                "UPDATE item SET name = $2, unit = $3, price_cents = $4, reorder_point = $5"
                " WHERE sku = $1",
                values,
            )
            updated += 1
        else:
            try:
                db.execute(
                    "INSERT INTO item (sku, name, unit, price_cents, reorder_point)"
                    " VALUES ($1, $2, $3, $4, $5)",
                    values,
                )
            except PgError as error:
                db.execute("ROLLBACK")
                db.close()
                raise StockError(
                    BAD_FILE, f"{file_name} line {number}: the database refuses this row"
                ) from error
            added += 1
    db.execute("COMMIT")
    db.close()
    print(f"imported {file_name}: {added} added, {updated} updated")


def receipts(args: Args) -> None:
    path = args["FILE"]
    name = os.path.basename(path)
    digest, rows = _read(path)
    numbered = _rows(name, rows, RECEIPT_COLUMNS)
    done = 0
    problems: list[str] = []
    db = connect()
    try:
        db.execute("BEGIN")
        try:
            db.execute("INSERT INTO import_batch VALUES ($1, 'receipts', 0)", (digest,))
        except PgError as error:
            if error.sqlstate != "23505":
                raise
            raise StockError(CONFLICT, f"{name} was imported already") from error
        for number, (sku, location, quantity, ref) in numbered:
            try:
                code = parse_code(location, "location")
                item = parse_code(sku, "SKU")
                amount = parse_quantity(quantity.strip())
                found = db.query(
                    "SELECT capacity FROM location WHERE code = $1 AND active FOR UPDATE", (code,)
                )
                if not found:
                    raise StockError(BAD_FILE, f"no open location {code}")
                if not db.query("SELECT 1 FROM item WHERE sku = $1 AND active", (item,)):
                    raise StockError(BAD_FILE, f"no active item {item}")
                if db.query(
                    "SELECT 1 FROM stock_count WHERE location = $1 AND status = 'open'", (code,)
                ):
                    raise StockError(BAD_FILE, f"location {code} is being counted")
                load = db.query(
                    "SELECT coalesce(sum(quantity), 0)::int FROM stock WHERE location = $1",
                    (code,),
                )[0][0]
                if found[0][0] is not None and int(load or 0) + amount > int(found[0][0]):
                    raise StockError(BAD_FILE, f"location {code} has no room for {amount}")
            except StockError as error:
                if not args.has("--skip-errors"):
                    message = f"{name} line {number}: {error.message}"
                    raise StockError(BAD_FILE, message) from error
                problems.append(f"skipped line {number}: {error.message}")
                continue
            db.execute(
                "INSERT INTO stock (sku, location, quantity) VALUES ($1, $2, $3)"
                " ON CONFLICT (sku, location) DO UPDATE"
                " SET quantity = stock.quantity + excluded.quantity",
                (item, code, amount),
            )
            db.execute(
                "INSERT INTO movement (kind, sku, location, delta, note)"
                " VALUES ('receipt', $1, $2, $3, $4)",
                (item, code, amount, ref.strip()),
            )
            done += 1
        db.execute("UPDATE import_batch SET rows = $2 WHERE digest = $1", (digest, done))
        db.execute("COMMIT")
    except StockError:
        db.execute("ROLLBACK")
        raise
    finally:
        db.close()
    for problem in problems:
        print(problem)
    print(f"imported {name}: {done} receipts, {len(problems)} skipped")
