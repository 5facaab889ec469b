"""Builds claims and the keys under which they are compared."""

import unicodedata

from memory_mesh.errors import InvalidInput
from memory_mesh.model import Claim

MAX_KEY = 100  # characters of a subject and of a predicate
MAX_VALUE = 1_000
ANYTHING = "*"  # what a claim replaces that tells of a change but not of the old value
ARTICLES = frozenset(("a", "an", "the", "our"))
_JOINTS = str.maketrans(dict.fromkeys('_-./:`"\u201c\u201d\u2018(),[]{}<>*', " ") | {"\u2019": "'"})


def stated(subject: str, predicate: str, value: str, *, exclusive: bool = True) -> Claim:
    """Builds a caller's claim; InvalidInput names the part that is empty or too long."""
    parts = (("subject", subject, MAX_KEY), ("predicate", predicate, MAX_KEY))
    for name, text, most in (*parts, ("value", value, MAX_VALUE)):
        if not text.strip():
            raise InvalidInput(f"a claim needs a {name}")
        if len(text) > most:
            raise InvalidInput(f"the {name} of a claim is too long; the limit is {most} characters")
    return Claim(
        subject=key(subject) or subject.strip().casefold(),
        predicate=key(predicate) or predicate.strip().casefold(),
        value=value,
        exclusive=exclusive,
    )


def key(text: str) -> str:
    """Returns the words of a phrase: casefolded, without articles, prepositions and punctuation."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    words = text.casefold().translate(_JOINTS).split()
    return " ".join([word for word in map(_bare, words) if word and word not in ARTICLES])


def _bare(word: str) -> str:
    return word.removesuffix("'s").strip("'!?;,")
