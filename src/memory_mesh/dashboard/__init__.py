"""The page: what a store knows, what it said and why, and what to do about it."""
