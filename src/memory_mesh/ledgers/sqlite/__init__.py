"""The SQLite ledger: one file per namespace, one transaction per write, any number of processes."""
