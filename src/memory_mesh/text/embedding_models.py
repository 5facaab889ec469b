"""What is known of embedding models: how their cosines compare, and which scripts they read."""

from memory_mesh.base.typed import dataclass
from memory_mesh.model import Space

MEANING, STATIC, WORDS = "meaning", "static", "words"  # orders: what the cosines are worth
_LATIN = 0x2FF  # the last code point of most Latin letters
_MORE_LATIN = (0x1E00, 0x1EFF)  # with two marks, as Vietnamese writes them
_MOST_OTHER = 0.2  # share of other letters up to which a question counts as Latin


@dataclass(frozen=True, slots=True)
class Traits:
    """How to read the cosines of one model."""

    slope: float = 1.0  # takes its cosines to the scale of all-MiniLM-L6-v2, which ranking knows
    offset: float = 0.0
    latin_only: bool = False  # vectors of other scripts say nothing
    order: str = MEANING


_KNOWN = {
    "all-MiniLM-L6-v2": Traits(latin_only=True),
    "l2_supercat_256": Traits(slope=1.18, latin_only=True, order=STATIC),
}
_UNKNOWN = Traits()


def traits(space: Space | None) -> Traits:
    """Returns what is known of the model of a space; an unknown one is taken as it is."""
    return _UNKNOWN if space is None else _KNOWN.get(space.model, _UNKNOWN)


def order(space: Space | None, question: str) -> str:
    """Returns the order for a question: by words where its script says nothing to the model."""
    if space is None:
        return WORDS
    known = traits(space)
    return WORDS if known.latin_only and not _mostly_latin(question) else known.order


def reads(space: str, text: str) -> bool:
    """False if the model of a space, given by the space's name, does not know the text's script."""
    latin_only = any(_KNOWN[part].latin_only for part in space.split("/") if part in _KNOWN)
    return not latin_only or _mostly_latin(text)


def _mostly_latin(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    return sum(not _is_latin(ord(char)) for char in letters) <= _MOST_OTHER * len(letters)


def _is_latin(code: int) -> bool:
    return code <= _LATIN or _MORE_LATIN[0] <= code <= _MORE_LATIN[1]
