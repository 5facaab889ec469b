"""Weights of search/ranking/updates.py, written by bench/training/updates.py."""

BIAS = -2.4829
WEIGHTS = {
    "adds": -1.0155,
    "asked of both": -0.1195,
    "asked of newer": 5.6805,
    "asked of older": -1.4481,
    "changes": 1.0568,
    "cosine": -5.4661,
    "fits the question": 0.4426,
    "guesses": 0.1130,
    "longer": 0.6307,
    "might change": 0.4206,
    "name of newer": 2.3614,
    "name of older": -0.5245,
    "restricts": -0.2810,
    "same beginning": -0.3254,
    "same but a value": 2.1505,
    "shared": 0.5210,
    "was a guess": 0.2022,
    "was past": -0.5287,
}
