"""The nouns of the scrubber; how many tokens a text has, estimated to err high; where to cut it.

A word costs a token for each three letters begun, a run of digits one for each two, a symbol one, a
character beyond the Latin script one and a half (a Korean syllable two and a half: tokenizers take
it apart), and letters in a row that no language has (keys, base64) one for each two. Blanks are
free: two texts with a blank between them cost their sum.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import accumulate

from memory_mesh.base.digests import sha256
from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import TypeAlias, dataclass
from memory_mesh.model.errors import InvalidInput
from memory_mesh.text import KnownWords

_LEAST_MAXIMUM = 32  # below it a long word could not be cut

Span: TypeAlias = tuple[int, int]
Section: TypeAlias = tuple[str, ...]

_LONGEST_WORD = 16
_SLICE = 8  # a longer run is cut into such parts
_LATIN_ENDS = "\u0250"
_HANGUL, _HANGUL_ENDS = "\uac00", "\ud7a3"
_ENDS, _ENDS_UNSPACED = ".!?\N{HORIZONTAL ELLIPSIS}:;", "\u3002\uff01\uff1f\uff1b"
_JOINERS = "\u200d\ufe0f"


@dataclass(frozen=True, slots=True)
class Unit:
    """A paragraph, heading, list item, table row or code block of a content, and its plain text."""

    start: int
    stop: int
    text: str
    level: int = 0  # of a heading, from 1
    code: bool = False
    section: Section = ()  # a heading belongs to the section that it opens


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a content that becomes a chunk."""

    start: int
    stop: int
    text: str
    section: Section = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """What is embedded and indexed of a stretch of a content, and where it comes from."""

    text: str
    start: int
    stop: int
    section: Section
    hash: str  # of the text, SHA-256 in hexadecimal
    tokens: int
    source: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """A text made ready: what is stored, what is embedded, and why something is missing."""

    content: str
    chunks: tuple[Chunk, ...]
    removed: tuple[str, ...] = ()

    @property
    def plain(self) -> str:
        """The text of every chunk, one after the other."""
        return "\n".join(chunk.text for chunk in self.chunks)


def lines_of(text: str) -> Iterable[tuple[int, str]]:
    """Each line with the place where it starts."""
    start = 0
    for line in text.split("\n"):
        yield start, line
        start += len(line) + 1


# The settings of the scrubber: chunk sizes and what is kept.


@dataclass(frozen=True, slots=True)
class ScrubSettings:
    """How the scrubber works; the defaults are those of its use on its own."""

    enabled: bool = True  # off: no cleaning, but private data is still hidden and chunks still made
    min_tokens: int = 10
    max_tokens: int = 500
    hard_max_tokens: int = 2_000
    enforce_min_length: bool = True
    min_signal: float = 0.3  # of the characters of a document's line


STANDALONE = ScrubSettings()
IN_MESH = ScrubSettings(min_tokens=1, enforce_min_length=False)


# Stage 6, validation: no empty chunk, none too short where that is enforced, none too long.


def checked(settings: ScrubSettings) -> ScrubSettings:
    """The settings, if they can be kept."""
    ordered = 0 <= settings.min_tokens <= settings.max_tokens <= settings.hard_max_tokens
    if not ordered or settings.max_tokens < _LEAST_MAXIMUM:
        raise InvalidInput(
            f"the limits of a chunk must increase: min_tokens, max_tokens (at least "
            f"{_LEAST_MAXIMUM}), hard_max_tokens; not {settings.min_tokens}, "
            f"{settings.max_tokens}, {settings.hard_max_tokens}"
        )
    return settings


def validated(
    chunks: Iterable[Chunk], settings: ScrubSettings
) -> tuple[tuple[Chunk, ...], list[str]]:
    """The chunks that may be stored, and why the others may not."""
    kept: list[Chunk] = []
    refused: list[str] = []
    for chunk in chunks:
        if chunk.tokens > settings.hard_max_tokens:
            raise InvalidInput(
                f"a chunk has {chunk.tokens} tokens, more than the hard maximum of "
                f"{settings.hard_max_tokens}; it cannot be stored"
            )
        if not chunk.text.strip():
            refused.append("empty chunk")
        elif settings.enforce_min_length and chunk.tokens < settings.min_tokens:
            refused.append("chunk below the minimum length")
        else:
            kept.append(chunk)
    return tuple(kept), refused


def count(text: str) -> int:
    """The estimate for a text."""
    return (sum(map(_halves_of_word, text.split())) + 1) // 2


def cut(text: str, limit: int) -> Iterator[Span]:
    """Spans of at most so many tokens that hold all but blanks, each ending as well as it can.

    Best is the end of a paragraph, then of a line, a sentence and a word.
    """
    atoms = list(_atoms(text))
    spent = list(accumulate((cost for _, _, cost in atoms), initial=0))
    first = 0
    while first < len(atoms):
        last = max(bisect_right(spent, spent[first] + 2 * limit) - 1, first + 1)
        if last < len(atoms):
            half = first + (last - first + 1) // 2
            last = max(range(half, last + 1), key=lambda at: (_ease(text, atoms, at), at))
        yield atoms[first][0], atoms[last - 1][1]
        first = last


def _halves(run: str) -> int:
    """The price of a run in half tokens."""
    first, size = run[0], len(run)
    if first.isalpha() and first < _LATIN_ENDS:
        return 2 * (-(-size // 3)) if size <= _LONGEST_WORD else size + size % 2
    if first.isascii():
        return size + size % 2
    if _HANGUL <= first <= _HANGUL_ENDS:
        return 5
    return 6 if first == "\N{HORIZONTAL ELLIPSIS}" else 3  # three dots once it is normalised


def _of_word(word: str) -> int:
    """The price in half tokens of what stands between two blanks: no run goes across one."""
    if word.isascii() and word.isalpha():  # most words: one run
        return _halves(word)
    return sum(map(_halves, _runs().findall(word)))


_halves_of_word = KnownWords(_of_word).__getitem__


def _atoms(text: str) -> Iterator[tuple[int, int, int]]:
    """What is not cut through: where each run, or part of an endless one, lies and its price."""
    for found in _runs().finditer(text):
        start, stop = found.span()
        if stop - start <= _LONGEST_WORD:
            yield start, stop, _halves(found[0])
            continue
        for at in range(start, stop, _SLICE):
            yield at, min(at + _SLICE, stop), _SLICE


def _ease(text: str, atoms: list[tuple[int, int, int]], at: int) -> int:
    """How well a text is cut before this atom."""
    before, after = atoms[at - 1][1], atoms[at][0]
    gap = text[before:after]
    if not gap:
        if text[after] in _JOINERS or text[before - 1] in _JOINERS or _combines(text[after]):
            return -1
        return 2 if text[before - 1] in _ENDS_UNSPACED else 0
    if "\n" in gap:
        return 4 if gap.count("\n") > 1 else 3
    return 2 if text[before - 1] in _ENDS else 1


def _combines(character: str) -> bool:
    """It belongs to the character before it."""
    if character.isascii():
        return False
    from unicodedata import category

    return category(character)[0] == "M"


_runs = lazy_pattern(r"[A-Za-z\u00c0-\u024f]+|[0-9]+|[^\sA-Za-z0-9\u00c0-\u024f]")


# Stage 5, annotation: adds source, section, hash and time to chunks.


def annotated(
    pieces: Iterable[Piece], *, source: str | None = None, at: datetime | None = None
) -> list[Chunk]:
    """Returns the pieces as chunks, with the caller's time."""
    return [
        Chunk(
            text=piece.text,
            start=piece.start,
            stop=piece.stop,
            section=piece.section,
            hash=sha256(piece.text.encode("utf-8", "surrogatepass")).hexdigest(),
            tokens=count(piece.text),
            source=source,
            at=at,
        )
        for piece in pieces
    ]
