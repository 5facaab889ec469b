"""Parts of the process that flows and engines share: clock, ids, cache, keys, locks, files."""
