-- Links with a similarity, why each write ended as it did, and what entered which prompt.

UPDATE store SET min_writer = 9;  -- an earlier one would leave links and reasons out

ALTER TABLE link ADD COLUMN similarity REAL;          -- cosine of the two texts, of type similar
ALTER TABLE link ADD COLUMN at INTEGER;
UPDATE link SET at = (SELECT 1000 * at FROM block WHERE block.seq = link.seq LIMIT 1);

ALTER TABLE version ADD COLUMN reasons TEXT NOT NULL DEFAULT '[]';      -- JSON array of sentences
ALTER TABLE observation ADD COLUMN reasons TEXT NOT NULL DEFAULT '[]';  -- the same, of one write
CREATE INDEX version_pinned ON version (memory)         -- a session starts with them
    WHERE pinned = 1 AND recorded_until IS NULL;
CREATE INDEX block_about ON block (memories);           -- most blocks name one memory

-- What entered a prompt: who read it, when, at how many tokens. Pruned with the recall records.
CREATE TABLE injection (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    at INTEGER NOT NULL,
    by_agent TEXT,                       -- as blocks name it
    project TEXT,                        -- who read
    agent TEXT,
    session TEXT,
    question TEXT NOT NULL,              -- its beginning; empty at the start of a session
    format TEXT NOT NULL,
    fence TEXT NOT NULL,
    tokens INTEGER NOT NULL,             -- of the whole text
    max_tokens INTEGER NOT NULL,
    CHECK (tokens <= max_tokens)
);
CREATE INDEX injection_at ON injection (at);

CREATE TABLE injected (
    injection INTEGER NOT NULL REFERENCES injection (number) ON DELETE CASCADE,
    place INTEGER NOT NULL,              -- 1 is the first
    memory INTEGER NOT NULL REFERENCES memory (number),
    recorded INTEGER NOT NULL,           -- when the version that was shown had been recorded
    section TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    score REAL,
    PRIMARY KEY (injection, place)
) WITHOUT ROWID;
CREATE INDEX injected_memory ON injected (memory);
