"""stockroom pick: goods go out, against an order or from what nobody was promised."""

from stockroom.args import Args, Spec
from stockroom.database import connect
from stockroom.errors import NOT_FOUND, REFUSED, StockError
from stockroom.quantity import parse_code, parse_quantity

SPECS = {"pick": Spec(("SKU", "LOCATION", "QUANTITY"), ("--order",))}


def pick(args: Args) -> None:
    sku = parse_code(args["SKU"], "SKU")
    code = parse_code(args["LOCATION"], "location")
    quantity = parse_quantity(args["QUANTITY"])
    word = args.get("--order")
    order = parse_code(word, "order") if word is not None else None
    db = connect()
    try:
        db.execute("BEGIN")
        # The item's row is the lock that picks and reservations of one item share.
        items = db.query("SELECT unit FROM item WHERE sku = $1 FOR UPDATE", (sku,))
        if not items:
            raise StockError(NOT_FOUND, f"no item {sku}")
        if not db.query("SELECT 1 FROM location WHERE code = $1", (code,)):
            raise StockError(NOT_FOUND, f"no location {code}")
        if db.query(
            "SELECT 1 FROM stock_count WHERE location = $1 AND status = 'open'", (code,)
        ):
            raise StockError(REFUSED, f"location {code} is being counted")
        rows = db.query(
            "SELECT quantity FROM stock WHERE sku = $1 AND location = $2 FOR UPDATE", (sku, code)
        )
        there = int(rows[0][0] or 0) if rows else 0
        if quantity > there:
            raise StockError(REFUSED, f"only {there} of {sku} at {code}, not {quantity}")
        if order is None:
            free = int(
                db.query(
                    "SELECT (SELECT coalesce(sum(quantity), 0) FROM stock WHERE sku = $1)::int"
                    " - (SELECT coalesce(sum(quantity), 0) FROM reservation WHERE sku = $1)::int",
                    (sku,),
                )[0][0]
                or 0
            )
            if quantity > free:
                raise StockError(REFUSED, f"only {free} of {sku} not reserved, not {quantity}")
        else:
            promised = db.query(
                "SELECT quantity FROM reservation WHERE order_ref = $1 AND sku = $2", (order, sku)
            )
            if not promised:
                raise StockError(NOT_FOUND, f"order {order} has no reservation for {sku}")
            reserved = int(promised[0][0] or 0)
            if quantity > reserved:
                raise StockError(
                    REFUSED, f"order {order} reserved {reserved} of {sku}, not {quantity}"
                )
            if quantity == reserved:
                db.execute(
                    "DELETE FROM reservation WHERE order_ref = $1 AND sku = $2", (order, sku)
                )
            else:
                db.execute(
                    "UPDATE reservation SET quantity = quantity - $3"
                    " WHERE order_ref = $1 AND sku = $2",
                    (order, sku, quantity),
                )
        db.execute(
            "UPDATE stock SET quantity = quantity - $3 WHERE sku = $1 AND location = $2",
            (sku, code, quantity),
        )
        db.execute(
            "INSERT INTO movement (kind, sku, location, delta, note)"
            " VALUES ('pick', $1, $2, $3, $4)",
            (sku, code, -quantity, order or ""),
        )
        db.execute("COMMIT")
    except StockError:
        db.execute("ROLLBACK")
        raise
    finally:
        db.close()
    print(f"picked {quantity} {items[0][0]} of {sku} from {code} ({there - quantity} left)")
