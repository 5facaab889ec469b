-- Before this step the file is written anew with small pages, if no other program has it open.

UPDATE store SET min_writer = 12;
