-- Claims are filed, and echoes known, by what a reader sees of their words.

UPDATE store SET min_writer = 10;  -- an earlier one would file claims past those of today

UPDATE version SET
    subject = claim_key(subject),
    predicate = claim_key(predicate),
    claim = json_set(claim, '$.subject', claim_key(subject), '$.predicate', claim_key(predicate))
    WHERE subject IS NOT NULL
    AND (subject <> claim_key(subject) OR predicate <> claim_key(predicate));
UPDATE OR IGNORE predicate SET name = claim_key(name) WHERE name <> claim_key(name);
UPDATE text SET echo = echo_of(content) WHERE content GLOB '*[^ -~]*';
