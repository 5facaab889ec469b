-- Which analyzer wrote the keyword terms; 0 is not known, and the first write says which.

UPDATE store SET min_writer = 5;  -- an earlier one would go on writing the terms of its own analyzer

ALTER TABLE store ADD COLUMN analyzer INTEGER NOT NULL DEFAULT 0;
-- Texts and skills up to these numbers have terms of an earlier analyzer; 0: none has.
ALTER TABLE store ADD COLUMN old_texts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN old_skills INTEGER NOT NULL DEFAULT 0;
