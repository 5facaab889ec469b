"""Weights of policy/ranking/updates.py, written by bench/training/updates.py."""

BIAS = -2.4473
WEIGHTS = {
    "adds": -1.0152,
    "asked of both": -0.1049,
    "asked of newer": 5.7068,
    "asked of older": -1.4522,
    "changes": 1.0659,
    "cosine": -5.4312,
    "fits the question": 0.7132,
    "guesses": 0.1009,
    "longer": 0.5974,
    "might change": 0.4349,
    "name of newer": 2.3532,
    "name of older": -0.5030,
    "restricts": -0.2756,
    "same beginning": -0.3280,
    "same but a value": 2.1466,
    "shared": 0.5147,
    "was a guess": 0.1995,
    "was past": -0.5585,
}
