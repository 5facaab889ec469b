"""Synonyms: k8s and Kubernetes, PR and pull request, Bob and Robert.

One line of `synonyms.txt` is one thing. A name that means something else too carries a question
mark: it counts half. A name of several words stands for the thing where its words stand close
together.
"""

from collections.abc import Sequence
from functools import lru_cache

from memory_mesh.base.word_files import text_beside
from memory_mesh.text import analyzer

_DOUBTFUL = 0.5
_SPREAD = 2  # other words that a question may have between the words of a name

_STEM = 3  # letters; no shorter word is stemmed


def expand(terms: Sequence[str]) -> dict[str, tuple[analyzer.Other, ...]]:
    """Returns the synonyms of each term that is, or is part of, a known name."""
    place = {term: at for at, term in enumerate(terms)}
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for term in terms:
        for name, others in _begun_by(term):
            if not _close(name, place):
                continue
            for word in name:
                weights = found.setdefault(word, {})
                for other in others:
                    weights[other.words] = max(other.weight, weights.get(other.words, 0.0))
    return {
        term: tuple(
            analyzer.Other(words, weight) for words, weight in weights.items() if term not in words
        )
        for term, weights in found.items()
    }


def _close(name: Sequence[str], place: dict[str, int]) -> bool:
    """True if the question contains all words of a name close together."""
    at = [place[word] for word in name if word in place]
    return len(at) == len(name) and max(at) - min(at) < len(name) + _SPREAD


@lru_cache(maxsize=4096)
def _begun_by(term: str) -> tuple[tuple[tuple[str, ...], tuple[analyzer.Other, ...]], ...]:
    """Returns the names whose first term it is, with their synonyms.

    Only the lines that may hold one are read: reading them all takes as long as a search.
    """
    begun = f" {term[:-1] if len(term) > _STEM else term}"
    return tuple(
        (
            name.words,
            (
                tuple(
                    analyzer.Other(other.words, min(name.weight, other.weight))
                    for other in group
                    if other.words != name.words
                )
            ),
        )
        for line in _lines()
        if begun in line
        for group in (_group(line),)
        for name in group
        if name.words[0] == term
    )


@lru_cache(maxsize=1)
def _lines() -> tuple[str, ...]:
    """Returns the groups as they are written, each name after a blank."""
    return tuple(f" {line}" for line in text_beside(__file__, "synonyms.txt").split("\n") if line)


@lru_cache(maxsize=1024)
def _group(line: str) -> tuple[analyzer.Other, ...]:
    return tuple(_name(written) for written in line.strip().split(", "))


def _name(written: str) -> analyzer.Other:
    words = tuple(analyzer.query_terms(written.rstrip("?")))
    return analyzer.Other(words, _DOUBTFUL if written.endswith("?") else 1.0)
