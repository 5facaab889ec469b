"""From a question to hits."""
