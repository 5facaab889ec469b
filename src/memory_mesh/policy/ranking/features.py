"""Computes the features of ranking: numbers for each candidate, about -1 to 1 each.

::

    candidates and their neighbours ──▶ words   BM25 over previous + own terms, how much is covered
                                    ├─▶ meaning cosine of its own, of the turn before and after
                                    ├─▶ people  said by whom the question names, by user or agent
                                    ├─▶ place   how good its session is, how recent it is
                                    └─▶ form    how long it is, how it is dated

Relative numbers (1 for the best candidate) order the candidates of one question; absolute ones
(cosine, share of the question covered) say whether any of them answers it at all.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from memory_mesh.fastdataclass import dataclass
from memory_mesh.model import Matches, Placed
from memory_mesh.policy.ranking.question import Reading, names_speaker
from memory_mesh.policy.text import analyze
from memory_mesh.typed import TypeAlias

Column: TypeAlias = list[float]
Places: TypeAlias = list[int]  # of a neighbour in the table; -1 for none

NAMES = (
    "keyword", "keyword_own", "keyword_before", "keyword_after", "covered", "covered_before",
    "covered_around", "pairs", "meaning", "meaning_mixed", "meaning_before", "meaning_after",
    "opening", "cosine", "speaker", "other_speaker", "role", "dated", "in_period",
    "tagged", "length", "session", "recency", "time_words", "keyword_rank", "meaning_rank",
)  # fmt: skip
K1, B = 1.2, 0.75
GUARD = 64  # terms: a longer turn before adds nothing but noise
BEFORE, AFTER = 0.3, 0.2  # share of the neighbours' cosines in the mixed one
_BEST_OF_SESSION = 3
_RANKS = 100
_LAST_DAY = 253_402_300_799.0  # the calendar's; a float rounds the last microseconds of it up
_TIME_WORDS = frozenset(
    (  # noqa: SIM905  # a list of forty would fill a page
        "yesterday today tonight tomorrow ago last next week weekend month year day sinc recent "
        "monday tuesday wednesday thursday friday saturday sunday januari februari march april "
        "may june juli august septemb octob novemb decemb summer winter spring fall autumn soon"
    ).split()
)
_ROLES = {"user": 1.0, "human": 1.0, "assistant": -1.0, "agent": -1.0, "tool": -1.0}
_MONTHS = (
    "januari", "februari", "march", "april", "may", "june",
    "juli", "august", "septemb", "octob", "novemb", "decemb",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Evidence:
    """What ranking looks at: the question, what the keyword search found, the candidates."""

    reading: Reading
    matches: Matches
    placed: Mapping[int, Placed]


@dataclass(frozen=True, slots=True)
class Table:
    """The features of all candidates, one row each, and their usefulness."""

    versions: tuple[int, ...] = ()
    rows: tuple[tuple[float, ...], ...] = ()
    usefulness: tuple[float, ...] = ()

    def told(self, position: int) -> dict[str, float]:
        """Returns the features of one candidate that are not 0."""
        found = zip(NAMES, self.rows[position], strict=True)
        return {name: round(value, 4) for name, value in found if value}


def table(evidence: Evidence) -> Table:
    """Computes the features of every candidate."""
    reading, matches, placed = evidence.reading, evidence.matches, evidence.placed
    if not placed:
        return Table()
    rows = list(placed.values())
    at = {row.version: position for position, row in enumerate(rows)}
    before = [at.get(row.before or 0, -1) for row in rows]
    after = [at.get(row.after or 0, -1) for row in rows]
    columns = _by_words(reading, matches, rows, before, after)
    columns |= _by_meaning(rows, before, after)
    columns |= _by_people(reading, rows)
    columns |= _by_time(reading, rows)
    columns["session"] = _by_session(rows, columns)
    columns["keyword_rank"] = _ranks(columns["keyword"])
    columns["meaning_rank"] = _ranks(columns["meaning_mixed"])
    listed = tuple(zip(*(columns[name] for name in NAMES), strict=True))
    return Table(tuple(at), listed, tuple(row.usefulness for row in rows))


def _by_words(
    reading: Reading, matches: Matches, rows: Sequence[Placed], before: Places, after: Places
) -> dict[str, Column]:
    texts = [f" {row.terms} " for row in rows]
    lengths = [text.count(" ") - 1 for text in texts]
    near = [b if b >= 0 and lengths[b] <= GUARD else -1 for b in before]
    joined = [
        length + (lengths[b] if b >= 0 else 0) for length, b in zip(lengths, near, strict=True)
    ]
    words = _Words(lengths, joined)
    for term in reading.terms:
        held = _counts(texts, term, reading.forms.get(term, ()))
        words.add(held, _idf(matches, term), near, before, after)
    own, whole = _highest(words.own), words.whole or 1.0
    return {
        "keyword": _highest(words.joined),
        "keyword_own": own,
        "keyword_before": _beside(own, before),
        "keyword_after": _beside(own, after),
        "covered": [share / whole for share in words.covered],
        "covered_before": [share / whole for share in words.covered_before],
        "covered_around": [share / whole for share in words.covered_around],
        "pairs": [min(count, 3) / 3 for count in words.pairs],
        "length": [math.log1p(length) / 8 for length in lengths],
        "tagged": [_tagged(reading, row) for row in rows],
    }


class _Words:
    """BM25 and coverage sums over the question's terms, for all candidates at once."""

    def __init__(self, lengths: Sequence[int], joined: Sequence[int]) -> None:
        count = len(lengths)
        self._norm, self._joined_norm = _norms(lengths), _norms(joined)
        self._last: list[float] = [0] * count
        self.whole = 0.0
        self.own, self.joined = [0.0] * count, [0.0] * count
        self.covered, self.covered_before = [0.0] * count, [0.0] * count
        self.covered_around, self.pairs = [0.0] * count, [0] * count

    def add(
        self, held: Sequence[float], idf: float, near: Places, before: Places, after: Places
    ) -> None:
        """Adds one term: its count in each text and its weight."""
        self.whole += idf
        for at, (own, b, a) in enumerate(zip(held, before, after, strict=True)):
            earlier = held[b] if b >= 0 else 0
            if own:
                self.own[at] += idf * own * (K1 + 1) / (own + self._norm[at])
                self.covered[at] += idf * min(own, 1)
                self.pairs[at] += 1 if self._last[at] else 0
            if own or earlier:
                share = idf * min(max(own, earlier), 1)
                self.covered_before[at] += share
                both = own + (earlier if near[at] >= 0 else 0)
                self.joined[at] += idf * both * (K1 + 1) / (both + self._joined_norm[at])
                self.covered_around[at] += share
            elif a >= 0 and held[a]:
                self.covered_around[at] += idf * min(held[a], 1)
        self._last = list(held)


def _by_meaning(rows: Sequence[Placed], before: Places, after: Places) -> dict[str, Column]:
    known = [row.cosine for row in rows if row.cosine is not None]
    if not known:
        names = (
            "meaning", "meaning_mixed", "meaning_before", "meaning_after", "opening", "cosine",
        )  # fmt: skip
        return dict.fromkeys(names, [0.0] * len(rows))
    low, spread = min(known), (max(known) - min(known)) or 1.0
    cosine = [low if row.cosine is None else row.cosine for row in rows]
    mixed = [
        own + (BEFORE * cosine[b] if b >= 0 else 0.0) + (AFTER * cosine[a] if a >= 0 else 0.0)
        for own, b, a in zip(cosine, before, after, strict=True)
    ]
    meaning = [(own - low) / spread for own in cosine]
    return {
        "meaning": meaning,
        "meaning_mixed": _spread(mixed),
        "meaning_before": _beside(meaning, before),
        "meaning_after": _beside(meaning, after),
        "opening": _spread([low if row.opening is None else row.opening for row in rows]),
        "cosine": [min(1.0, max(0.0, own)) for own in cosine],
    }


def _spread(values: Column) -> Column:
    """Scales the values from 0 (lowest) to 1 (highest)."""
    low, range_ = min(values), (max(values) - min(values)) or 1.0
    return [(value - low) / range_ for value in values]


def _by_people(reading: Reading, rows: Sequence[Placed]) -> dict[str, Column]:
    speaks = [float(names_speaker(reading.names, row.speaker)) for row in rows]
    named = bool(reading.names)
    return {
        "speaker": speaks,
        "other_speaker": [
            float(named and bool(row.speaker)) - speaks[at] for at, row in enumerate(rows)
        ],
        "role": [_ROLES.get((row.role or "").lower(), 0.0) for row in rows],
    }


def _by_time(reading: Reading, rows: Sequence[Placed]) -> dict[str, Column]:
    nothing = [0.0] * len(rows)
    oldest_first = sorted(range(len(rows)), key=lambda at: (rows[at].at, rows[at].version))
    found = dict.fromkeys(("recency", "time_words", "dated", "in_period"), nothing)
    found["recency"] = list(nothing)
    for place, at in enumerate(oldest_first):
        found["recency"][at] = (place + 1) / len(rows)
    if reading.about_time:
        told = (len(_TIME_WORDS.intersection(row.terms.split())) for row in rows)
        found["time_words"] = [min(count, 3) / 3 for count in told]
    wanted = {term for term in reading.terms if term.isdigit() or term in _MONTHS}
    if wanted:
        found["dated"] = [len(wanted & _date_terms(row.at)) / 3 for row in rows]
    if reading.period is not None:
        start, stop = reading.period.start.timestamp(), reading.period.stop.timestamp()
        found["in_period"] = [1.0 if start <= row.at < stop else -1.0 for row in rows]
    return found


def _by_session(rows: Sequence[Placed], columns: Mapping[str, Column]) -> Column:
    """Scores the best candidates of each session; 0 for a candidate without a session."""
    held: dict[str, list[float]] = {}
    for at, row in enumerate(rows):
        if row.session is not None:
            base = 0.4 * columns["keyword"][at] + 0.6 * columns["meaning_mixed"][at]
            held.setdefault(row.session, []).append(base + 0.15 * columns["speaker"][at])
    mean = {
        session: sum(sorted(scores, reverse=True)[:_BEST_OF_SESSION])
        for session, scores in held.items()
    }
    top = max(mean.values(), default=0.0) or 1.0
    return [mean.get(row.session or "", 0.0) / top for row in rows]


def _counts(texts: Sequence[str], term: str, forms: Sequence[tuple[str, float]]) -> Sequence[float]:
    """Counts a term in each text; synonyms count by their share."""
    own = f" {term} "
    if not forms:
        return [text.count(own) for text in texts]
    others = [(f" {form} ", share) for form, share in forms]
    return [
        text.count(own) + sum(share * text.count(other) for other, share in others)
        for text in texts
    ]


def _norms(lengths: Sequence[int]) -> Column:
    average = sum(lengths) / len(lengths) or 1.0
    return [K1 * (1 - B + B * length / average) for length in lengths]


def _idf(matches: Matches, term: str) -> float:
    held = min(matches.postings.get(term, 0), matches.rows)
    return math.log1p((matches.rows - held + 0.5) / (held + 0.5))


def _beside(values: Column, neighbour: Places) -> Column:
    return [values[at] if at >= 0 else 0.0 for at in neighbour]


def _highest(values: Column) -> Column:
    top = max(values, default=0.0)
    return [value / top for value in values] if top > 0 else values


def _ranks(values: Column) -> Column:
    """Returns ranks from 1 (best) to 0 (hundredth); equal values share a rank, 0 has none."""
    places: dict[float, float] = {}
    for place, value in enumerate(sorted(values, reverse=True)[:_RANKS]):
        places.setdefault(value, 1 - place / _RANKS)
    return [places.get(value, 0.0) if value > 0 else 0.0 for value in values]


def _tagged(reading: Reading, row: Placed) -> float:
    if not row.tags:
        return 0.0
    wanted = set(reading.terms)
    return float(any(wanted.issuperset(analyze.terms(tag)) for tag in row.tags if tag.strip()))


def _date_terms(at: float) -> set[str]:
    day = datetime.fromtimestamp(min(at, _LAST_DAY), UTC)
    return {str(day.year), _MONTHS[day.month - 1], str(day.day)}
