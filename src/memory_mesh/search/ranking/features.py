"""Computes the features of ranking: numbers for each candidate, about -1 to 1 each.

::

    candidates and their neighbours ──▶ words   BM25, how much of the question is covered (`words`)
                                    ├─▶ meaning cosine of its own, with the turns around it
                                    ├─▶ people  said by whom the question names, by user or agent
                                    └─▶ place   when it was said, how good its session is

Most are absolute: they do not change with what else is stored. A few compare with the best
candidate of the question.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.model import Matches, Placed
from memory_mesh.search.ranking.words import Column, Places, by_words
from memory_mesh.text.embedding_models import Traits
from memory_mesh.text.question import Reading, names_speaker

NAMES = (
    "keyword", "keyword_own", "covered", "covered_before", "covered_around", "covered_passage",
    "guessed", "exact", "cosine", "cosine_mixed", "nearest", "nearest_mixed", "meaning", "speaker",
    "other_speaker", "role", "dated", "in_period", "time_words", "session",
)  # fmt: skip
BEFORE, AFTER = 0.3, 0.2  # share of the neighbours' cosines in the mixed one
_NO_WORDS, _ALL_WORDS = 0.12, 0.45  # cosine without a word of the question, and what all add
_BEST_OF_SESSION = 3
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
    traits: Traits = Traits()  # of the model that the cosines are of


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """The features of all candidates, one row each, their usefulness, and whose words they are.

    `authority` is 0 for the highest, `repeats` the share of words that repeat the question's;
    both are empty where all candidates have one authority.
    """

    versions: tuple[int, ...] = ()
    rows: tuple[tuple[float, ...], ...] = ()
    usefulness: tuple[float, ...] = ()
    authority: tuple[int, ...] = ()
    repeats: tuple[float, ...] = ()

    def told(self, position: int) -> dict[str, float]:
        """Returns the features of one candidate that are not 0."""
        found = zip(NAMES, self.rows[position], strict=True)
        return {name: round(value, 4) for name, value in found if value}


def table(evidence: Evidence) -> FeatureTable:
    """Computes the features of every candidate."""
    reading, matches, placed = evidence.reading, evidence.matches, evidence.placed
    if not placed:
        return FeatureTable()
    rows = list(placed.values())
    at = {row.version: position for position, row in enumerate(rows)}
    before = [at.get(row.before or 0, -1) for row in rows]
    after = [at.get(row.after or 0, -1) for row in rows]
    columns = by_words(reading, matches, rows, before, after)
    cosine = _cosines(evidence.traits, rows, columns["covered_passage"])
    columns |= _by_meaning(cosine, before, after)
    columns |= _by_people(reading, rows)
    columns |= _by_time(reading, rows)
    columns["session"] = _by_session(rows, columns)
    listed = tuple(zip(*(columns[name] for name in NAMES), strict=True))
    found = FeatureTable(tuple(at), listed, tuple(row.usefulness for row in rows))
    if all(row.authority == rows[0].authority for row in rows):
        return found
    return replace(
        found,
        authority=tuple(row.authority for row in rows),
        repeats=tuple(repeated(row.terms, reading.terms) for row in rows),
    )


def _cosines(traits: Traits, rows: Sequence[Placed], covered: Column) -> Column | None:
    """The cosines on a common scale; None where nothing has a vector.

    A text that still waits for its vector gets the cosine that texts with so many words of the
    question usually have.
    """
    if all(row.cosine is None for row in rows):
        return None
    usual = (_NO_WORDS + _ALL_WORDS * share for share in covered)
    return [
        guess if row.cosine is None else traits.slope * row.cosine + traits.offset
        for row, guess in zip(rows, usual, strict=True)
    ]


def _by_meaning(cosine: Column | None, before: Places, after: Places) -> dict[str, Column]:
    """The cosine of each, alone and with its neighbours: as it is, and below the best."""
    if cosine is None:
        names = ("cosine", "cosine_mixed", "nearest", "nearest_mixed", "meaning")
        return dict.fromkeys(names, [0.0] * len(before))
    mixed = [
        (own + BEFORE * cosine[b if b >= 0 else at] + AFTER * cosine[a if a >= 0 else at])
        / (1 + BEFORE + AFTER)
        for at, (own, b, a) in enumerate(zip(cosine, before, after, strict=True))
    ]
    summed = [
        own + (BEFORE * cosine[b] if b >= 0 else 0.0) + (AFTER * cosine[a] if a >= 0 else 0.0)
        for own, b, a in zip(cosine, before, after, strict=True)
    ]
    return {
        "cosine": [_share(own) for own in cosine],
        "cosine_mixed": [_share(own) for own in mixed],
        "nearest": _below_best(cosine),
        "nearest_mixed": _below_best(mixed),
        "meaning": _spread(summed),
    }


def _share(value: float) -> float:
    return value if 0.0 < value < 1.0 else min(1.0, max(0.0, value))


def _below_best(values: Column) -> Column:
    """How far each value is below the highest: 0 for the highest, at least -1."""
    top = max(values)
    return [max(-1.0, value - top) for value in values]


def _spread(values: Column) -> Column:
    """Scales the values from 0 (lowest) to 1 (highest)."""
    low, range_ = min(values), (max(values) - min(values)) or 1.0
    return [(value - low) / range_ for value in values]


def _by_people(reading: Reading, rows: Sequence[Placed]) -> dict[str, Column]:
    named = bool(reading.names)
    called = {row.speaker for row in rows} if named else ()
    speaking = {name: float(names_speaker(reading.names, name)) for name in called}
    speaks = [speaking.get(row.speaker, 0.0) for row in rows]
    return {
        "speaker": speaks,
        "other_speaker": [
            float(named and bool(row.speaker)) - speaks[at] for at, row in enumerate(rows)
        ],
        "role": [_ROLES.get(row.role.lower(), 0.0) if row.role else 0.0 for row in rows],
    }


def _by_time(reading: Reading, rows: Sequence[Placed]) -> dict[str, Column]:
    nothing = [0.0] * len(rows)
    found = dict.fromkeys(("time_words", "dated", "in_period"), nothing)
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
            base = 0.4 * columns["keyword"][at] + 0.6 * columns["meaning"][at]
            held.setdefault(row.session, []).append(base + 0.15 * columns["speaker"][at])
    mean = {
        session: sum(sorted(scores, reverse=True)[:_BEST_OF_SESSION])
        for session, scores in held.items()
    }
    top = max(mean.values(), default=0.0) or 1.0
    return [mean.get(row.session or "", 0.0) / top for row in rows]


def _date_terms(at: float) -> set[str]:
    day = datetime.fromtimestamp(min(at, _LAST_DAY), UTC)
    return {str(day.year), _MONTHS[day.month - 1], str(day.day)}


# Puts a less trusted candidate below every more trusted one that answers as well.
#
# Trust breaks ties, and nothing else: a candidate that answers better stays above, whoever said it.
# `trust.whose_words` says who is trusted more. Nothing changes among what the user and an agent say
# in one conversation. A more trusted candidate answers as well if
#
# - it holds as much of the question in one passage, and is as near to it in meaning (`NEAR`);
# - or the margins are a tie (`TIE`, more than one vote of use can add);
# - or the other one is stuffed: a quarter of its words repeat words of the question. Such a text
#   answers no better than any that holds some of these words, or is as near in meaning.
#
# What is put below keeps its order, and its relevance is that of its new place.


TIE = 0.05  # of two margins
NEAR = 0.1  # of two cosines
STUFFED = 0.25  # of the words of a text that repeat words of the question
TOUCHED = 0.25  # of what a stuffed text holds of the question
_COVERED, _PASSAGE, _COSINE = map(NAMES.index, ("covered", "covered_passage", "cosine"))
_SURE = 1e-9


def below_trusted(margins: Sequence[float], table: FeatureTable) -> list[float]:
    """Returns the margins, with those of less trusted candidates below their betters."""
    found = list(margins)
    if not table.authority:  # all of one authority
        return found
    top = max(margins)
    for rank in sorted(set(table.authority))[1:]:
        above = sorted(
            (at for at, other in enumerate(table.authority) if other < rank), key=found.__getitem__
        )
        for at in (at for at, own in enumerate(table.authority) if own == rank):
            better = _lowest_better(at, above, found, table)
            if better is not None:
                found[at] = found[better] - _SURE * (1 + top - margins[at])
    return found


def repeated(terms: str, asked: Iterable[str]) -> float:
    """Returns the share of a text's words that say a word of the question once more."""
    words = terms.split()
    if not words:
        return 0.0
    counts = Counter(words)
    return sum(max(0, counts[word] - 1) for word in set(asked)) / len(words)


def _lowest_better(
    at: int, above: Sequence[int], margins: Sequence[float], table: FeatureTable
) -> int | None:
    """Returns the last of the more trusted that answer as well and would stand below."""
    for other in above:
        if margins[other] > margins[at]:
            return None
        if margins[at] - margins[other] <= TIE or _answers_as_well(other, at, table):
            return other
    return None


def _answers_as_well(other: int, at: int, table: FeatureTable) -> bool:
    theirs, own = table.rows[other], table.rows[at]
    near = theirs[_COSINE] >= own[_COSINE] - NEAR
    if table.repeats[at] >= STUFFED:
        return (theirs[_COVERED] >= TOUCHED * own[_COVERED] > 0) or (near and own[_COSINE] > 0)
    return near and theirs[_PASSAGE] >= own[_PASSAGE] - _SURE
