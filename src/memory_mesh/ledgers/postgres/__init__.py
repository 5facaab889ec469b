"""The PostgreSQL ledger: many namespaces in one database, each behind row-level security."""
