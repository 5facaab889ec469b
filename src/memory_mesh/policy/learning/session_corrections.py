"""Finds which earlier statement of a session a later one sets right."""

from collections.abc import Mapping, Sequence

from memory_mesh.model import Kind
from memory_mesh.policy.learning.capture import near_twin
from memory_mesh.policy.learning.statements import Statement
from memory_mesh.policy.text import analyze

_SHARE = 0.4  # of the terms of an earlier statement that a correction takes up again
_TERMS = 2  # shared terms that make it sure that both speak of the same
_PRONOUNS = ("it ", "it's ", "its ", "they ", "that's ", "they're ", "es ", "c'est ")
_FRAME, _ALIKE = 3, 0.6  # first words, and share of all terms, of a sentence that is said anew


def repeated(text: str, earlier: Mapping[str, str]) -> str | None:
    """Returns the id of the earlier statement that says the same, or None."""
    same = (id_ for id_, known in earlier.items() if known == text or near_twin(text, known, 0.8))
    return next(same, None)


def corrected(
    statement: Statement,
    others: Sequence[Statement],
    earlier: Mapping[str, str],
    said: str,
    *,
    decided: Sequence[str] = (),
) -> str | None:
    """Returns the id of the earlier statement that this one replaces, or None.

    `said` is the whole of the prompt's own sentences: a correction often names its subject in the
    sentence beside. Of several statements of one prompt the first that names it replaces it.
    `decided` are the ids of decisions, the newest first.
    """
    anew = next((id_ for id_, known in earlier.items() if _says_anew(statement.text, known)), None)
    if anew is not None or not statement.corrects:
        return anew
    best = max(earlier, key=lambda id_: _taken_up(said, earlier[id_]), default=None)
    if statement.surely and not any(_taken_up(said, known) for known in earlier.values()):
        return _reversed(statement, earlier, decided)
    plainly = statement.surely or statement.text.casefold().startswith(_PRONOUNS)
    if best is None or not (plainly or _is_meant(said, earlier[best])):
        return None
    if not _taken_up(said, earlier[best]):
        return None
    named = [one for one in others if one.corrects and _taken_up(one.text, earlier[best])]
    return best if named[:1] in ([], [statement]) else None


def _reversed(
    statement: Statement, earlier: Mapping[str, str], decided: Sequence[str]
) -> str | None:
    """The statement that a plain correction replaces though it names nothing of it.

    That is the last decision for a decision, and the only statement of the session for others.
    """
    if statement.kind is Kind.DECISION:
        return next((id_ for id_ in decided if id_ in earlier), None)
    return next(iter(earlier)) if len(earlier) == 1 else None


def taken_back(said: str, earlier: Mapping[str, str]) -> str | None:
    """Returns the id of the statement that a prompt which takes something back names, or None.

    A prompt that names none may as well mean the task at hand: nothing is taken back then.
    """
    best = max(earlier, key=lambda id_: _taken_up(said, earlier[id_]), default=None)
    return best if best is not None and _taken_up(said, earlier[best]) else None


def _is_meant(said: str, known: str) -> bool:
    terms = set(analyze.terms(known))
    shared = len(terms & set(analyze.terms(said)))
    return shared >= min(_TERMS, len(terms)) and _taken_up(said, known) >= _SHARE


def _taken_up(said: str, known: str) -> float:
    terms = set(analyze.terms(known))
    return len(terms & set(analyze.terms(said))) / len(terms) if terms else 0.0


def _says_anew(text: str, known: str) -> bool:
    """True for two sentences of one frame: `the server runs on 8080`, `the server runs on 9090`."""
    words, others = text.casefold().split(), known.casefold().split()
    if words[:_FRAME] != others[:_FRAME] or words == others:
        return False
    mine, theirs = set(analyze.terms(text)), set(analyze.terms(known))
    joined = mine | theirs
    return bool(joined) and len(mine & theirs) / len(joined) >= _ALIKE
