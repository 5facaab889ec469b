"""Groups of memories that links hold together, under one reader's lens."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from memory_mesh.model import Lens, Link
from memory_mesh.model.graph import Cluster, Clusters
from memory_mesh.text import analyzer
from memory_mesh.write.access import Access

MOST_TERMS = 4  # that name a cluster
_LONGEST = 24  # characters of a word that is shown whole
_WORD = re.compile(r"[^\W_][\w'\u2019-]*[^\W_]|[^\W_]")

MOST_LINKS = 50_000  # that are read, those of the newest memories
MOST_READ = 30  # memories of a cluster whose texts name it, the newest


def clusters(
    access: Access,
    lens: Lens,
    *,
    min_size: int,
    min_similarity: float,
    limit: int,
    types: Sequence[str] = (),
) -> Clusters:
    """The largest groups first, each named by words that set it apart from the others."""
    with access.ledger.read(access.namespace) as snapshot:
        links = snapshot.edges(lens, types=types, least=min_similarity, limit=MOST_LINKS + 1)
        groups = [(members(group), group) for group in components(links[:MOST_LINKS])]
        large = [each for each in groups if len(each[0]) >= min_size]
        large.sort(key=lambda each: -len(each[0]))
        shown = large[:limit]
        read = [[memory.text for memory in snapshot.get(ids[:MOST_READ], lens)] for ids, _ in shown]
    named = zip(shown, telling_terms(read), strict=True)
    found = (Cluster(", ".join(terms), terms, ids, len(group)) for (ids, group), terms in named)
    return Clusters(found, cut=len(links) > MOST_LINKS or len(large) > limit)


# Finds groups of memories that links hold together, and names them. Pure: no I/O.


def components(links: Iterable[Link]) -> list[list[Link]]:
    """The links of each group of memories that they connect, in the order of their first link."""
    leader: dict[str, str] = {}

    def lead(id_: str) -> str:
        while leader.setdefault(id_, id_) != id_:
            leader[id_] = leader[leader[id_]]
            id_ = leader[id_]
        return id_

    held = list(links)
    for link in held:
        leader[lead(link.target)] = lead(link.source)
    groups: dict[str, list[Link]] = {}
    for link in held:
        groups.setdefault(lead(link.source), []).append(link)
    return list(groups.values())


def members(links: Iterable[Link]) -> tuple[str, ...]:
    """The memories that links join, each once."""
    return tuple(dict.fromkeys(id_ for link in links for id_ in (link.source, link.target)))


def telling_terms(groups: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Of each group of texts the words that many of its texts have and few of the others.

    A word counts by its stem, and is shown as the group writes it most often.
    """
    read = [[_stems(text) for text in texts] for texts in groups]
    texts = sum(len(group) for group in read)
    holding = Counter(stem for group in read for words in group for stem in words)
    return [_named(group, holding, texts) for group in read]


def _named(
    group: Sequence[Mapping[str, Counter[str]]], holding: Counter[str], texts: int
) -> tuple[str, ...]:
    """The best words of one group, best first; words that one text alone has come last."""
    counts = Counter(stem for words in group for stem in words)
    forms: dict[str, Counter[str]] = {}
    for words in group:
        for stem, written in words.items():
            forms.setdefault(stem, Counter()).update(written)
    shared = [stem for stem, count in counts.items() if count > 1] or list(counts)
    worth = {stem: counts[stem] * math.log((texts + 1) / holding[stem]) for stem in shared}
    best = sorted(shared, key=lambda stem: (-worth[stem], stem))[:MOST_TERMS]
    return tuple(min(forms[stem].items(), key=lambda pair: (-pair[1], pair[0]))[0] for stem in best)


def _stems(text: str) -> dict[str, Counter[str]]:
    """The stems of a text's telling words, each with the words that it stands for."""
    found: dict[str, Counter[str]] = {}
    for word in _WORD.findall(text):
        stems = analyzer.terms(word)
        long = len(word) > _LONGEST  # a line of a script without spaces
        for stem in stems if long else stems[:1]:
            if any(char.isalpha() for char in stem) and not _says_nothing(word):
                found.setdefault(stem, Counter())[stem if long else word.lower()] += 1
    return found


def _says_nothing(word: str) -> bool:
    """True for a stop word, also with its apostrophe."""
    return word.lower().replace("'", "").replace("\u2019", "") in analyzer.STOP_WORDS
