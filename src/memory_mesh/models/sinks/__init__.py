"""Sinks: receive the blocks of every write at least once."""
