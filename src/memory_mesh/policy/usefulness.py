"""Votes on whether a memory was of use: exact steps, within bounds. They touch ranking only."""

HELPFUL, HARMFUL = 1.1, 0.5
LEAST_USEFUL, MOST_USEFUL = 0.1, 2.0


def voted(usefulness: float, *, helpful: bool) -> float:
    """The usefulness after one more vote."""
    step = HELPFUL if helpful else HARMFUL
    return min(MOST_USEFUL, max(LEAST_USEFUL, usefulness * step))
