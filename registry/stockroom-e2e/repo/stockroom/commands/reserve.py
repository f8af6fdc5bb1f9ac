"""stockroom reserve ...: goods promised to orders."""

from stockroom.args import Args, Spec
from stockroom.database import connect
from stockroom.errors import NOT_FOUND, REFUSED, StockError
from stockroom.quantity import parse_code, parse_quantity
from stockroom.tables import render

SPECS = {
    "add": Spec(("ORDER", "SKU", "QUANTITY")),
    "release": Spec(("ORDER", "SKU?")),
    "list_reservations": Spec((), ("--order", "--sku")),
}


def add(args: Args) -> None:
    order = parse_code(args["ORDER"], "order")
    sku = parse_code(args["SKU"], "SKU")
    quantity = parse_quantity(args["QUANTITY"])
    db = connect()
    db.execute("BEGIN")
    items = db.query("SELECT active FROM item WHERE sku = $1 FOR UPDATE", (sku,))
    if not items:
        db.execute("ROLLBACK")
        raise StockError(NOT_FOUND, f"no item {sku}")
    if not items[0][0]:
        db.execute("ROLLBACK")
        raise StockError(REFUSED, f"item {sku} is retired")
    on_hand = int(
        db.query("SELECT coalesce(sum(quantity), 0)::int FROM stock WHERE sku = $1", (sku,))[0][0]
        or 0
    )
    reserved = int(
        db.query("SELECT coalesce(sum(quantity), 0)::int FROM reservation WHERE sku = $1", (sku,))[
            0
        ][0]
        or 0
    )
    if quantity > on_hand - reserved:
        db.execute("ROLLBACK")
        raise StockError(
            REFUSED, f"only {on_hand - reserved} of {sku} available, not {quantity}"
        )
    total = db.query(
        "INSERT INTO reservation (order_ref, sku, quantity) VALUES ($1, $2, $3)"
        " ON CONFLICT (order_ref, sku) DO UPDATE"
        " SET quantity = reservation.quantity + excluded.quantity RETURNING quantity",
        (order, sku, quantity),
    )[0][0]
    db.execute("COMMIT")
    db.close()
    print(f"reserved {quantity} of {sku} for {order} (now {total})")


def release(args: Args) -> None:
    order = parse_code(args["ORDER"], "order")
    word = args.get("SKU")
    sku = parse_code(word, "SKU") if word is not None else None
    db = connect()
    db.execute("BEGIN")
    if sku is None:
        rows = db.query(
            "DELETE FROM reservation WHERE order_ref = $1 RETURNING sku, quantity", (order,)
        )
    else:
        rows = db.query(
            "DELETE FROM reservation WHERE order_ref = $1 AND sku = $2 RETURNING sku, quantity",
            (order, sku),
        )
    db.execute("COMMIT")
    db.close()
    if not rows:
        what = f"order {order} has no reservation"
        raise StockError(NOT_FOUND, what if sku is None else f"{what} for {sku}")
    for item, quantity in sorted(rows, key=lambda row: str(row[0])):
        print(f"released {quantity} of {item} from {order}")


def list_reservations(args: Args) -> None:
    sql = "SELECT order_ref, sku, quantity FROM reservation WHERE true"
    params: list[str] = []
    if args.get("--order") is not None:
        params.append(parse_code(args["--order"], "order"))
        sql += f" AND order_ref = ${len(params)}"
    if args.get("--sku") is not None:
        params.append(parse_code(args["--sku"], "SKU"))
        sql += f" AND sku = ${len(params)}"
    with connect() as db:
        rows = db.query(sql + " ORDER BY order_ref, sku", params)
    if not rows:
        print("no reservations")
        return
    print(render(("ORDER", "SKU", "QUANTITY"), rows), end="")
