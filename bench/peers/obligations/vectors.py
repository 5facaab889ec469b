"""Vectors of words for systems that cannot search without vectors: no model, no network."""

import hashlib
import math
import re

DIMENSION = 256


def of(text: str) -> list[float]:
    """The words of a text, each in the place that its hash names; of length 1."""
    vector = [0.0] * DIMENSION
    for word in re.findall(r"\w+", text.casefold()):
        vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % DIMENSION] += 1.0
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]
