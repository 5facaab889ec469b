"""Finds a procedure that several memories tell in different words.

::

    "Pulled the labels, retrained, compared with the old model."
    "labels synced → train.py → eval vs. baseline"
            │ clauses, each as concepts: stems, and one name for verbs of one meaning
            ▼
    steps of two tellings that agree in order ──▶ the telling whose steps most others share

A telling is a short memory of three clauses or more. Two clauses agree if they share a word, or a
verb of the same meaning, which counts less. Because that is loose, three tellings must agree, each
with each other.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, pairwise

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass
from memory_mesh.learn.rules.instructions import base, is_base, past_base
from memory_mesh.model import Memory
from memory_mesh.text import analyzer
from memory_mesh.text.sentences import asks, courtesies, sentences

TELLINGS = 3  # memories that must tell a procedure in different words
SHARED = 2  # steps that two tellings must have in common
_MIN_CLAUSES, _MAX_CLAUSES = 3, 14
_MAX_CHARS = 1_000
_HALF = 0.5  # of the clauses of the shorter telling that must agree
_WORD, _MEANING = 1.0, 0.6  # how much an agreement weighs that rests on a word, or on a meaning
_LEAST, _MEAN = 1.6, 2.0  # weight of the agreements of two tellings: at least, and on average
_STEM = 6  # letters of a common start that make two words one: registered, registry
_MAX_GROUP = 20  # tellings of one procedure that are looked at
_TITLE = 80
_MEANINGS = (
    "get pull fetch download grab retrieve obtain collect sync receive take",
    "send push upload hand submit transfer deliver forward post mail email",
    "restart reboot bounce relaunch reload",
    "check verify test inspect review read compare evaluate validate confirm examine look try eval",
    "build rebuild compile bundle package",
    "generate create make write draft prepare",
    "install put load apply deploy roll import restore migrate",
    "update upgrade patch refresh renew",
    "bump raise increase increment",
    "notify tell announce inform ping message email post",
    "dump export backup snapshot copy extract",
    "anonymise anonymize scrub mask redact fake obfuscate",
    "remove delete drop purge clean clear wipe",
    "revert undo rollback roll",
    "approve accept confirm",
    "enable activate switch turn",
    "disable deactivate stop pause revoke block lock",
    "add register enter record file log insert",
    "order buy book request",
    "close end finish archive",
    "plan schedule arrange book",
    "run execute start launch kick trigger train",
    "replace swap rotate exchange change",
    "grant give invite assign",
)
_NAMES = (
    "production prod live", "staging stage stag", "database db", "certificate cert crt",
    "balancer lb", "acknowledge ack", "postmortem write-up retro", "repository repo",
    "environment env", "configuration config", "documentation docs doc",
    "credential password secret key",
    "picture image photo", "ticket issue jira", "customer client", "alert page pager",
    "dashboard graph chart metric", "newsletter mailing",
)  # fmt: skip

_VAGUE = (
    "new old all one two three time day today tomorrow yesterday morning evening night week month "
    "year hour minute monday tuesday wednesday thursday friday saturday sunday first second third "
    "last next same other more less some every each again back also still only just now then here "
    "there over off out up down part thing way bit lot no not never always right wrong whole own "
    "big small long short through after before since until while because so it them this that"
)


@dataclass(frozen=True, slots=True)
class TellingClause:
    """A clause of a telling: as a step, with its words and the meanings of its verbs."""

    step: str
    words: frozenset[str]
    meanings: frozenset[str]


@dataclass(frozen=True, slots=True)
class OrderedTelling:
    """A memory that tells several things in order."""

    memory: Memory
    title: str
    clauses: tuple[TellingClause, ...]


@dataclass(frozen=True, slots=True)
class SharedSteps:
    """The steps that several tellings share, with how many tell each."""

    title: str
    steps: tuple[str, ...]
    support: tuple[int, ...]
    sources: tuple[str, ...]


def told_alike(memories: Sequence[Memory]) -> SharedSteps | None:
    """Returns the procedure that the most memories tell in other words."""
    tellings = [one for memory in memories if (one := telling(memory)) is not None]
    pairs = {
        (one, other): weight
        for one, other in combinations(range(len(tellings)), 2)
        if (weight := agreement(tellings[one].clauses, tellings[other].clauses)[0]) >= _LEAST
    }
    group = max(_groups(pairs), key=len, default=())
    if len(group) < TELLINGS:
        return None
    found = [_shared(tellings[seed], [tellings[place] for place in group]) for seed in group]
    return max(
        found,
        key=lambda one: (
            sum(one.support) + sum(0.5 for step in one.steps if is_base(_first(step))),
            bool(one.title),
        ),
    )


def telling(memory: Memory) -> OrderedTelling | None:
    """Returns the clauses of a short memory that tells three things or more."""
    if len(memory.text) > _MAX_CHARS:
        return None
    title, clauses = "", list[TellingClause]()
    for sentence in sentences(memory.text):
        if asks(sentence) and not _arrows().search(sentence):
            continue
        lead, colon, rest = sentence.partition(": ")
        announced = bool(colon and rest) and len(lead) <= _TITLE
        if announced and not clauses:
            title = title or lead
        told = _parts(rest if announced else sentence)
        clauses += [clause for part in told if (clause := _clause(part)) is not None]
    if not _MIN_CLAUSES <= len(clauses) <= _MAX_CLAUSES:
        return None
    return OrderedTelling(memory, title, tuple(clauses))


def agreement(
    mine: Sequence[TellingClause], others: Sequence[TellingClause]
) -> tuple[float, list[int]]:
    """Returns the weight and the places of the steps that two tellings share in order.

    The weight is 0 if they share less than two steps, or less than half of the shorter one's.
    """
    weights = [[_weight(one, other) for other in others] for one in mine]
    best = [[0.0] * (len(others) + 1) for _ in range(len(mine) + 1)]
    for row in reversed(range(len(mine))):
        for column in reversed(range(len(others))):
            taken = weights[row][column] + best[row + 1][column + 1]
            best[row][column] = max(best[row + 1][column], best[row][column + 1], taken)
    places, row, column = list[int](), 0, 0
    while row < len(mine) and column < len(others):
        weight = weights[row][column]
        if weight and best[row][column] == weight + best[row + 1][column + 1]:
            places.append(row)
            row, column = row + 1, column + 1
        elif best[row][column] == best[row + 1][column]:
            row += 1
        else:
            column += 1
    few = len(places) < max(SHARED, _HALF * min(len(mine), len(others)))
    return (0.0, []) if few else (best[0][0], places)


def _groups(pairs: Mapping[tuple[int, int], float]) -> Iterator[tuple[int, ...]]:
    """Yields groups of tellings that agree each with each other, and well enough on average."""
    near: dict[int, dict[int, float]] = {}
    for (one, other), weight in pairs.items():
        near.setdefault(one, {})[other] = weight
        near.setdefault(other, {})[one] = weight
    for start, weights in sorted(near.items()):
        group = [start]
        for place in sorted(weights, key=lambda place: (-weights[place], place)):
            if len(group) < _MAX_GROUP and all(place in near[member] for member in group):
                group.append(place)
        inside = [near[one][other] for one, other in combinations(group, 2)]
        if len(group) >= TELLINGS and sum(inside) / len(inside) >= _MEAN:
            yield tuple(group)


def _shared(seed: OrderedTelling, group: Sequence[OrderedTelling]) -> SharedSteps:
    """Returns the steps of one telling that others of its group have in the same order."""
    support = [1] * len(seed.clauses)
    for other in group:
        if other.memory.id != seed.memory.id:
            for place in agreement(seed.clauses, other.clauses)[1]:
                support[place] += 1
    kept = [place for place, count in enumerate(support) if count > 1]
    return SharedSteps(
        seed.title,
        tuple(seed.clauses[place].step for place in kept),
        tuple(support[place] for place in kept),
        tuple(one.memory.id for one in group),
    )


def _weight(one: TellingClause, other: TellingClause) -> float:
    if one.words & other.words:
        return _WORD
    return _MEANING if one.meanings & other.meanings else 0.0


def _parts(sentence: str) -> Iterator[str]:
    """Splits a sentence at commas and arrows, and at `and` before a verb."""
    for part in _joints().split(sentence):
        pieces = _ands().split(part)
        start = 0
        for before, (place, piece) in pairwise([(-1, ""), *enumerate(pieces)]):
            if before[0] >= 0 and base(_first(piece)):
                yield " and ".join(pieces[start:place])
                start = place
        yield " and ".join(pieces[start:])


def _clause(part: str) -> TellingClause | None:
    bare = part.strip(" .!?()~…")
    if _states().search(bare):
        return None
    opener = _openers().match(bare)
    bare = bare[opener.end() :] if opener else bare
    raw = [word.strip(".,:;`'\"()").casefold() for word in bare.split()]
    verbs = {base(word) or past_base(word) for word in raw} - {""}
    meanings = {name for verb in verbs for name in _meanings().get(_without_again(verb), ())}
    known = {word for word in raw if base(word)}
    words = {
        _named(term)
        for term in analyzer.terms(" ".join(word for word in raw if word not in known))
        if not term[0].isdigit() and term not in _vague() and len(term) > 1
    }
    words |= {_named(_without_again(verb)) for verb in verbs - _EMPTY - _COMMON}
    words = {word[:_STEM] for word in words}
    if not words and not meanings:
        return None
    return TellingClause(_as_step(bare), frozenset(words), frozenset(meanings))


def _as_step(bare: str) -> str:
    """Returns a clause in the imperative if it begins with a verb."""
    words = bare.split(maxsplit=1)
    verb = past_base(words[0]) or (words[0] if is_base(words[0]) else "")
    verb = "have" if words[0].casefold() == "had" else verb
    rest = f" {words[1]}" if len(words) > 1 else ""
    text = f"{verb}{rest}" if verb else bare
    return text[:1].upper() + text[1:]


def _first(piece: str) -> str:
    opener = _openers().match(piece)
    rest = piece[opener.end() :] if opener else piece
    return rest.split(maxsplit=1)[0].strip(".,:;`'") if rest.split() else ""


def _without_again(verb: str) -> str:
    """Returns `train` for `retrain`, if that is a verb."""
    plain = verb.removeprefix("re-").removeprefix("re")
    return plain if verb.startswith("re") and is_base(plain) else verb


def _named(term: str) -> str:
    return _other_names().get(term, term)


_COMMON_VERBS = (
    "add ask call change check close copy create deploy find fix follow generate give handle keep "
    "look load log make move need note open post read remove run save send set show start stop "
    "store take tell test try turn update use wait watch work write"
)
_COMMON = frozenset(_COMMON_VERBS.split())
_EMPTY = frozenset(
    ("be", "come", "do", "get", "go", "have", "let", "make", "put", "say", "see", "take")
)


@cache
def _meanings() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for group in _MEANINGS:
        name = group.split()[0]
        for verb in group.split():
            plain = _without_again(verb)
            found[plain] = (*found.get(plain, ()), name)
    return found


@cache
def _other_names() -> dict[str, str]:
    return {
        term: group.split()[0]
        for group in _NAMES
        for word in group.split()
        for term in (word, *analyzer.terms(word))
    }


@cache
def _vague() -> frozenset[str]:
    return courtesies() | analyzer.STOP_WORDS | frozenset(analyzer.terms(_VAGUE))


# Pattern of a statement of how something is, which is no step.
_states = lazy_pattern(
    r"\b(?:is|are|was|were|has|have)\s+(?!(?:\w+ly\s+|now\s+|been\s+)*\w+(?:ed|en|ten|nt|ut|et)\b)",
    re.IGNORECASE,
)


_arrows = lazy_pattern(r"→|->|=>")


_joints = lazy_pattern(
    r"(?:(?<!\s)\s++)?+(?:→|->|=>|;|,(?!\d)|\u2013|\u2014)\s*+|\?\s+"
    r"|(?<!\s)\s++(?:/|-|(?:and\s+)?then)\s+",
    re.IGNORECASE,
)


_ands = lazy_pattern(r"(?<!\s)\s++and\s+", re.IGNORECASE)


_openers = lazy_pattern(
    r"(?:(?:first(?:ly)?|second(?:ly)?|then|next|after\s+that|afterwards|finally|lastly|and|also|"
    r"i|we|he|she|they|ok|today|now|just|for\s+\S+|(?-i:[A-Z][a-z]+)(?=\s+(?:and\s+I\s+)?[a-z]+ed\b)|"
    r"in\s+the\s+(?:morning|evening|end)|on\s+(?-i:[A-Z][a-z]+day))\b,?\s+)+",
    re.IGNORECASE,
)
