"""Computes the reliability of a skill."""

START, SUCCESS, FAILURE = 0.5, 0.10, -0.20  # reliability


def relied(reliability: float, *, success: bool) -> float:
    """Returns the reliability after one more use, from 0 to 1; at 0 it stays 0."""
    if reliability <= 0.0:
        return 0.0
    return round(max(0.0, min(1.0, reliability + (SUCCESS if success else FAILURE))), 10)
