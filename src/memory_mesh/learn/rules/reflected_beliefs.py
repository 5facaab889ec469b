"""Summarises memories as beliefs: sentences that several memories agree on, with their ids.

::

    memories ── sentences ──▶ term vectors, rare terms of this set weighing more
        │
        ├─ average linkage ──▶ clusters of memories about one thing
        ▼
    per cluster the most central statement ──▶ Belief(text, sources, otherwise)

What only one memory says is shown where all of it fits; else it is counted, not repeated. Nothing
is written that no memory says. To agree is to share most words: who does what to whom is
not read. Where memories state other numbers or names, claim another value of the same, or one
denies what another states, the most trusted and then the newest is taken and the others are named.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import TypeAlias, dataclass, replace
from memory_mesh.model import Memory, SourceKind
from memory_mesh.text import analyzer
from memory_mesh.text.sentences import FULL, asks, courtesies, says, sentences
from memory_mesh.write.claims import Claim, ClaimRelation, compare, read
from memory_mesh.write.rules.receipts import first_words

Vector: TypeAlias = Mapping[str, float]

TOGETHER = 0.15  # average cosine of memories about one thing
AGREE = 0.4  # cosine of two sentences that say the same thing
OTHERWISE = 0.8  # of the shorter one's weight that two sentences share which state it otherwise
MAX_BELIEFS = 5  # beliefs of one reflection
_SPEAK_FOR = 2  # memories of a cluster for each belief it may have
_MAX_BELIEF_CHARS = 300  # characters of a belief
_HEARD = 800  # sentences that are compared with each other; of a long memory the most central
_RARITY = 0.5  # how much more a term weighs for being rare among these memories
_TRUSTED_FIRST = tuple(SourceKind)


@dataclass(frozen=True, slots=True)
class Belief:
    """A sentence, the memories that agree with it, contradict it, or are on the same thing."""

    text: str
    sources: tuple[str, ...]
    otherwise: tuple[str, ...] = ()
    related: tuple[str, ...] = ()

    @property
    def memories(self) -> tuple[str, ...]:
        """The ids of all memories behind it."""
        return (*self.sources, *self.otherwise, *self.related)

    @property
    def confidence(self) -> float:
        """Returns n / (n + m + 1) for n agreeing and m contradicting memories; 0.5 for one."""
        agreeing = len(self.sources)
        return agreeing / (agreeing + len(self.otherwise) + 1)


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    memory: Memory
    vector: Vector
    claim: Claim | None
    names: frozenset[str]  # terms of the words with a capital


def beliefs(memories: Sequence[Memory], topic: str = "", most: int = MAX_BELIEFS) -> list[Belief]:
    """Returns the beliefs with the most support first, up to a maximum.

    Without a topic, what belongs together with no other memory is left out unless all of it fits.
    """
    weights = _weights(memories)
    topical = _vector(analyzer.terms(topic), weights)
    said = {memory.id: _said(memory, weights) for memory in memories}
    whole = {id_: _sum(one.vector for one in told) for id_, told in said.items()}
    share = max(_SPEAK_FOR, _HEARD // max(1, len(memories)))
    said = {id_: _central(told, (topical, whole[id_]), share) for id_, told in said.items()}
    places = {memory.id: place for place, memory in enumerate(memories)}
    found: list[tuple[int, Belief]] = []
    single: list[tuple[int, Belief]] = []
    for cluster in clusters([whole[memory.id] for memory in memories]):
        members = [memories[place] for place in cluster]
        every = [one for member in members for one in said[member.id]]
        rest = _statements(every)
        ranks = {
            id(one): _rank(one, members, said, (whole[one.memory.id], topical)) for one in rest
        }
        told: list[Belief] = []
        for _ in range(math.ceil(len(members) / _SPEAK_FOR)):
            if not rest:
                break
            best = _settled(max(rest, key=lambda one: ranks[id(one)]), every)
            belief = _belief(best, members, said)
            told.append(belief)
            heard = {*belief.sources, *belief.otherwise}
            rest = [one for one in rest if one.memory.id not in heard and not _agree(one, best)]
        placed = [(min(places[id_] for id_ in one.sources), one) for one in _related(told, members)]
        (found if len(members) > 1 else single).extend(placed)
    if topic or len(found) + len(single) <= most:
        found += single
    found.sort(key=lambda pair: (-len(pair[1].sources), -len(pair[1].memories), pair[0]))
    return list(
        {belief.text: belief for belief in reversed([belief for _, belief in found])}.values()
    )[::-1][:most]


def confidence(found: Sequence[Belief]) -> float:
    """Returns the mean confidence, weighted by the number of agreeing memories."""
    weight = sum(len(belief.sources) for belief in found)
    if not weight:
        return 0.0
    return round(sum(len(one.sources) * one.confidence for one in found) / weight, 4)


def wording(found: Sequence[Belief], count: int) -> str:
    """Returns one line per belief with its memories, and how many of all `count` have no line."""
    lines = [_line(belief) for belief in found]
    named = {id_ for belief in found for id_ in belief.memories}
    further = count - len(named)
    if lines and further == 1:
        lines.append("- 1 further memory shares no statement with these.")
    elif lines and further > 1:
        lines.append(f"- {further} further memories share no statement with these.")
    return "\n".join(lines)


def clusters(vectors: Sequence[Vector], threshold: float = TOGETHER) -> list[list[int]]:
    """Clusters by average linkage: joins the two nearest groups until none are near enough."""
    groups = {place: [place] for place in range(len(vectors))}
    near = {
        (one, other): cosine(vectors[one], vectors[other])
        for other in groups
        for one in range(other)
    }
    while near:
        (one, other), similarity = max(near.items(), key=lambda item: (item[1], item[0]))
        if similarity < threshold:
            break
        left, right = len(groups[one]), len(groups[other])
        groups[one] = sorted(groups[one] + groups.pop(other))
        for third in groups:
            if third != one:
                joined = near.pop(_pair(other, third)) * right + near[_pair(one, third)] * left
                near[_pair(one, third)] = joined / (left + right)
        near.pop((one, other))
    return sorted(groups.values())


def cosine(one: Vector, other: Vector) -> float:
    """Returns the cosine of two vectors of length 1."""
    if len(other) < len(one):
        one, other = other, one
    return sum(weight * other.get(term, 0.0) for term, weight in one.items())


def figures(text: str) -> frozenset[str]:
    """Returns the numbers in a text."""
    return frozenset(found.rstrip(".,:/-") for found in _numbers().findall(text))


def negations(text: str) -> int:
    """Counts the negations in a text."""
    return len(_denials().findall(text))


def clash(one: str, other: str) -> bool:
    """True if the numbers differ or only one text is negated."""
    numbers, others = figures(one), figures(other)
    apart = not (numbers <= others or others <= numbers)
    return apart or bool(negations(one)) is not bool(negations(other))


def _statements(said: Sequence[_Sentence]) -> list[_Sentence]:
    """Drops questions, lead-ins and courtesies, and short sentences if others are left."""
    stated = [
        one for one in said if not asks(one.text) and not one.text.endswith(":") and says(one.text)
    ]
    return [one for one in stated if says(one.text, FULL)] or stated


def _rank(
    one: _Sentence,
    members: Sequence[Memory],
    said: Mapping[str, Sequence[_Sentence]],
    own: tuple[Vector, Vector],
) -> tuple[float, datetime]:
    """Scores a sentence by its similarity to the others, to its memory and to the topic.

    Ties go to the newest.
    """
    central = sum(
        max((cosine(one.vector, other.vector) for other in said[member.id]), default=0.0)
        for member in members
        if member.id != one.memory.id
    )
    alone, topical = own
    return round(central + cosine(one.vector, alone) + cosine(one.vector, topical), 9), (
        one.memory.created
    )


def _settled(best: _Sentence, rest: Sequence[_Sentence]) -> _Sentence:
    """Picks the most trusted, then the newest, of contradicting sentences."""
    return min(
        [best, *[one for one in rest if _differ(one, best) and not asks(one.text)]],
        key=lambda one: (
            _TRUSTED_FIRST.index(one.memory.source.kind),
            -one.memory.created.timestamp(),
        ),
    )


def _agree(one: _Sentence, other: _Sentence) -> bool:
    """True if two sentences share most words and do not contradict each other."""
    return cosine(one.vector, other.vector) >= AGREE and not _clash(one, other)


def _clash(one: _Sentence, other: _Sentence) -> bool:
    """True if two sentences have other numbers, names or values, or only one is negated."""
    named = one.names <= other.names or other.names <= one.names
    return not named or clash(one.text, other.text) or _another_value(one, other) is not None


def _another_value(one: _Sentence, other: _Sentence) -> ClaimRelation | None:
    """How two claims of the same relate whose values share no word; None if there are none."""
    first, second = one.claim, other.claim
    if first is None or second is None or first.subject != second.subject:
        return None
    values = set(analyzer.terms(first.value)), set(analyzer.terms(second.value))
    same = first.predicate == second.predicate
    return compare(first, second) if same and values[0].isdisjoint(values[1]) else None


def _differ(one: _Sentence, other: _Sentence) -> bool:
    """True if two sentences have the same words but another number, name, value or a negation."""
    if _another_value(one, other) is ClaimRelation.CONFLICT:
        return True
    shared = one.vector.keys() & other.vector.keys()
    named = one.names <= other.names or other.names <= one.names
    least = 2 if named else 1  # shared words
    if len(shared) < least or not _clash(one, other):
        return False
    shorter = min((one.vector, other.vector), key=len)
    rest = shorter.keys() - (frozenset() if named else one.names ^ other.names)
    return sum(shorter[term] for term in shared) >= OTHERWISE * sum(shorter[term] for term in rest)


def _belief(
    best: _Sentence, members: Sequence[Memory], said: Mapping[str, Sequence[_Sentence]]
) -> Belief:
    sources, otherwise = [best.memory.id], list[str]()
    for member in members:
        stated = [one for one in said[member.id] if not asks(one.text)]
        if member.id == best.memory.id:
            continue
        if any(_agree(one, best) for one in stated):
            sources.append(member.id)
        elif any(_differ(one, best) for one in stated):
            otherwise.append(member.id)
    return Belief(first_words(best.text, _MAX_BELIEF_CHARS), tuple(sources), tuple(otherwise))


def _related(told: Sequence[Belief], members: Sequence[Memory]) -> list[Belief]:
    """Gives the first belief of a cluster the members that stand behind none."""
    if not told:
        return []
    named = {id_ for belief in told for id_ in belief.memories}
    rest = tuple(member.id for member in members if member.id not in named)
    return [replace(told[0], related=rest), *told[1:]]


def _line(belief: Belief) -> str:
    count = len(belief.sources)
    counted = "1 memory" if count == 1 else f"{count} memories"
    line = f"- {belief.text} ({counted}) [{', '.join(belief.sources)}]"
    for word, ids in (("otherwise", belief.otherwise), ("on the same", belief.related)):
        line += f" ({word}: [{', '.join(ids)}])" if ids else ""
    return line


def _said(memory: Memory, weights: Vector) -> list[_Sentence]:
    """Returns a memory's sentences with their terms, without numbers and negations."""
    return [
        _Sentence(one, memory, _vector(_words(one), weights), read(one), _names(one))
        for one in sentences(memory.text)
    ]


def _names(text: str) -> frozenset[str]:
    capital = (word for word in text.split()[1:] if word.lstrip("\"'(")[:1].isupper())
    return frozenset(analyzer.terms(" ".join(capital)))


def _central(said: Sequence[_Sentence], near: tuple[Vector, Vector], most: int) -> list[_Sentence]:
    """Returns the sentences nearest to the topic, then to their memory, in text order."""
    if len(said) <= most:
        return list(said)

    def rank(place: int) -> tuple[float, float]:
        topical, whole = (cosine(said[place].vector, vector) for vector in near)
        return topical, whole

    return [said[place] for place in sorted(sorted(range(len(said)), key=rank)[-most:])]


def _weights(memories: Sequence[Memory]) -> dict[str, float]:
    """Returns the weight of each term: 1 if all memories contain it, more if few do."""
    held = Counter(term for memory in memories for term in set(analyzer.terms(memory.text)))
    return {term: 1 + _RARITY * math.log(len(memories) / count) for term, count in held.items()}


def _words(text: str) -> list[str]:
    empty = courtesies()
    plain = _denials().sub(" ", text)
    return [term for term in analyzer.terms(plain) if not term[0].isdigit() and term not in empty]


def _vector(terms: Iterable[str], weights: Vector) -> Vector:
    raw = {term: (1 + math.log(n)) * weights.get(term, 0.0) for term, n in Counter(terms).items()}
    return _of_length_one(raw)


def _sum(vectors: Iterable[Vector]) -> Vector:
    total: Counter[str] = Counter()
    for vector in vectors:
        total.update(vector)
    return _of_length_one(total)


def _of_length_one(raw: Mapping[str, float]) -> Vector:
    length = math.sqrt(sum(weight * weight for weight in raw.values()))
    return {term: weight / length for term, weight in raw.items()} if length else {}


def _pair(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)


_numbers = lazy_pattern(r"\d[\d.,:/-]*")


_denials = lazy_pattern(
    r"\b(?:not(?! only\b)|no|never|none|nobody|nothing|neither|nor|without|cannot|nicht|kein\w*|"
    r"nie|pas|jamais|nunca|ningun\w*|(?:do(?:es)?|did|is|are|was|wo|ca)nt)\b|n[’']t\b|"  # noqa: RUF001
    r"[不没沒無无]|ない|ません",
    re.IGNORECASE,
)
