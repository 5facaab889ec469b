-- Claims and what contradicts them, votes on truth, values that must not come back, echoes.

UPDATE store SET min_writer = 3;

ALTER TABLE version ADD COLUMN claim TEXT;            -- JSON object
ALTER TABLE version ADD COLUMN subject TEXT;
ALTER TABLE version ADD COLUMN predicate TEXT;
CREATE INDEX version_claim ON version (subject, predicate, project, agent, session)
    WHERE subject IS NOT NULL AND recorded_until IS NULL AND status = 'active';
CREATE INDEX version_exclusive ON version (subject, predicate, project, agent, session)
    WHERE subject IS NOT NULL AND recorded_until IS NULL AND status = 'active'
    AND json_extract(claim, '$.exclusive');
CREATE INDEX version_waiting ON version (status, number)
    WHERE status IN ('quarantined', 'disputed') AND recorded_until IS NULL;
CREATE INDEX version_origin ON version (source_ref)
    WHERE source_ref IS NOT NULL AND recorded_until IS NULL;

ALTER TABLE memory ADD COLUMN usefulness REAL NOT NULL DEFAULT 1.0;
ALTER TABLE memory ADD COLUMN reinforcements INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memory ADD COLUMN disputes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memory ADD COLUMN origins INTEGER NOT NULL DEFAULT 1;

ALTER TABLE text ADD COLUMN echo BLOB;                -- of the text without case and punctuation
CREATE INDEX text_echo ON text (echo) WHERE echo IS NOT NULL;

CREATE TABLE predicate (
    name TEXT PRIMARY KEY,
    cardinality TEXT NOT NULL,
    conflict_policy TEXT NOT NULL,
    normalize TEXT NOT NULL,
    dedup_policy TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE conflict (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    seq INTEGER NOT NULL,
    new INTEGER NOT NULL REFERENCES memory (number),
    existing INTEGER NOT NULL REFERENCES memory (number),
    new_trust REAL NOT NULL,
    existing_trust REAL NOT NULL,
    reason TEXT NOT NULL,
    created INTEGER NOT NULL,
    resolved INTEGER,
    resolution TEXT,
    why TEXT
);
CREATE INDEX conflict_pending ON conflict (number) WHERE resolution IS NULL;
CREATE INDEX conflict_new ON conflict (new);
CREATE INDEX conflict_existing ON conflict (existing);

-- Keyed digests: what was rejected stays out, and the file does not tell what it was.
CREATE TABLE tombstone (
    digest BLOB PRIMARY KEY,
    at INTEGER NOT NULL,
    why TEXT NOT NULL
) WITHOUT ROWID;
