"""Stores of others, read and written: what comes in goes through the same doors as everything."""
