"""A fresh database for every case: one database a worker, emptied and proven unaltered.

Creating a database costs more than a case, so rows are deleted between cases and the catalogue
is compared with its first state; any difference makes a new database.
"""

import os
from pathlib import Path

from pgwire import Connection, PgError, Row, connect

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = Path(__file__).resolve().parent / "fixtures"
NO_TABLES = "none"

# What `expected/db/TABLE` shows: everything but clocks, in a stable order.
TABLES = {
    "item": "SELECT sku, name, unit, price_cents, reorder_point, active FROM item ORDER BY sku",
    "location": "SELECT code, zone, capacity, active FROM location ORDER BY code",
    "stock": "SELECT sku, location, quantity FROM stock ORDER BY sku, location",
    "movement": "SELECT kind, sku, location, delta, note FROM movement ORDER BY id",
    "reservation": "SELECT order_ref, sku, quantity FROM reservation ORDER BY order_ref, sku",
    "stock_count": "SELECT id, location, status FROM stock_count ORDER BY id",
    "count_line": "SELECT count_id, sku, counted FROM count_line ORDER BY count_id, sku",
    "import_batch": "SELECT kind, rows FROM import_batch ORDER BY digest",
}

_EMPTY = """
DELETE FROM count_line; DELETE FROM stock_count; DELETE FROM import_batch;
DELETE FROM reservation; DELETE FROM movement; DELETE FROM stock;
DELETE FROM location; DELETE FROM item;
SELECT setval('movement_id_seq', 1, false), setval('stock_count_id_seq', 1, false);
"""
_OTHERS = (
    "PREPARE others AS SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
_PRINT = """
PREPARE fingerprint AS SELECT (SELECT string_agg(oid || ':' || xmin, ',' ORDER BY oid) FROM pg_class
        WHERE relnamespace = 'public'::regnamespace)
    || (SELECT count(*) || '/' || max(xmin::text::bigint) FROM pg_attribute
        WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace))
    || (SELECT count(*) || '/' || max(oid::bigint) FROM pg_constraint)
    || (SELECT count(*) || '/' || max(oid::bigint) FROM pg_proc)
    || (SELECT count(*) || '/' || max(oid::bigint) FROM pg_namespace)
    || (SELECT count(*) FROM pg_trigger) || '/' || (SELECT count(*) FROM pg_db_role_setting)
"""


def server() -> dict[str, str]:
    """Where the server is, as PG* variables."""
    defaults = {"PGHOST": "127.0.0.1", "PGPORT": "5432", "PGUSER": "stockroom", "PGPASSWORD": ""}
    return {name: os.environ.get(name, default) for name, default in defaults.items()}


def open_database(name: str) -> Connection:
    where = server()
    return connect(
        host=where["PGHOST"],
        port=int(where["PGPORT"]),
        user=where["PGUSER"],
        password=where["PGPASSWORD"],
        database=name,
    )


class FreshDatabase:
    """One worker's database; `reset` before each case, `drop` at the end."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._db: Connection | None = None
        self._print = ""
        self._schema = (ROOT / "db" / "schema.sql").read_text()

    @property
    def db(self) -> Connection:
        if self._db is None:
            self._create()
        assert self._db is not None
        return self._db

    def reset(self, fixture: str, given: str) -> None:
        """Bring the fixture's rows, then the case's own; raises PgError for bad SQL."""
        db = self.db
        db.query("EXECUTE others")
        if self._fingerprint() != self._print:
            self.drop()
            db = self.db
        if fixture == NO_TABLES:
            db.script("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        else:
            db.script(_EMPTY + (FIXTURES / f"{fixture}.sql").read_text())
        if given.strip():
            db.script(given)

    def dump(self, table: str) -> str:
        """One table as `a|b|c` lines; says so when the table does not exist."""
        try:
            rows = self.db.query(TABLES[table])
        except PgError as error:
            return f"({error.message})\n"
        return "".join(_show(row) for row in rows)

    def blocked(self) -> int:
        """How many other sessions of this database wait for a lock."""
        rows = self.db.query(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return int(rows[0][0] or 0)

    def drop(self) -> None:
        if self._db is None:
            return
        self._db.close()
        self._db = None
        with open_database(os.environ.get("PGDATABASE", "stockroom")) as admin:
            admin.execute(f'DROP DATABASE IF EXISTS "{self.name}" WITH (FORCE)')

    def _create(self) -> None:
        with open_database(os.environ.get("PGDATABASE", "stockroom")) as admin:
            admin.execute(f'DROP DATABASE IF EXISTS "{self.name}" WITH (FORCE)')
            admin.execute(f'CREATE DATABASE "{self.name}" TEMPLATE template0 STRATEGY file_copy')
        self._db = open_database(self.name)
        self._db.script(self._schema)
        self._db.execute(_OTHERS)
        self._db.execute(_PRINT)
        self._print = self._fingerprint()

    def _fingerprint(self) -> str:
        return str(self.db.query("EXECUTE fingerprint")[0][0])


def _show(row: Row) -> str:
    words = {None: "-", True: "yes", False: "no"}
    cells = [words[v] if v is None or isinstance(v, bool) else str(v) for v in row]
    return "|".join(cells) + "\n"
