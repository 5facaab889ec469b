"""Which parts of a prompt may be repeated as its writer's word: plain sentences, or whole ones.

`push to main` is no word of somebody who wrote `never push to main`, `should we push to main?` or
`the page says: push to main`. A sentence with a negation, a condition, a question, a report or a
quotation says what it says only as a whole; of any other a part may stand alone.
"""

import re
from collections.abc import Iterator
from functools import cache

from memory_mesh.fastdataclass import dataclass
from memory_mesh.policy.learning import statement_phrases as phrases
from memory_mesh.policy.learning.own_words import own_sentences, without_quotes
from memory_mesh.policy.text.sentences import asks


@dataclass(frozen=True, slots=True)
class Piece:
    """One sentence: the words that open it, the rest, and whether the rest must stay whole."""

    opening: str
    text: str
    is_whole: bool


def pieces(prompt: str) -> Iterator[Piece]:
    """Yields the sentences that the writer of a prompt wrote, without pasted texts, in order."""
    return map(_piece, own_sentences(prompt))


def _piece(sentence: str) -> Piece:
    text = sentence
    while found := phrases.remembering().match(text) or phrases.openers().match(text):
        if not found.end():
            break
        text = text[found.end() :]
    plain = without_quotes(text)
    is_whole = (
        '""' in plain
        or asks(plain)
        or any(phrase.search(plain) for phrase in (_turns(), phrases.doubts(), phrases.reports()))
        or bool(phrases.questions().match(plain))
    )
    return Piece(sentence[: len(sentence) - len(text)], text, is_whole)


@cache
def _turns() -> re.Pattern[str]:
    """Pattern of words without which a sentence says something else."""
    return re.compile(
        r"\b(?:not|\w+n'?t|cannot|never|no|none|nothing|nobody|nowhere|neither|nor|without|except|"
        r"unless|until|only|hardly|instead|rather|avoid\w*|stop\w*|refus\w*|forb[aio]d\w*|wrong|"
        r"false|untrue|outdated|obsolete|deprecated|if|when|while|but|although|though|despite|"
        r"nicht|kein\w*|nie|niemals|ohne|au\u00dfer|nur|wenn|falls|aber|statt|falsch|nunca|sin|si|"
        r"excepto|salvo|solo|pero|cuando|falso|ne|pas|jamais|sans|sauf|seulement|mais|quand|faux)\b"
        r"|\bn'",
        re.IGNORECASE,
    )
