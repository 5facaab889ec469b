"""Sentences from agent life with personal data or secrets in them, and as many without.

Everything is generated from one seed, and was fixed before any rule was written. A positive carries
the raw value, so a test can ask whether all of it is gone. The digest of a text decides whether it
belongs to the half that rules were written with or to the half that is only reported.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from random import Random

from tests.corpora.credentials import credentials
from tests.corpora.harmless import harmless
from tests.corpora.personal import personal
from tests.corpora.surroundings import embed
from tests.corpora.value import Value

SEED = 20_260_711


@dataclass(frozen=True, slots=True)
class Case:
    """One text; `raw` is what must not survive in it, and nothing in a text without."""

    kind: str
    text: str
    raw: str = ""

    @property
    def reported(self) -> bool:
        """It belongs to the half that no rule was written with."""
        return sha256(self.text.encode()).digest()[0] % 2 == 1


@cache
def positives(seed: int = SEED) -> tuple[Case, ...]:
    """Every text that holds something to redact."""
    return tuple(_cases(seed, personal)) + tuple(_cases(seed, credentials))


@cache
def negatives(seed: int = SEED) -> tuple[Case, ...]:
    """Every text that must come out as it went in."""
    return tuple(Case(kind, text) for kind, text in harmless(Random(seed)))


def _cases(seed: int, values: Callable[[Random], Iterator[Value]]) -> Iterator[Case]:
    rng = Random(seed)
    seen = set()
    for value in values(rng):
        text = embed(rng, value)
        if text not in seen:
            seen.add(text)
            yield Case(value.kind, text, value.raw)
