-- One file per namespace. Times are integer microseconds since 1970 UTC (blocks: milliseconds).
-- A version is only ever closed, never rewritten; a text's terms and vectors belong to the text.

CREATE TABLE store (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    namespace TEXT NOT NULL,
    min_reader INTEGER NOT NULL,
    min_writer INTEGER NOT NULL,
    seq INTEGER NOT NULL,          -- the one counter: cache key, sink cursor, index watermark
    recorded INTEGER NOT NULL,     -- recorded time of the last commit; strictly increasing
    position INTEGER NOT NULL,     -- end of the chain
    head BLOB NOT NULL,
    identity TEXT NOT NULL         -- of this very file: a namespace made anew has another
);

CREATE TABLE memory (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    created INTEGER NOT NULL,
    status TEXT NOT NULL,          -- today's status: marks what a read of the past returns
    uses INTEGER NOT NULL DEFAULT 0,
    last_used INTEGER,
    helpful INTEGER NOT NULL DEFAULT 0,
    harmful INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE text (
    number INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memory (number),
    content TEXT NOT NULL,
    hash BLOB NOT NULL,
    terms TEXT NOT NULL            -- what the keyword tables hold; needed to take it out again
);
CREATE INDEX text_hash ON text (hash);

CREATE TABLE version (
    number INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memory (number),
    text INTEGER NOT NULL REFERENCES text (number),
    seq INTEGER NOT NULL,
    recorded_from INTEGER NOT NULL,
    recorded_until INTEGER,
    status TEXT NOT NULL,
    successor TEXT REFERENCES memory (id) DEFERRABLE INITIALLY DEFERRED,
    kind TEXT NOT NULL,
    label TEXT,
    project TEXT,
    agent TEXT,
    session TEXT,
    ord INTEGER,
    speaker TEXT,
    role TEXT,
    occurred_at INTEGER,
    valid_from INTEGER,
    valid_until INTEGER,
    source_kind TEXT NOT NULL,
    channel TEXT NOT NULL,
    source_agent TEXT,
    source_ref TEXT,
    importance REAL,
    confidence REAL,
    tier TEXT NOT NULL,
    pinned INTEGER NOT NULL,
    tags TEXT NOT NULL,            -- JSON array
    extra TEXT NOT NULL,           -- JSON object: metadata keys that have no column
    CHECK (recorded_until IS NULL OR recorded_until > recorded_from)
);
CREATE UNIQUE INDEX version_open ON version (memory) WHERE recorded_until IS NULL;
CREATE INDEX version_memory ON version (memory, recorded_from);
CREATE INDEX version_text ON version (text);
CREATE INDEX version_session ON version (session, ord)
    WHERE session IS NOT NULL AND recorded_until IS NULL;
CREATE INDEX version_valid_from ON version (valid_from)
    WHERE valid_from IS NOT NULL AND recorded_until IS NULL;
CREATE INDEX version_valid_until ON version (valid_until)
    WHERE valid_until IS NOT NULL AND recorded_until IS NULL;

CREATE TABLE observation (
    number INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memory (number),
    at INTEGER NOT NULL,
    hash BLOB NOT NULL,
    outcome TEXT NOT NULL,
    origin TEXT NOT NULL,
    key TEXT
);
CREATE INDEX observation_memory ON observation (memory);
CREATE UNIQUE INDEX observation_key ON observation (key) WHERE key IS NOT NULL;

CREATE TABLE link (
    source INTEGER NOT NULL REFERENCES memory (number),
    target INTEGER NOT NULL REFERENCES memory (number),
    type TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (source, target, type)
) WITHOUT ROWID;
CREATE INDEX link_target ON link (target);

-- Unique keys make a fork impossible even for a foreign writer.
CREATE TABLE block (
    position INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    seq INTEGER NOT NULL,
    operation TEXT NOT NULL,
    agent TEXT,
    at INTEGER NOT NULL,
    memories TEXT NOT NULL,
    wire TEXT,
    salt BLOB,
    erased INTEGER NOT NULL DEFAULT 0,
    metadata TEXT,
    digest BLOB NOT NULL,
    prev_hash BLOB NOT NULL UNIQUE,
    hash BLOB NOT NULL
);
CREATE INDEX block_seq ON block (seq);

CREATE TABLE recall (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    agent TEXT,
    at INTEGER NOT NULL,
    memories TEXT NOT NULL,
    wire TEXT,
    metadata TEXT NOT NULL
);
CREATE INDEX recall_at ON recall (at);

CREATE TABLE space (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    revision TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    max_tokens INTEGER NOT NULL,
    normalised INTEGER NOT NULL,
    query_prefix TEXT NOT NULL,
    text_prefix TEXT NOT NULL,
    reached INTEGER NOT NULL DEFAULT 0,  -- every text up to this number has its vectors here
    body_version INTEGER,                -- the index that counts; what lies above it is the tail
    body_highest INTEGER,
    body_rows INTEGER
);

-- A number is never used twice and always means the same vector: the index holds nothing else.
CREATE TABLE vector (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    text INTEGER NOT NULL REFERENCES text (number),
    space INTEGER NOT NULL REFERENCES space (number),
    part INTEGER NOT NULL,               -- a long text has a vector per window
    seq INTEGER NOT NULL,
    data BLOB NOT NULL,                  -- little-endian float32
    UNIQUE (text, space, part)
);

-- Texts that the space's embedder does not take: they are found by their words and wait no more.
CREATE TABLE wordless (
    text INTEGER NOT NULL REFERENCES text (number),
    space INTEGER NOT NULL REFERENCES space (number),
    PRIMARY KEY (text, space)
) WITHOUT ROWID;

CREATE TABLE sink (
    name TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    attempts INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE dead_letter (
    sink TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    failure TEXT NOT NULL,
    PRIMARY KEY (sink, seq)
) WITHOUT ROWID;

-- Terms of texts a default read could return, and of all others. The ascii tokenizer splits only
-- between our own terms: [a-z0-9#+] and every non-ASCII character are parts of a term.
CREATE VIRTUAL TABLE live USING fts5 (terms, content = '', tokenize = "ascii tokenchars '#+'");
CREATE VIRTUAL TABLE rest USING fts5 (terms, content = '', tokenize = "ascii tokenchars '#+'");
