"""stockroom report ...: questions that change nothing."""

from stockroom.args import Args, Spec
from stockroom.database import connect
from stockroom.errors import NOT_FOUND, USAGE, StockError
from stockroom.quantity import parse_code, parse_whole, show_price
from stockroom.tables import render

SPECS = {
    "stock": Spec((), ("--sku", "--location", "--zone")),
    "low": Spec(),
    "movements": Spec((), ("--sku", "--kind", "--limit")),
    "valuation": Spec(),
}
KINDS = ("receipt", "pick", "transfer", "adjust", "count")


def stock(args: Args) -> None:
    sql = (
        "SELECT s.sku, s.location, l.zone, s.quantity, i.unit FROM stock s"
        " JOIN item i ON i.sku = s.sku JOIN location l ON l.code = s.location"
        " WHERE s.quantity > 0"
    )
    params: list[str] = []
    with connect() as db:
        if args.get("--sku") is not None:
            sku = parse_code(args["--sku"], "SKU")
            if not db.query("SELECT 1 FROM item WHERE sku = $1", (sku,)):
                raise StockError(NOT_FOUND, f"no item {sku}")
            params.append(sku)
            sql += f" AND s.sku = ${len(params)}"
        if args.get("--location") is not None:
            code = parse_code(args["--location"], "location")
            if not db.query("SELECT 1 FROM location WHERE code = $1", (code,)):
                raise StockError(NOT_FOUND, f"no location {code}")
            params.append(code)
            sql += f" AND s.location = ${len(params)}"
        if args.get("--zone") is not None:
            params.append(args["--zone"].lower())
            sql += f" AND l.zone = ${len(params)}"
        rows = db.query(sql + " ORDER BY s.sku, s.location", params)
    if not rows:
        print("no stock")
        return
    print(render(("SKU", "LOCATION", "ZONE", "QUANTITY", "UNIT"), rows), end="")
    print(f"total {sum(int(row[3] or 0) for row in rows)}")


def low(args: Args) -> None:
    with connect() as db:
        rows = db.query(
            "SELECT sku, on_hand, reserved, reorder_point, reorder_point - (on_hand - reserved)"
            " FROM (SELECT sku, reorder_point,"
            " (SELECT coalesce(sum(quantity), 0)::int FROM stock s WHERE s.sku = i.sku) on_hand,"
            " (SELECT coalesce(sum(quantity), 0)::int FROM reservation r WHERE r.sku = i.sku)"
            " reserved FROM item i WHERE active) t"
            " WHERE on_hand - reserved < reorder_point ORDER BY 5 DESC, sku"
        )
    if not rows:
        print("nothing to reorder")
        return
    print(render(("SKU", "ON HAND", "RESERVED", "REORDER AT", "SHORT"), rows), end="")


def movements(args: Args) -> None:
    limit = parse_whole(args.get("--limit") or "20", "limit")
    if limit < 1:
        raise StockError(USAGE, "the limit must be at least 1")
    sql = (
        "SELECT to_char(at, 'YYYY-MM-DD HH24:MI:SS'), kind, sku, location, delta, note"
        " FROM movement WHERE true"
    )
    params: list[str | int] = []
    if args.get("--sku") is not None:
        params.append(parse_code(args["--sku"], "SKU"))
        sql += f" AND sku = ${len(params)}"
    kind = args.get("--kind")
    if kind is not None:
        if kind not in KINDS:
            raise StockError(USAGE, f"unknown kind {kind!r}: use " + "|".join(KINDS))
        params.append(kind)
        sql += f" AND kind = ${len(params)}"
    params.append(limit)
    with connect() as db:
        rows = db.query(f"{sql} ORDER BY id DESC LIMIT ${len(params)}", params)
    if not rows:
        print("no movements")
        return
    print(render(("AT", "KIND", "SKU", "LOCATION", "DELTA", "NOTE"), rows), end="")


def valuation(args: Args) -> None:
    with connect() as db:
        rows = db.query(
            "SELECT l.zone, count(DISTINCT s.sku)::int, sum(s.quantity * i.price_cents)::bigint"
            " FROM stock s JOIN item i ON i.sku = s.sku JOIN location l ON l.code = s.location"
            " WHERE s.quantity > 0 GROUP BY l.zone ORDER BY l.zone"
        )
    table = [(zone, items, show_price(int(cents or 0))) for zone, items, cents in rows]
    total = show_price(sum(int(cents or 0) for _, _, cents in rows))
    print(render(("ZONE", "ITEMS", "VALUE"), table), end="")
    print(f"total {total}")
