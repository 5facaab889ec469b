-- Subjects of claims and what a profile is made of get indexes, where a file has grown.

UPDATE store SET min_writer = 14;  -- an earlier one would let a file grow without them
