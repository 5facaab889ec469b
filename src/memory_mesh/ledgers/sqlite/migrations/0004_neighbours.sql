-- What was said before and after, at any time of record, and who ever spoke.

UPDATE store SET min_writer = 4;

DROP INDEX version_session;
CREATE INDEX version_session ON version (session, ord) WHERE session IS NOT NULL;
CREATE INDEX version_speaker ON version (speaker COLLATE NOCASE) WHERE speaker IS NOT NULL;
