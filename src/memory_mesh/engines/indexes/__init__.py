"""Vector indexes; they can be deleted and rebuilt from the ledger."""
