"""Steps and bounds of the votes on whether a memory was of use. They touch ranking only."""

HELPFUL, HARMFUL = 1.1, 0.5
LEAST_USEFUL, MOST_USEFUL = 0.1, 2.0
