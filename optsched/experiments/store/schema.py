"""The store in SQL: its tables, all cells with their optima, and the rows of another store."""

FORMAT = 1
APPLICATION = 0x6F707473  # "opts": the magic number that `file` recognizes

TABLES = """
CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE instance (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, source INTEGER NOT NULL,
    seed INTEGER NOT NULL, digest BLOB);
CREATE TABLE optimum (
    digest BLOB NOT NULL, reference INTEGER NOT NULL, status INTEGER NOT NULL, value REAL,
    bound REAL, level INTEGER, certified REAL, effort REAL, micros INTEGER NOT NULL,
    wall INTEGER NOT NULL, schedule BLOB, certificate BLOB, versions INTEGER NOT NULL,
    message INTEGER, PRIMARY KEY (digest, reference)) WITHOUT ROWID;
CREATE TABLE cell (
    key BLOB PRIMARY KEY, instance INTEGER NOT NULL, reference INTEGER NOT NULL,
    policy INTEGER NOT NULL, replication INTEGER NOT NULL, seed INTEGER NOT NULL,
    status INTEGER NOT NULL, value REAL, known REAL, low REAL, high REAL, micros INTEGER NOT NULL,
    wall INTEGER NOT NULL, schedule BLOB, versions INTEGER NOT NULL, message INTEGER) WITHOUT ROWID;
"""

LINKS = {  # columns that hold the number of a row of another table
    **dict.fromkeys(("source", "reference", "policy", "versions", "message"), "word"),
    "instance": "instance",
}
RANGES = {  # ranges of numeric columns
    **{"status": (0, 2), "level": (0, 2), "seed": (0, (1 << 63) - 1), "id": (0, 1 << 52)},
    **dict.fromkeys(("replication", "micros", "wall", "effort"), (0, 1 << 62)),
    **dict.fromkeys(("low", "high"), (0, "9e999")),  # ratios, also infinite ones
}

# References of the cells: an optimum without a cell is not shown.
COMPARED = """(SELECT * FROM optimum WHERE (digest, reference) IN (
    SELECT coalesce(i.digest, i.key), c.reference FROM
    (SELECT DISTINCT instance, reference FROM cell) c JOIN instance i ON i.id = c.instance))"""

VIEW = """
SELECT c.key, s.text AS source, i.seed AS instance_seed, lower(hex(i.digest)) AS instance_sha256,
    p.text AS policy, c.replication, c.seed, r.text AS reference,
    CASE WHEN c.status = 2 OR o.status = 2 THEN 2 ELSE max(c.status, coalesce(o.status, 1)) END
        AS status, c.status AS cell_status, o.status AS optimum_status,
    c.value, c.known, c.low, c.high, o.value AS optimum, o.bound, o.level AS bound_level,
    o.certified AS certified_bound, o.effort, o.micros AS optimum_micros, c.micros,
    lower(hex(c.schedule)) AS schedule, lower(hex(o.schedule)) AS optimum_schedule,
    lower(hex(o.certificate)) AS certificate, v.text AS versions, w.text AS optimum_versions,
    m.text AS cell_message, coalesce(m.text, n.text) AS message, c.instance
FROM cell c JOIN instance i ON i.id = c.instance JOIN word s ON s.id = i.source
    JOIN word p ON p.id = c.policy JOIN word r ON r.id = c.reference
    JOIN word v ON v.id = c.versions LEFT JOIN word m ON m.id = c.message
    LEFT JOIN optimum o ON o.digest = coalesce(i.digest, i.key) AND o.reference = c.reference
    LEFT JOIN word w ON w.id = o.versions LEFT JOIN word n ON n.id = o.message
"""

# An optimum with its message, next to the words of its reference (w) and of the source (s).
OPTIMUM = """i.digest, o.status, o.value, o.bound, o.level, o.certified, o.effort, o.micros, o.wall,
    o.schedule, o.certificate, m.text
FROM instance i JOIN optimum o ON o.digest = coalesce(i.digest, i.key)
    JOIN word s ON s.id = i.source JOIN word w ON w.id = o.reference
    LEFT JOIN word m ON m.id = o.message"""

# Numbers of words and instances are a store's own; rows that are equal but for them are equal.
# Of two rows for one thing that with the smaller status stays, then that with the smaller numbers.
MERGE = """
INSERT OR IGNORE INTO main.word (text) SELECT text FROM part.word;
CREATE TEMP TABLE IF NOT EXISTS words AS SELECT 0 AS theirs, 0 AS ours WHERE 0;
DELETE FROM temp.words;
INSERT INTO temp.words SELECT p.id, w.id FROM part.word p JOIN main.word w USING (text);
CREATE INDEX IF NOT EXISTS temp.by_theirs ON words (theirs);
INSERT INTO main.instance (key, source, seed, digest)
    SELECT key, w.ours, seed, digest FROM part.instance JOIN temp.words w ON w.theirs = source
    WHERE true ON CONFLICT (key) DO UPDATE SET digest = coalesce(digest, excluded.digest);
INSERT INTO main.optimum SELECT o.digest, r.ours, status, value, bound, level, certified, effort,
    micros, wall, schedule, certificate, v.ours, m.ours FROM part.optimum o
    JOIN temp.words r ON r.theirs = reference JOIN temp.words v ON v.theirs = versions
    LEFT JOIN temp.words m ON m.theirs = message WHERE true
    ON CONFLICT (digest, reference) DO UPDATE SET status = excluded.status, value = excluded.value,
    bound = excluded.bound, level = excluded.level, certified = excluded.certified,
    effort = excluded.effort, micros = excluded.micros, wall = excluded.wall,
    schedule = excluded.schedule, certificate = excluded.certificate, versions = excluded.versions,
    message = excluded.message
    WHERE (excluded.status, excluded.micros, excluded.wall) < (status, micros, wall);
DELETE FROM main.optimum WHERE digest IN (SELECT key FROM main.instance WHERE digest IS NOT NULL);
INSERT INTO main.cell SELECT c.key, i.id, r.ours, p.ours, replication, c.seed, status, value,
    known, low, high, micros, wall, schedule, v.ours, m.ours FROM part.cell c
    JOIN part.instance t ON t.id = c.instance JOIN main.instance i ON i.key = t.key
    JOIN temp.words r ON r.theirs = reference JOIN temp.words p ON p.theirs = policy
    JOIN temp.words v ON v.theirs = versions LEFT JOIN temp.words m ON m.theirs = message WHERE true
    ON CONFLICT (key) DO UPDATE SET status = excluded.status, value = excluded.value,
    known = excluded.known, low = excluded.low, high = excluded.high, micros = excluded.micros,
    wall = excluded.wall, schedule = excluded.schedule, versions = excluded.versions,
    message = excluded.message
    WHERE (excluded.status, excluded.micros, excluded.wall) < (status, micros, wall)
"""
