-- When each session was written to, so that its memories can expire; and how far votes may move a memory.

UPDATE store SET min_writer = 7;  -- an earlier one would not record when a session is written to

CREATE TABLE session_write (
    session TEXT NOT NULL,
    project TEXT,
    agent TEXT,
    at INTEGER NOT NULL
);
INSERT INTO session_write
    SELECT session, project, agent, recorded_from FROM version WHERE session IS NOT NULL
    UNION SELECT v.session, v.project, v.agent, o.at FROM observation o
        JOIN version v ON v.memory = o.memory AND v.recorded_until IS NULL
        WHERE v.session IS NOT NULL;
CREATE INDEX session_write_audience ON session_write (session, project, agent, at);
CREATE INDEX session_write_at ON session_write (at);

-- Votes that are counted and do not move the memory's trust.
ALTER TABLE memory ADD COLUMN idle_reinforcements INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memory ADD COLUMN idle_disputes INTEGER NOT NULL DEFAULT 0;
-- The steps that channels other than the user's have taken: 1 helpful, 2 harmful, 4 true, 8 false.
ALTER TABLE memory ADD COLUMN other_steps INTEGER NOT NULL DEFAULT 0;
