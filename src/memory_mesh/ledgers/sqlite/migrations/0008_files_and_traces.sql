-- Patterns that call a memory up, changes that wait for a person, and small values of jobs.

UPDATE store SET min_writer = 8;  -- an earlier one would drop the patterns of what it changes
UPDATE store SET min_reader = 8;  -- an earlier one does not know the channel of a mirror

ALTER TABLE version ADD COLUMN triggers TEXT NOT NULL DEFAULT '[]';  -- JSON array
CREATE INDEX version_triggers ON version (memory)
    WHERE triggers != '[]' AND recorded_until IS NULL AND status = 'active';
CREATE INDEX version_label ON version (label, memory)
    WHERE label IS NOT NULL AND recorded_until IS NULL;

-- A change that its writer may not make alone; a person decides.
CREATE TABLE proposal (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    seq INTEGER NOT NULL,                -- of its last change
    verb TEXT NOT NULL,                  -- update or delete
    memory INTEGER NOT NULL REFERENCES memory (number),
    change TEXT NOT NULL,                -- JSON object: what the memory would say
    reason TEXT NOT NULL,
    source_kind TEXT NOT NULL,
    channel TEXT NOT NULL,
    source_agent TEXT,
    source_ref TEXT,
    created INTEGER NOT NULL,
    decided INTEGER,
    approved INTEGER,
    why TEXT
);
CREATE INDEX proposal_pending ON proposal (number) WHERE decided IS NULL;
CREATE INDEX proposal_memory ON proposal (memory);

-- Small named values: how far a job has come, the last number given out.
CREATE TABLE state (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
