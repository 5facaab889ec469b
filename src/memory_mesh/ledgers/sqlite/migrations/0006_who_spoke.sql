-- Whether a writer stated the source kind, or it was read from role, speaker and source.

UPDATE store SET min_writer = 6;  -- an earlier one would go on writing rows without it

-- NULL: stored before this was recorded; the library wrote user_explicit then if nothing was stated.
ALTER TABLE version ADD COLUMN source_stated INTEGER;
