"""Builds claims and the keys under which they are compared."""

import unicodedata

from memory_mesh.base.typed import replace
from memory_mesh.model import Claim, InvalidInput

MAX_KEY = 100  # characters of a subject and of a predicate
MAX_VALUE = 1_000
ANYTHING = "*"  # what a claim replaces that tells of a change but not of the old value
ARTICLES = frozenset(("a", "an", "the", "our"))
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2019\u02bc\u2032\uff07\u02b9", "'"))
_JOINTS = str.maketrans(dict.fromkeys('_-./:`"\u201c\u201d\u2018(),[]{}<>*', " ") | {"\u2019": "'"})


def stated(subject: str, predicate: str, value: str, *, exclusive: bool = True) -> Claim:
    """Builds a caller's claim in its words; InvalidInput names the part that is empty or too long.

    Its words are folded by `keyed` once they are redacted: a key hides from the rules what they
    would find in the words.
    """
    parts = (("subject", subject, MAX_KEY), ("predicate", predicate, MAX_KEY))
    for name, text, most in (*parts, ("value", value, MAX_VALUE)):
        if not text.strip():
            raise InvalidInput(f"a claim needs a {name}")
        if len(text) > most:
            raise InvalidInput(f"the {name} of a claim is too long; the limit is {most} characters")
    return Claim(subject=subject, predicate=predicate, value=value, exclusive=exclusive)


def keyed(claim: Claim) -> Claim:
    """Returns the claim with the keys of its subject and predicate in their place."""
    subject = key(claim.subject) or claim.subject.strip().casefold()
    predicate = key(claim.predicate) or claim.predicate.strip().casefold()
    if (subject, predicate) == (claim.subject, claim.predicate):
        return claim
    return replace(claim, subject=subject, predicate=predicate)


def key(text: str) -> str:
    """Returns the words of a phrase as they look: casefolded, without articles and punctuation.

    Nothing that a reader cannot see makes two keys differ: `formats.looks` says what that is.
    """
    text = text.casefold() if text.isascii() and text.isprintable() else _folded(text)
    words = text.translate(_JOINTS).split()
    return " ".join([word for word in map(_bare, words) if word and word not in ARTICLES])


def _folded(text: str) -> str:
    """Returns a text as it is seen, casefolded, with spaces for the punctuation of any script.

    Small letters can look like ASCII where their capitals do not, and Cherokee's fold to capitals
    that look like it, so it is looked at and folded twice.
    """
    from memory_mesh.formats.looks import as_seen  # most phrases are ASCII

    seen = as_seen(as_seen(text.translate(_APOSTROPHES)).casefold()).casefold()
    return "".join([" " if _is_between(char) else char for char in seen])


def _is_between(char: str) -> bool:
    """True for a dash, a dot or a sign of another script; `_JOINTS` has those of ASCII."""
    category = unicodedata.category(char)
    return not char.isascii() and (category[0] in "PZ" or category == "Sm")


def _bare(word: str) -> str:
    while (bare := word.removesuffix("'s").strip("'!?;,")) != word:
        word = bare
    return word
