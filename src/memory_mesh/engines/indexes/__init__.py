"""Vector indexes: what was absorbed from the ledger, made fast; lost without loss, built anew."""
