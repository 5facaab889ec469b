-- What RFC-0011's version 2 promotes, the lessons' order, parts of long texts, and skills.

UPDATE store SET min_writer = 2;  -- one that knows nothing of this would leave gaps

ALTER TABLE version ADD COLUMN lesson TEXT;           -- JSON object, of kind lesson only
ALTER TABLE version ADD COLUMN pattern TEXT;          -- its pattern id
ALTER TABLE version ADD COLUMN severity INTEGER;      -- 0 low … 3 critical
ALTER TABLE version ADD COLUMN rule_confidence REAL;
ALTER TABLE version ADD COLUMN heritage TEXT;         -- JSON object
ALTER TABLE version ADD COLUMN skill TEXT;            -- the skill it came from
CREATE INDEX version_pattern ON version (pattern)
    WHERE pattern IS NOT NULL AND recorded_until IS NULL;
CREATE INDEX version_severity ON version (severity, number)
    WHERE severity IS NOT NULL AND recorded_until IS NULL;

-- Where in its text a vector's part lies; NULL for the whole of it.
ALTER TABLE vector ADD COLUMN start INTEGER;
ALTER TABLE vector ADD COLUMN stop INTEGER;

ALTER TABLE sink ADD COLUMN at INTEGER;               -- when it last moved

CREATE TABLE skill (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    seq INTEGER NOT NULL,                -- of its last change
    name TEXT NOT NULL,
    intent TEXT NOT NULL,
    description TEXT NOT NULL,
    tags TEXT NOT NULL,                  -- JSON array
    content TEXT NOT NULL,
    hash BLOB NOT NULL,
    terms TEXT NOT NULL,                 -- JSON array: those of name, intent, tags, description
    project TEXT,
    agent TEXT,
    session TEXT,
    source_kind TEXT NOT NULL,
    channel TEXT NOT NULL,
    source_agent TEXT,
    source_ref TEXT,
    status TEXT NOT NULL,
    reliability REAL NOT NULL,
    uses INTEGER NOT NULL,
    last_used INTEGER,
    created INTEGER NOT NULL,
    extra TEXT NOT NULL                  -- JSON object
);
CREATE INDEX skill_name ON skill (name);
CREATE INDEX skill_reliability ON skill (reliability) WHERE status = 'active';

CREATE TABLE skill_vector (
    skill INTEGER NOT NULL REFERENCES skill (number),
    space INTEGER NOT NULL REFERENCES space (number),
    data BLOB NOT NULL,                  -- little-endian float32
    PRIMARY KEY (skill, space)
) WITHOUT ROWID;

CREATE VIRTUAL TABLE skill_live USING fts5 (
    name, intent, tags, description, content = '', tokenize = "ascii tokenchars '#+'"
);
