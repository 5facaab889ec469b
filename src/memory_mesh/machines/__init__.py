"""One person's machines in step: records of changes, exchanged through a shared folder."""
