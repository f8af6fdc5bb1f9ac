-- One row for every change of a delivery's status; the dispatch board follows them.
CREATE TABLE changes (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    delivery_id bigint NOT NULL REFERENCES deliveries (id),
    status      text NOT NULL,
    changed_at  timestamptz(3) NOT NULL DEFAULT now()
);

CREATE INDEX changes_changed_at ON changes (changed_at, id);
