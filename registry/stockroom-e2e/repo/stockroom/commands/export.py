"""stockroom export: CSV for spreadsheets."""

import csv
import io
import os
import sys

from stockroom.args import Args, Spec
from stockroom.database import connect
from stockroom.errors import CONFLICT, USAGE, StockError
from stockroom.quantity import show_price

SPECS = {"export": Spec(("WHAT", "FILE"), (), ("--force",))}
QUERIES = {
    "items": (
        ("sku", "name", "unit", "price", "reorder"),
        "SELECT sku, name, unit, price_cents, reorder_point FROM item WHERE active ORDER BY sku",
    ),
    "stock": (
        ("sku", "location", "quantity"),
        "SELECT sku, location, quantity FROM stock WHERE quantity > 0 ORDER BY sku, location",
    ),
    "movements": (
        ("kind", "sku", "location", "delta", "note"),
        "SELECT kind, sku, location, delta, note FROM movement ORDER BY id",
    ),
}


def export(args: Args) -> None:
    what = args["WHAT"]
    if what not in QUERIES:
        raise StockError(USAGE, f"cannot export {what!r}: use " + "|".join(QUERIES))
    headers, sql = QUERIES[what]
    path = args["FILE"]
    if path != "-" and os.path.exists(path) and not args.has("--force"):
        raise StockError(CONFLICT, f"{path} exists; --force overwrites it")
    with connect() as db:
        rows = [list(row) for row in db.query(sql)]
    if what == "items":
        for row in rows:
            row[3] = show_price(int(row[3] or 0))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(headers)
    writer.writerows(rows)
    if path == "-":
        sys.stdout.write(buffer.getvalue())
        return
    try:
        with open(path, "w") as file:
            file.write(buffer.getvalue())
    except OSError as error:
        raise StockError(CONFLICT, f"cannot write {path}: {error.strerror}") from error
    print(f"exported {len(rows)} {what} rows to {path}")
