-- Rows carry a checksum, blocks are packed, and a small file has no indexes that it does not need.

PRAGMA application_id = 1296921448;  -- "MMsh"
UPDATE store SET min_writer = 11;  -- an earlier one would write rows without checksums
UPDATE store SET min_reader = 11;  -- an earlier one does not know packed blocks

-- CRC-32 of the row's values as ledgers/shared/sums.py lists them.
ALTER TABLE memory ADD COLUMN crc INTEGER;
ALTER TABLE text ADD COLUMN crc INTEGER;
ALTER TABLE version ADD COLUMN crc INTEGER;
ALTER TABLE observation ADD COLUMN crc INTEGER;
ALTER TABLE link ADD COLUMN crc INTEGER;
ALTER TABLE vector ADD COLUMN crc INTEGER;
ALTER TABLE skill ADD COLUMN crc INTEGER;
ALTER TABLE skill_vector ADD COLUMN crc INTEGER;
ALTER TABLE conflict ADD COLUMN crc INTEGER;
ALTER TABLE proposal ADD COLUMN crc INTEGER;
ALTER TABLE predicate ADD COLUMN crc INTEGER;
ALTER TABLE tombstone ADD COLUMN crc INTEGER;
ALTER TABLE memory ADD COLUMN tally INTEGER;          -- the same of its counters

-- Packed by keeping/packing.py. A position is used once, so that a fork is still impossible; that
-- prev_hash is unique as well said nothing more and took a tenth of a small file.
CREATE TABLE packed_block (
    position INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    seq INTEGER NOT NULL,
    operation TEXT NOT NULL,
    agent TEXT,
    at INTEGER NOT NULL,
    memories TEXT NOT NULL,
    wire BLOB,
    salt BLOB,
    erased INTEGER NOT NULL DEFAULT 0,
    metadata BLOB,
    digest BLOB NOT NULL,
    prev_hash BLOB NOT NULL,
    hash BLOB NOT NULL
);
INSERT INTO packed_block SELECT position, id, seq, operation, agent, at, memories,
    packed(wire, memories, at), salt, erased, packed(metadata, memories, at), digest, prev_hash, hash
    FROM block;
DROP TABLE block;
ALTER TABLE packed_block RENAME TO block;

-- Each of these takes a page when it is empty; indexes.sql makes them once the file has grown.
DROP INDEX text_hash;
DROP INDEX text_echo;
CREATE INDEX text_hash ON text (substr(hash, 1, 3));
CREATE INDEX text_echo ON text (substr(echo, 1, 3)) WHERE echo IS NOT NULL;
DROP INDEX version_memory;
DROP INDEX version_valid_from;
DROP INDEX version_valid_until;
DROP INDEX version_pattern;
DROP INDEX version_severity;
DROP INDEX version_claim;
DROP INDEX version_exclusive;
DROP INDEX version_waiting;
DROP INDEX version_origin;
DROP INDEX version_label;
DROP INDEX version_pinned;
DROP INDEX observation_memory;
DROP INDEX link_target;
DROP INDEX recall_at;
DROP INDEX skill_name;
DROP INDEX skill_reliability;
DROP INDEX conflict_pending;
DROP INDEX conflict_new;
DROP INDEX conflict_existing;
DROP INDEX session_write_audience;
DROP INDEX session_write_at;
DROP INDEX proposal_pending;
DROP INDEX proposal_memory;
DROP INDEX injection_at;
DROP INDEX injected_memory;
