"""Keyword search: rare words find, common words add to what was found. Engine-free.

::

    terms ── count ──▶ other names, spellings ──▶ one meaning a term
      ▼
    select by budget ─▶ kept (rare)        ──▶ BM25 over what they find ────────┐
                        dropped (common)   ──▶ + a word's weight, where held ───┴▶ best first
                                           ──▶ the newest that hold one, if more are wanted
      ▼
    versions(texts)                        what the lens sees, batch by batch

BM25 walks every list of a word to its end before it scores anything, and scoring a text costs a
microsecond: so neither is asked of common words, and the cost does not grow with the namespace.

A word may have other names, and one that no text holds may be misspelt. Texts with one of them
count too, each by its best name; where every word stands for itself, nothing more is asked. A
name or a spelling counts only where the reader sees a text with it: what a word is read as tells
nothing of others.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

from memory_mesh.base.typed import TypeAlias, dataclass
from memory_mesh.model import AllOf, AnyOf, Expression, Lens, Match, Matches, Name, Postings
from memory_mesh.model.ports import Keywords, Search
from memory_mesh.search.ranking import words as ranking_words
from memory_mesh.text import analyzer
from memory_mesh.text.analyzer import Other

Words: TypeAlias = tuple[str, ...]  # of one name
BATCH = 100  # candidates checked at a time, at least
RECENT = 1_000  # where every word is common, the newest texts that hold all of them are ranked
MOST_HEARD = 4  # common words that add to the score; the more common ones would add next to nothing
MOST_MISREAD = 3  # words of one question that are looked for among the stored ones


@dataclass(frozen=True, slots=True)
class Meaning:
    """A word as it is asked for: as it stands, or as any of its names by what each counts."""

    expression: Expression
    postings: int
    names: tuple[tuple[Expression, float], ...] = ()
    others: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()  # what each of the others counts beside the word itself


def match(
    search: Search, terms: Sequence[str], lens: Lens, limit: int, *, literal: bool = False
) -> Matches:
    """Returns the best versions among those the lens sees, best first.

    With `literal` every word means itself.
    """
    asked = _Asked(search.keywords(lens), limit)
    meanings = _literally(asked, terms) if literal else _meanings(search, asked, terms)
    postings = {term: meaning.postings for term, meaning in meanings.items()}
    if terms and not any(postings.values()):
        asked.ledger.none_held()
    chosen = ranking_words.select(terms, postings, asked.texts)
    found = _found(asked, _candidates(asked, chosen, meanings), limit) if asked.hopeful else {}
    return Matches(
        tuple(sorted(found.values(), key=lambda match: (-match.bm25, -match.version))[:limit]),
        chosen.ceiling,
        chosen.dropped,
        postings,
        asked.texts,
        read_as={term: meaning.others for term, meaning in meanings.items() if meaning.others},
        counts_as={term: meaning.shares for term, meaning in meanings.items() if meaning.others},
    )


class _Asked:
    """What was asked of the ledger for one question: no name and no text is asked for twice.

    A name is its words. Where all texts with one of the names are few, one look at them tells
    which names the reader knows, and which of the candidates are visible.
    """

    def __init__(self, ledger: Keywords, limit: int) -> None:
        self.ledger, self.limit = ledger, limit
        self.texts = ledger.texts()
        self._postings: dict[Words, Postings] = {}
        self._seen: dict[Words, bool] = {}
        self._versions: dict[int, list[int]] = {}
        self._all_looked_up = False

    def count(self, names: Iterable[Words]) -> None:
        """Asks how many texts hold each name."""
        new = [words for words in dict.fromkeys(names) if words not in self._postings]
        if new:
            asked = [Name(words) for words in new]
            found = self.ledger.postings(asked, exact=ranking_words.BUDGET, listed=self.limit)
            self._postings.update(zip(new, found, strict=True))
            self._all_looked_up = False

    def held(self, name: Words) -> int:
        """How many texts hold a name that was counted."""
        return self._postings[name].count

    def look(self, names: Iterable[Words]) -> None:
        """Asks which of the names, all counted, the reader knows."""
        new = [words for words in dict.fromkeys(names) if words not in self._seen]
        self._seen.update((words, False) for words in new)
        there = [words for words in new if self.held(words)]
        if not there:
            return
        if self._look_at_all():
            visible = {text for text, versions in self._versions.items() if versions}
            for words in there:
                self._seen[words] = not visible.isdisjoint(self._postings[words].texts or ())
        else:
            found = self.ledger.seen([Name(words) for words in there])
            self._seen.update(zip(there, found, strict=True))

    def seen(self, name: Words) -> bool:
        """Whether the reader sees a text with a name that was looked for."""
        return self._seen[name]

    @property
    def hopeful(self) -> bool:
        """False if all texts with one of the words were looked at, and the reader sees none."""
        return not self._all_looked_up or any(self._versions.values())

    def versions(self, texts: Iterable[int]) -> Mapping[int, Sequence[int]]:
        """The versions that the lens sees, by text; of a text that it does not see, none."""
        new = [text for text in texts if text not in self._versions]
        if new:
            self._versions.update((text, []) for text in new)
            for text, version in self.ledger.versions(new):
                self._versions[text].append(version)
        return self._versions

    def _look_at_all(self) -> bool:
        """Looks at all texts with one of the names, if they are few; else at none."""
        if not self._all_looked_up:
            texts: set[int] = set()
            for postings in self._postings.values():
                if postings.texts is None:
                    return False
                texts.update(postings.texts)
            if len(texts) > self.limit:
                return False
            self.versions(sorted(texts))
            self._all_looked_up = True
        return True


def _literally(
    asked: _Asked, terms: Sequence[str], also: Sequence[Words] = ()
) -> dict[str, Meaning]:
    """Each term as it stands; other names are counted with them."""
    asked.count([*((term,) for term in terms), *also])
    return {term: Meaning(Name((term,)), asked.held((term,))) for term in terms}


def _meanings(search: Search, asked: _Asked, terms: Sequence[str]) -> dict[str, Meaning]:
    """Each term with its other names; one that nobody knows with what it may be misspelt for."""
    from memory_mesh.text import synonyms  # a write has no use for them

    also = synonyms.expand(terms)
    named = [other.words for others in also.values() for other in others]
    found = _literally(asked, terms, named)
    asked.look([*((term,) for term in terms), *named])
    unknown = [term for term in found if not asked.seen((term,)) and term.isalpha()]
    search.expect(*(look for term in unknown[:MOST_MISREAD] for look in _like(asked.ledger, term)))
    misread = 0
    for term, meaning in found.items():
        if term in also:
            there = [other for other in also[term] if asked.seen(other.words)]
            found[term] = _with_others(asked, meaning, there)
        known = bool(found[term].others) or asked.seen((term,))
        if not known and misread < MOST_MISREAD and term.isalpha():
            misread += 1
            found[term] = _with_others(asked, found[term], _nearby(asked, term))
    return found


def _like(ledger: Keywords, term: str) -> Iterator[Callable[[], object]]:
    """What is asked for the stored words that begin like a term, or are spelt like it."""
    for letters in analyzer.beginnings(term):
        yield partial(ledger.beginning, letters)
    yield lambda: ledger.stored(analyzer.respelt(term))


def _nearby(asked: _Asked, term: str) -> "list[Other]":
    """What a term that no visible text holds may mean, the nearest first."""
    for letters in analyzer.beginnings(term):
        words = asked.ledger.beginning(letters)
        if found := _seen_among(asked, analyzer.stand_ins(term, words), analyzer.MAX_READINGS):
            return found
    spellings = analyzer.respelt(term)
    if not spellings:
        return []
    stored = analyzer.meant(asked.ledger.stored(spellings))
    return _seen_among(asked, stored, analyzer.MAX_READINGS)


def _seen_among(asked: _Asked, others: "Sequence[Other]", most: int) -> "list[Other]":
    """The first of the words that the reader sees, some looked for at a time."""
    found: list[Other] = []
    for start in range(0, len(others), most):
        batch = others[start : start + most]
        names = [other.words for other in batch]
        asked.count(names)
        asked.look(names)
        found += [other for other in batch if asked.seen(other.words)]
        if len(found) >= most:
            break
    return found[:most]


def _with_others(asked: _Asked, meaning: Meaning, others: "Sequence[Other]") -> Meaning:
    """The word with those of its other names that some text holds; a rare one stays rare."""
    there = [other for other in others if asked.held(other.words)]
    held, texts = meaning.postings, asked.texts
    postings = min(texts, held + sum(asked.held(other.words) for other in there))
    if not there or held > ranking_words.BUDGET or (held and postings > ranking_words.BUDGET):
        return meaning
    asked.count((word,) for other in there for word in other.words)
    weight = ranking_words.inverse_frequency(postings, texts)
    names = [(meaning.expression, 1.0)] if held else []
    for other in there:
        alone = _alone(asked, other.words)
        names.append((Name(other.words), other.weight * min(1.0, weight / alone)))
    return Meaning(
        AnyOf(tuple(name for name, _ in names)),
        postings,
        tuple(names),
        tuple(" ".join(other.words) for other in there),
        tuple(other.weight for other in there),
    )


def _alone(asked: _Asked, name: Words) -> float:
    """What BM25 gives the words of a name together."""
    counts = [asked.held((word,)) for word in name]
    return sum(
        ranking_words.inverse_frequency(min(count, asked.texts), asked.texts) for count in counts
    )


def _found(asked: _Asked, candidates: Iterator[tuple[int, float]], limit: int) -> dict[int, Match]:
    """The visible versions of the candidates, until there are enough."""
    found: dict[int, Match] = {}
    step = max(BATCH, limit)
    ahead, many = list[tuple[int, float]](), step
    while len(found) < limit:
        if not ahead:  # most of the batches before were hidden: more and more is looked up at once
            ahead = list(islice(candidates, many))
            asked.versions(text for text, _ in ahead)
            many *= 2
        batch, ahead = ahead[:step], ahead[step:]
        if not batch:
            break
        scores = dict(reversed(batch))  # of a text that comes twice the first score is the better
        versions = asked.versions(scores)
        for text, score in scores.items():
            for version in versions[text]:
                found.setdefault(version, Match(version, score))
    return found


def _candidates(
    asked: _Asked, chosen: ranking_words.Selection, meanings: Mapping[str, Meaning]
) -> Iterator[tuple[int, float]]:
    """Texts from best to worst; no more is ranked or read than is taken."""
    if not chosen.kept and not chosen.dropped:
        return
    best = _ranked(asked, chosen, meanings, asked.limit)
    yield from best
    if len(best) == asked.limit:  # some were not for this reader
        known = {text for text, _ in best}
        deeper = _ranked(asked, chosen, meanings, ranking_words.BUDGET)
        yield from (scored for scored in deeper if scored[0] not in known)
    below = best[-1][1] / 2 if best else math.inf  # nothing that was ranked comes after these
    for term in chosen.dropped:
        for text in asked.ledger.holding(meanings[term].expression):
            yield text, min(chosen.weights[term], below)


def _ranked(
    asked: _Asked, chosen: ranking_words.Selection, meanings: Mapping[str, Meaning], limit: int
) -> list[tuple[int, float]]:
    """The best texts that hold a rare word, or where none is rare, all words."""
    rare = [meanings[term] for term in chosen.kept]
    heard = [(meanings[term].expression, chosen.weights[term]) for term in chosen.dropped]
    if not rare:
        every = AllOf(tuple(expression for expression, _ in heard))
        return asked.ledger.best(every, deepest=RECENT, limit=limit)
    some = AnyOf(tuple(meaning.expression for meaning in rare))
    if any(meaning.names for meaning in rare):
        return _by_names(asked.ledger, rare, some, heard[:MOST_HEARD])[:limit]
    return asked.ledger.best(some, heard[:MOST_HEARD], deepest=ranking_words.BUDGET, limit=limit)


def _by_names(
    ledger: Keywords,
    meanings: Sequence[Meaning],
    some: AnyOf,
    heard: Sequence[tuple[Expression, float]],
) -> list[tuple[int, float]]:
    """All texts that hold a rare word, by the best name of each word."""
    scores: dict[int, float] = {}
    budget = ranking_words.BUDGET
    for meaning in meanings:
        best: dict[int, float] = {}
        for name, share in meaning.names or ((meaning.expression, 1.0),):
            for text, score in ledger.best(name, deepest=budget, limit=budget):
                best[text] = max(score * share, best.get(text, 0.0))
        for text, score in best.items():
            scores[text] = scores.get(text, 0.0) + score
    for expression, weight in heard:
        for text in ledger.holding(AllOf((some, expression))):
            scores[text] = scores.get(text, 0.0) + weight
    return sorted(scores.items(), key=lambda scored: (-scored[1], -scored[0]))
