"""The truth on disk: one Ledger per engine, all held to `memory_mesh.testing.LedgerContract`."""
