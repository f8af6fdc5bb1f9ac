-- The schema at the baseline: migrations 0001 and 0002 as the service would have run them.
CREATE TABLE depots (
    code      text PRIMARY KEY CHECK (code ~ '^[A-Z]{3}$'),
    name      text NOT NULL,
    time_zone text NOT NULL
);

CREATE TABLE deliveries (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    reference    text NOT NULL UNIQUE CHECK (reference ~ '^[A-Z0-9-]{4,20}$'),
    depot        text NOT NULL REFERENCES depots (code),
    recipient    text NOT NULL,
    address      text NOT NULL,
    promised_on  date NOT NULL,
    status       text NOT NULL DEFAULT 'booked',
    last_scan_at timestamptz(3),
    booked_at    timestamptz(3) NOT NULL DEFAULT now()
);

CREATE INDEX deliveries_depot_promised ON deliveries (depot, promised_on);

CREATE TABLE scans (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    delivery_id bigint NOT NULL REFERENCES deliveries (id),
    scan_key    text NOT NULL,
    status      text NOT NULL,
    scanned_at  timestamptz(3) NOT NULL,
    note        text NOT NULL DEFAULT '',
    applied     boolean NOT NULL,
    UNIQUE (delivery_id, scan_key)
);

INSERT INTO depots (code, name, time_zone) VALUES
    ('LIS', 'Lisboa', 'Europe/Lisbon'),
    ('HEL', 'Helsinki', 'Europe/Helsinki'),
    ('AKL', 'Auckland', 'Pacific/Auckland');

-- One row for every change of a delivery's status; the dispatch board follows them.
CREATE TABLE changes (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    delivery_id bigint NOT NULL REFERENCES deliveries (id),
    status      text NOT NULL,
    changed_at  timestamptz(3) NOT NULL DEFAULT now()
);

CREATE INDEX changes_changed_at ON changes (changed_at, id);

CREATE TABLE schema_migrations (name text PRIMARY KEY);
INSERT INTO schema_migrations (name) VALUES ('0001_deliveries.sql'), ('0002_changes.sql');
