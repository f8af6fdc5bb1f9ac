"""stockroom item ...: the catalogue."""

from pgwire import PgError
from stockroom.args import Args, Spec
from stockroom.database import connect
from stockroom.errors import CONFLICT, NOT_FOUND, REFUSED, USAGE, StockError
from stockroom.quantity import parse_code, parse_price, parse_whole, show_price
from stockroom.tables import render

SPECS = {
    "add": Spec(("SKU", "NAME"), ("--unit", "--price", "--reorder")),
    "list_items": Spec((), ("--search",), ("--all",)),
    "show": Spec(("SKU",)),
    "rename": Spec(("SKU", "NAME")),
    "price": Spec(("SKU", "PRICE")),
    "retire": Spec(("SKU",)),
}


def add(args: Args) -> None:
    sku = parse_code(args["SKU"], "SKU")
    name = args["NAME"].strip()
    if not name:
        raise StockError(USAGE, "the name must not be empty")
    price_cents = parse_price(args.get("--price") or "0")
    reorder = parse_whole(args.get("--reorder") or "0", "reorder point")
    if reorder < 0:
        raise StockError(USAGE, "the reorder point must not be negative")
    with connect() as db:
        db.execute("BEGIN")
        try:
            db.execute(
                "INSERT INTO item (sku, name, unit, price_cents, reorder_point)"
                " VALUES ($1, $2, $3, $4, $5)",
                (sku, name, args.get("--unit") or "pcs", price_cents, reorder),
            )
        except PgError as error:
            db.execute("ROLLBACK")
            if error.sqlstate == "23505":
                raise StockError(CONFLICT, f"item {sku} exists already") from error
            raise
        db.execute("COMMIT")
    print(f"added item {sku}")


def list_items(args: Args) -> None:
    sql = "SELECT sku, name, unit, price_cents, reorder_point, active FROM item WHERE true"
    params: list[str] = []
    if not args.has("--all"):
        sql += " AND active"
    search = args.get("--search")
    if search is not None:
        escaped = search.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        params.append(f"%{escaped}%")
        sql += " AND (name ILIKE $1 OR sku ILIKE $1)"
    with connect() as db:
        rows = db.query(sql + " ORDER BY sku", params)
    if not rows:
        print("no items")
        return
    table = [
        (sku, name, unit, show_price(int(price or 0)), reorder, "active" if active else "retired")
        for sku, name, unit, price, reorder, active in rows
    ]
    print(render(("SKU", "NAME", "UNIT", "PRICE", "REORDER", "STATE"), table), end="")


def show(args: Args) -> None:
    sku = parse_code(args["SKU"], "SKU")
    with connect() as db:
        rows = db.query(
            "SELECT name, unit, price_cents, reorder_point, active FROM item WHERE sku = $1", (sku,)
        )
        if not rows:
            raise StockError(NOT_FOUND, f"no item {sku}")
        name, unit, price, reorder, active = rows[0]
        places = db.query(
            "SELECT location, quantity FROM stock WHERE sku = $1 AND quantity > 0"
            " ORDER BY location",
            (sku,),
        )
        reserved = db.query(
            "SELECT coalesce(sum(quantity), 0)::int FROM reservation WHERE sku = $1", (sku,)
        )[0][0]
    on_hand = sum(int(quantity or 0) for _, quantity in places)
    print(f"{sku}: {name}" + ("" if active else " (retired)"))
    print(f"price {show_price(int(price or 0))} per {unit}, reorder at {reorder}")
    print(f"on hand {on_hand}, reserved {reserved}, available {on_hand - int(reserved or 0)}")
    for location, quantity in places:
        print(f"  {location}: {quantity}")


def rename(args: Args) -> None:
    sku = parse_code(args["SKU"], "SKU")
    name = args["NAME"].strip()
    if not name:
        raise StockError(USAGE, "the name must not be empty")
    with connect() as db:
        db.execute("BEGIN")
        touched = db.execute("UPDATE item SET name = $2 WHERE sku = $1", (sku, name))
        db.execute("COMMIT")
    if not touched:
        raise StockError(NOT_FOUND, f"no item {sku}")
    print(f"renamed item {sku} to {name}")


def price(args: Args) -> None:
    sku = parse_code(args["SKU"], "SKU")
    cents = parse_price(args["PRICE"])
    with connect() as db:
        db.execute("BEGIN")
        rows = db.query("SELECT price_cents FROM item WHERE sku = $1 FOR UPDATE", (sku,))
        if not rows:
            db.execute("ROLLBACK")
            raise StockError(NOT_FOUND, f"no item {sku}")
        db.execute("UPDATE item SET price_cents = $2 WHERE sku = $1", (sku, cents))
        db.execute("COMMIT")
    print(f"price of {sku}: {show_price(int(rows[0][0] or 0))} -> {show_price(cents)}")


def retire(args: Args) -> None:
    sku = parse_code(args["SKU"], "SKU")
    with connect() as db:
        db.execute("BEGIN")
        rows = db.query("SELECT active FROM item WHERE sku = $1 FOR UPDATE", (sku,))
        if not rows:
            db.execute("ROLLBACK")
            raise StockError(NOT_FOUND, f"no item {sku}")
        if not rows[0][0]:
            db.execute("ROLLBACK")
            raise StockError(CONFLICT, f"item {sku} is retired already")
        on_hand = db.query(
            "SELECT coalesce(sum(quantity), 0)::int FROM stock WHERE sku = $1", (sku,)
        )[0][0]
        if on_hand:
            db.execute("ROLLBACK")
            raise StockError(REFUSED, f"item {sku} still has {on_hand} on hand")
        orders = db.query("SELECT count(*) FROM reservation WHERE sku = $1", (sku,))[0][0]
        if orders:
            db.execute("ROLLBACK")
            raise StockError(REFUSED, f"item {sku} is reserved for {orders} orders")
        db.execute("UPDATE item SET active = false WHERE sku = $1", (sku,))
        db.execute("COMMIT")
    print(f"retired item {sku}")
