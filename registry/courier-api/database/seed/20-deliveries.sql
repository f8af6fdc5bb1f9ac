-- Four weeks of work: 360 deliveries, of which every fifth is still on its way. No randomness and no
-- clock: two builds make the same rows.
INSERT INTO deliveries (reference, depot, recipient, address, promised_on, booked_at)
SELECT 'C-' || to_char(n, 'FM00000'),
       (ARRAY['LIS', 'HEL', 'AKL'])[1 + n % 3],
       (ARRAY['Aino Laine', 'Rui Costa', 'Mere Parata', 'Eeva Salo', 'Marta Reis', 'Tane Rewi'])[1 + n % 6],
       (ARRAY['Harbour Street ', 'Rua da Praia ', 'Kivikatu '])[1 + n % 3] || (1 + n % 40),
       date '2026-03-02' + n % 27,
       (date '2026-03-02' + n % 27 - 6)::timestamp AT TIME ZONE 'UTC' + interval '8 hours' + n * interval '17 seconds'
FROM generate_series(1, 360) AS n;

-- How far each one came: the first `steps` of the usual way.
CREATE TEMPORARY TABLE way AS
SELECT d.id, d.promised_on, s.step, s.status,
       -- A van's scans of one day arrive in one upload, so they share the moment of the change.
       (d.promised_on - (5 - s.step))::timestamp AT TIME ZONE 'UTC' + interval '6 hours 40 minutes'
           + (d.id % 4) * interval '11 minutes' AS moment
FROM deliveries d
CROSS JOIN LATERAL (
    SELECT CASE WHEN d.id % 5 = 0 THEN d.id / 5 % 4 ELSE 4 END AS steps
) AS far
CROSS JOIN LATERAL (
    SELECT step, (ARRAY['collected', 'at_depot', 'on_van', 'delivered'])[step] AS status
    FROM generate_series(1, 4) AS step WHERE step <= far.steps
) AS s;

INSERT INTO scans (delivery_id, scan_key, status, scanned_at, note, applied)
SELECT id, 'seed-' || step, status, moment - interval '25 minutes' + id % 20 * interval '1 minute',
       CASE WHEN step = 4 AND id % 7 = 0 THEN 'left with a neighbour' ELSE '' END, true
FROM way ORDER BY moment, id;

UPDATE deliveries d
SET status = last.status,
    last_scan_at = (SELECT max(scanned_at) FROM scans WHERE delivery_id = d.id)
FROM (SELECT DISTINCT ON (id) id, status FROM way ORDER BY id, step DESC) AS last
WHERE last.id = d.id;

INSERT INTO changes (delivery_id, status, changed_at)
SELECT id, status, moment FROM (
    SELECT id, 'booked' AS status, booked_at AS moment, 0 AS step FROM deliveries
    UNION ALL
    SELECT id, status, moment, step FROM way
) AS every ORDER BY moment, id, step;

DROP TABLE way;
