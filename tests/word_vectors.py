"""Cheap embedders for tests of several models: a text's vector counts its words by their hash."""

import time
from array import array
from collections.abc import Sequence
from hashlib import blake2b

from memory_mesh.model import Embedding, Space
from memory_mesh.model.errors import TextRefused


class WordVectors:
    """Texts with common words are near; two models of different names hash differently."""

    def __init__(self, name: str, dimension: int = 32, *, refused: str = "") -> None:
        """A text that holds `refused` is not taken."""
        self.space = Space("words", name, "1", dimension, 512)
        self.texts: list[str] = []  # that were embedded, without questions
        self.pause = 0.0  # seconds that each call with texts takes
        self._refused = refused

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """The same vector for the same text, always."""
        if self._refused and any(self._refused in text for text in texts):
            raise TextRefused("not this text")
        if not query:
            self.texts += texts
            time.sleep(self.pause)
        return Embedding(self.space, tuple((self._vector(text),) for text in texts))

    def close(self) -> None:
        """Nothing to release."""

    def _vector(self, text: str) -> bytes:
        counts = [0.001] * self.space.dimension
        for word in text.lower().split():
            digest = blake2b(f"{self.space.model} {word}".encode(), digest_size=2).digest()
            counts[int.from_bytes(digest) % self.space.dimension] += 1.0
        length = sum(count * count for count in counts) ** 0.5
        return array("f", [count / length for count in counts]).tobytes()
