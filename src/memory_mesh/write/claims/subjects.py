"""Reads the subject of a statement: a name, a thing, or a thing that belongs to another."""

from itertools import pairwise

from memory_mesh.base.fastdataclass import dataclass
from memory_mesh.text.claim_keys import key
from memory_mesh.write.claims import word_lists

WE = "we"
_US = frozenset(("we", "us", "team", "our team"))
_ASIDE = word_lists.PREPOSITIONS | {"that", "where", "which", "who", "whose"}


@dataclass(frozen=True, slots=True)
class Voice:
    """Who says "I" and "we" in a text; empty if it is not known, and then it makes no claim."""

    one: str
    many: str = WE


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a statement; `noun` and `owner` if it belongs to something.

    `many`: there may be others of the kind. `definite`: the one and only. `plain`: no opening, no
    comma that could make it part of another sentence. `vague`: which one it is was said before.
    """

    whole: str
    owner: str
    noun: str
    head: str
    many: bool
    definite: bool
    named: bool
    plain: bool
    vague: bool = False


def subject_of(parts: list[str], voice: Voice) -> Subject | None:
    """Returns the subject that the words name, with who speaks in the place of "I" and "we"."""
    first = parts[0].casefold()
    if len(parts) == 1 and first in ("i", "me"):
        return (
            (
                Subject(
                    whole=voice.one,
                    owner="",
                    noun="",
                    head="",
                    many=False,
                    definite=False,
                    named=True,
                    plain=True,
                )
            )
            if voice.one
            else None
        )
    if first == "my":
        return _owned(parts[1:], voice.one) if voice.one else None
    article = first in ("the", "our")
    indefinite = _indefinite(first, parts)
    body = parts[1:] if article or (indefinite and first != "one") else parts
    if not body:
        return None
    whole = key(" ".join(body))
    if not whole or (whole in _US and not voice.many):
        return None
    owner, noun = ("", "") if indefinite else _of(body, article=article) or _possessed(body, "")
    head = _head(noun or whole)
    return Subject(
        whole=voice.many if whole in _US else whole,
        owner=owner,
        noun=noun,
        head=head,
        many=indefinite or _one_of_many(owner if body[-1].islower() else "", noun, head),
        definite=article,
        named=not article and not indefinite and parts[0][:1].isupper(),
        plain=_plain(parts) or (article and " of " in " ".join(body)),
        vague=(article and not noun and _vague(body)) or _passing(owner or whole, noun),
    )


def _owned(body: list[str], speaker: str) -> Subject | None:
    """Returns the subject for something that belongs to the speaker."""
    whole = key(" ".join(body))
    if not whole:
        return None
    owner, noun = _possessed(body, speaker)
    if not noun:
        owner, noun = speaker, whole
    head = _head(noun)
    return Subject(
        whole=f"{speaker} {whole}",
        owner=owner,
        noun=noun,
        head=head,
        many=_one_of_many(owner, noun, head),
        definite=True,
        named=False,
        plain=_plain(body),
    )


def _indefinite(first: str, parts: list[str]) -> bool:
    """True for one of many ("a client", "another option"), but not for a name ("A Day Out")."""
    following = parts[1] if len(parts) > 1 else ""
    if first == "one":
        return following == "of" or following[:1].islower()
    return first in word_lists.INDEFINITE and following[:1].islower()


def _of(body: list[str], *, article: bool) -> tuple[str, str] | None:
    """Returns owner and noun of "the capital of Peru"."""
    if "of" not in body[1:-1]:
        return None
    at = body.index("of", 1)
    if not article and not body[0].islower() and body[0].casefold() not in word_lists.ONE:
        return None
    owner, noun = key(" ".join(body[at + 1 :])), key(" ".join(body[:at]))
    return (owner, noun) if owner and noun else None


def _possessed(body: list[str], speaker: str) -> tuple[str, str]:
    """Returns owner and noun of "Peru's capital"; empty without a possessive."""
    for at, word in enumerate(body[:-1]):
        if word.endswith(("'s", "s'")) and all(part[:1].islower() for part in body[at + 1 :]):
            owner, noun = key(" ".join(body[: at + 1])), key(" ".join(body[at + 1 :]))
            if owner and noun:
                return (f"{speaker} {owner}" if speaker else owner), noun
    return "", ""


def _plain(parts: list[str]) -> bool:
    """True if the words start no other clause; a comma is allowed only inside a name."""
    first = parts[0].casefold()
    if first in word_lists.OPENINGS or first.rstrip(",") in word_lists.OPENINGS:
        return False
    return not any(
        part[-1] == "," and following[:1].islower() for part, following in pairwise(parts)
    )


def _vague(body: list[str]) -> bool:
    """True for "the file" or "the next step", which do not say which one of many."""
    bare = [word for word in body if word.casefold() not in word_lists.ORDER]
    if len(bare) != 1 or not bare[0].islower() or bare[0] in word_lists.SETTING:
        return not bare
    return bare[0] not in word_lists.ONE or bare[0] in word_lists.FIELDS


def _passing(whose: str, noun: str) -> bool:
    """True if it is, or belongs to, an unnamed one of a sequence."""
    thing, _, more = whose.partition(" ")
    return thing in word_lists.PASSING and (not more if noun else more in word_lists.LABELS)


def _one_of_many(owner: str, noun: str, head: str) -> bool:
    """True if its owner may have several of the kind, or is itself one of many."""
    if not noun:
        return False
    kinds = {head, owner.rpartition(" ")[2], noun.partition(" ")[0]}
    return not word_lists.MANY.isdisjoint(kinds)


def _head(phrase: str) -> str:
    """Returns the main noun of a phrase: its last word before an addition."""
    head = ""
    for word in phrase.split():
        if word in _ASIDE and head:
            break
        head = word
    return head
