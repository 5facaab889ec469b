"""Memories to measure with: the texts of `bench.corpus` as people store them, the same everywhere.

Every thousand memories hold the same mixture: conversations in sessions (order, two speakers),
single facts, Markdown notes and documents, in 100 projects of unequal sizes, each with a team (one
of 100) and a priority as metadata. Two readers are exact at every size: one of project ONE_PERCENT
sees 1 % of all memories, one of THIRD_PERCENT sees 0.3 %; both see the 0.1 % of no project.

Vectors are made from a hash of the text: clustered, of length 1, the same in every process.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from bench import corpus
from memory_mesh.model import Embedding, Scope, Space

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_mesh.model.ports import Embedder

VERSION = 1  # of the mixture: a store of another one is loaded anew
ONE_PERCENT, THIRD_PERCENT = "one-percent", "third-percent"
TEAMS = 100
DIMENSION = 384
SPACE = Space("bench", "made", "1", DIMENSION, 256)

_BLOCK = corpus.BLOCK
_OTHERS = tuple(f"project-{number:02}" for number in range(98))
_WEIGHTS = tuple(1 / (rank + 3) for rank in range(len(_OTHERS)))
_DOCUMENTS_FROM = 50_000 * _BLOCK  # texts that no memory of its own has
_DOCUMENT_TEXTS = 4
_RARE = slice(20_000, 50_000)  # of the vocabulary, from frequent to rare
_KINDS = ("fact", "fact", "fact", "decision", "preference", "event", "finding", "task", "insight")
_NAMES = "Ann Ben Cara Dan Eve Finn Gina Hal Iris Jon Kim Leo Mia Ned Olga Paul Rosa Sam Tess"
_SPEAKERS = _NAMES.split()
_FIRST_DAY = datetime(2026, 1, 5, 9, tzinfo=UTC)
_CLUSTERS = 2_000
_SPREAD = 0.6  # of a text around its cluster; neighbours then have a cosine of about 0.7


@dataclass(frozen=True, slots=True)
class Unit:
    """Memories that belong together: a session with its turns, or a single text."""

    form: str  # session, fact, note or document
    project: str | None
    rows: int = 1


def items(first: int, last: int, seed: int = corpus.SEED) -> Iterator[dict[str, Any]]:
    """Memories number `first` up to and without `last`, as `add_many` takes them."""
    for block in range(first // _BLOCK, -(-last // _BLOCK)):
        start = block * _BLOCK
        for offset, item in enumerate(_block(block, seed)):
            if first <= start + offset < last:
                yield item


def rare_questions(count: int, memories: int, seed: int = corpus.SEED) -> list[str]:
    """Questions of two rare words that stand together in one of so many memories."""
    chance = random.Random(f"{seed} rare questions {memories}")
    rare = set(corpus.vocabulary(seed)[_RARE]) - set(corpus.FUNCTION_WORDS)
    asked: dict[str, None] = {}
    block = 0
    while len(asked) < count:
        start = (block * 7 * _BLOCK) % max(memories, 1)
        for text in corpus.texts(start, min(memories, start + 200), seed):
            words = sorted({word.strip(".").lower() for word in text.split()} & rare)
            if len(words) >= 2:
                asked[" ".join(chance.sample(words, 2))] = None
        block += 1
        if block > 2 * count:
            break
    return list(asked)[:count]


class Made:
    """An embedder for measurements: clustered vectors from a hash of each text."""

    def __init__(self, paid: "Embedder | None" = None) -> None:
        """With `paid`, a question also goes through that model, whose vector is not used."""
        self._paid = paid

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """One vector for each text."""
        if query and self._paid is not None:
            self._paid.embed(texts, query=True)
        return Embedding(SPACE, tuple((row.tobytes(),) for row in vectors(texts)))

    def close(self) -> None:
        """Nothing to release: whoever made the model closes it."""


def vectors(texts: Sequence[str]) -> "NDArray[np.float32]":
    """A row for each text, of length 1."""
    import numpy as np

    rows = np.empty((len(texts), DIMENSION), np.float32)
    centres = _centres()
    for place, text in enumerate(texts):
        digest = blake2b(text.encode(), digest_size=8).digest()
        chance = np.random.default_rng(int.from_bytes(digest, "little"))
        noise = chance.standard_normal(DIMENSION, np.float32)
        rows[place] = centres[chance.integers(_CLUSTERS)] + _SPREAD * noise / np.sqrt(DIMENSION)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype("<f4")


@cache
def _centres() -> "NDArray[np.float32]":
    import numpy as np

    chance = np.random.default_rng(corpus.SEED)
    centres = chance.standard_normal((_CLUSTERS, DIMENSION), np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    return centres


def _block(number: int, seed: int) -> Iterator[dict[str, Any]]:
    chance = random.Random(f"{seed} memories {number}")
    start = number * _BLOCK
    texts = corpus.texts(start, start + _BLOCK, seed)
    longer = corpus.texts(_DOCUMENTS_FROM + start, _DOCUMENTS_FROM + start + _BLOCK, seed)
    for place, unit in enumerate(_units(chance)):
        session = f"session-{number}-{place}" if unit.form == "session" else None
        speakers = chance.sample(_SPEAKERS, 2)
        began = _FIRST_DAY + timedelta(minutes=3 * number, hours=place)
        for turn in range(unit.rows):
            item: dict[str, Any] = {
                "content": _shaped(unit.form, next(texts), longer),
                "scope": Scope(unit.project, None, session),
                "kind": chance.choice(_KINDS),
                "metadata": {
                    "team": f"team-{chance.randrange(TEAMS):02}",
                    "priority": chance.randrange(10),
                },
            }
            if session is not None:
                item["order"] = turn
                item["speaker"] = speakers[turn % 2]
                item["role"] = ("user", "assistant")[turn % 2]
                item["occurred_at"] = (began + timedelta(minutes=turn)).isoformat()
            yield item


def _units(chance: random.Random) -> list[Unit]:
    """The units of a thousand memories: exact shares for the readers that are measured."""
    units = [Unit("session", ONE_PERCENT, 6), *(Unit("fact", ONE_PERCENT) for _ in range(3))]
    units += [Unit("note", THIRD_PERCENT), Unit("fact", THIRD_PERCENT), Unit("fact", None)]
    left = _BLOCK - sum(unit.rows for unit in units)
    while left:
        form = chance.choices(("session", "fact", "note", "document"), (10, 63, 21, 6))[0]
        rows = min(left, chance.randint(6, 24)) if form == "session" else 1
        project = chance.choices(_OTHERS, _WEIGHTS)[0]
        units.append(Unit(form, project, rows))
        left -= rows
    chance.shuffle(units)
    return units


def _shaped(form: str, text: str, longer: Iterator[str]) -> str:
    """A text as it is, as a Markdown note, or as a document of several paragraphs."""
    if form == "note":
        title, *lines = text.rstrip(".").split(". ")
        return f"## {title}\n\n" + "\n".join(f"- {line}" for line in lines or [title])
    if form == "document":
        paragraphs = [next(longer) for _ in range(_DOCUMENT_TEXTS)]
        return f"# {text.partition('.')[0]}\n\n" + "\n\n".join(paragraphs)
    return text
