-- Each audience has a number, and the count of memories that a default read could return to it.

UPDATE store SET min_writer = 13;  -- an earlier one would not count, nor say of which audience it is

CREATE TABLE audience (
    number INTEGER PRIMARY KEY,
    project TEXT,
    agent TEXT,
    session TEXT,
    memories INTEGER NOT NULL DEFAULT 0,  -- open and active
    crc INTEGER                           -- of project, agent and session
);
-- Repeats project, agent and session; visibility.rebuild fills it.
ALTER TABLE version ADD COLUMN audience INTEGER;

-- Hashes of metadata keys with their values, of open versions; marks.fill fills it.
CREATE TABLE metadata_mark (
    mark INTEGER NOT NULL,
    memory INTEGER NOT NULL,
    PRIMARY KEY (mark, memory)
) WITHOUT ROWID;
