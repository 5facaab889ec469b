"""Steps and limits of the votes on usefulness, which affect ranking only."""

HELPFUL, HARMFUL = 1.1, 0.5
LEAST_USEFUL, MOST_USEFUL = 0.1, 2.0
