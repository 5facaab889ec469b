"""Decisions about writes: drafts, limits, trust, duplicates, contradictions, audit."""
