"""The truth on disk: one Ledger per engine, all held to one suite in tests/contract."""
