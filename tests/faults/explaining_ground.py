"""The ground that cases for `explain` are planted in: one small store each, with words of its own.

Every word is made up and four syllables long, so no word is another's plural, synonym or slip of
the pen, no text states a claim, and two texts share exactly the words that a case put into both.
"""

import hashlib
import math
import random
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memory_mesh.model import Embedding, Outcome, Scope, Space
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
PROFILES = ("mesh", "rrf", "composite", "lane")
READER = "reader"  # the agent that every mesh of a case reads as
_CONSONANTS, _VOWELS = "bdfgklmnprtvz", "aeiou"
_DIMENSION = 16
_NOT_OF_SEARCH = ("max_tokens", "see_across")


@dataclass(frozen=True)
class Case:
    """A store, a call of `explain`, and the gate that must be named; None: the search shows it."""

    name: str
    gate: str | None
    mesh: MemoryMesh
    id: str
    query: str
    asked: Mapping[str, Any] = field(default_factory=dict)
    unseen: bool = False  # it must look like an id that never existed
    other: str | None = None  # the memory that took its place

    def search_options(self) -> dict[str, Any]:
        """The options of the search that is explained."""
        return {name: value for name, value in self.asked.items() if name not in _NOT_OF_SEARCH}


class Axes:
    """Vectors as a case wants them; a text without a stated one gets one by its hash."""

    def __init__(self) -> None:
        self.space = Space("test", "axes", "1", _DIMENSION, 256)
        self.cosines: dict[str, float] = {}  # of texts to every question

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """A question is the first axis; a text stands as far from it as stated."""
        return Embedding(self.space, tuple((self._vector(text, query=query),) for text in texts))

    def close(self) -> None:
        """Nothing to release."""

    def _vector(self, text: str, *, query: bool) -> bytes:
        cosine = 1.0 if query else self.cosines.get(text, 0.0)
        own = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
        rest = [math.sin(own + number) for number in range(1, _DIMENSION)]
        length = math.sqrt(sum(part * part for part in rest))
        scale = math.sqrt(max(0.0, 1 - cosine * cosine)) / length
        return array("f", [cosine, *(part * scale for part in rest)]).tobytes()


class Ground:
    """One case's store, its clock, and words that nobody used before."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.chance, self.clock, self.axes = chance, FrozenClock(NOW - 60 * DAY), Axes()
        self._folder, self._used = folder, set[str]()
        self._opened: list[MemoryMesh] = []
        self.mesh: MemoryMesh

    def open(
        self, settings: Mapping[str, Any] | None = None, *, vectors: bool = False
    ) -> MemoryMesh:
        """Opens the store as the reader; with vectors or with words alone."""
        given = {"agent_id": READER, "session_days": 0, **(settings or {})}
        if vectors:
            given["custom_embedder"] = self.axes
        self.mesh = MemoryMesh(db_dir=self._folder, clock=self.clock, **given)
        self._opened.append(self.mesh)
        return self.mesh

    def close(self) -> None:
        """Closes the store."""
        for mesh in self._opened:
            mesh.close()

    def word(self) -> str:
        """A word that no other text of this store has, unless it is put there."""
        while True:
            pairs = (self.chance.choice(_CONSONANTS) + self.chance.choice(_VOWELS) for _ in "four")
            made = "".join(pairs) + self.chance.choice("kx")
            if all(_far(made, known) for known in self._used):
                self._used.add(made)
                return made

    def words(self, count: int) -> str:
        return " ".join(self.word() for _ in range(count))

    def add(self, text: str, **details: Any) -> str:
        """Stores a text for everybody who reads, unless a scope is given; its id."""
        self.clock.advance(timedelta(minutes=self.chance.randint(1, 500)))
        receipt = self.mesh.add(text, **({"scope": Scope()} | details))
        assert receipt.outcome in {Outcome.STORED, Outcome.QUARANTINED}, receipt
        assert receipt.id is not None
        return receipt.id

    def noise(self, count: int | None = None) -> None:
        """Memories about something else."""
        many = self.chance.randint(0, 6) if count is None else count
        for _ in range(many):
            self.add(self.words(self.chance.randint(3, 9)))

    def later(self) -> None:
        """The time comes at which the question is asked."""
        self.clock.set(NOW)


def question_of(ground: Ground) -> str:
    """One to four words that nobody used before."""
    return ground.words(ground.chance.randint(1, 4))


def _far(one: str, other: str) -> bool:
    """No slip of the pen leads from one to the other: most letters differ, and the beginnings."""
    return one[:3] != other[:3] and sum(a != b for a, b in zip(one, other, strict=True)) >= 5
