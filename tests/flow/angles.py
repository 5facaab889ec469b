"""An embedder whose cosines a test states: each text names the angle of its vector."""

import math
import re
from array import array
from collections.abc import Sequence

from memory_mesh.model import Embedding, Space

SPACE = Space("test", "angles", "1", 2, 256)


class Angles:
    """Gives "… 30" the vector at 30 degrees; a text without a number points to 180."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """One vector for each text."""
        return Embedding(SPACE, tuple((_vector(text),) for text in texts))

    def close(self) -> None:
        """Nothing to release."""


def _vector(text: str) -> bytes:
    named = re.search(r"\d+", text)
    angle = math.radians(int(named.group()) if named else 180)
    return array("f", [math.cos(angle), math.sin(angle)]).tobytes()
