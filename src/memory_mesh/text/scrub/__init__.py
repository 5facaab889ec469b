"""Cleans a text and cuts it into chunks before it is stored and embedded (RFC-0011 section 6).

::

    text -> redact -> 1 structure -> 2 filtering -> 3 normalising -> content
    content -> 4 chunking -> 5 annotating -> 6 validating -> chunks

`content` is stored: readable Markdown, code untouched. The chunks' texts are embedded and indexed;
they follow from the content alone (`chunks_of`). Nothing comes out that `redact` has not seen last,
and an error anywhere lets nothing out.
"""

from collections.abc import Callable
from datetime import datetime
from itertools import pairwise

from memory_mesh.base.typed import TypeAlias
from memory_mesh.model.errors import InvalidInput
from memory_mesh.text.scrub import filtering, tokens
from memory_mesh.text.scrub.forms import TextForm, form_of
from memory_mesh.text.scrub.tokens import (
    IN_MESH,
    STANDALONE,
    Chunk,
    Piece,
    Scrubbed,
    ScrubSettings,
    Unit,
    annotated,
    checked,
    validated,
)

__all__ = [
    "IN_MESH",
    "STANDALONE",
    "Chunk",
    "ScrubSettings",
    "Scrubbed",
    "TextForm",
    "chunks_of",
    "form_of",
    "scrub",
]

Redact: TypeAlias = Callable[[str], str]
Private: TypeAlias = tuple[int, int, str]
_UNFORMED = (None, TextForm.TEXT, TextForm.MARKDOWN)  # a plain line is the same in each
_PASSES = 10  # a page whose text is a page again, and so on


def scrub(
    text: str,
    settings: ScrubSettings = STANDALONE,
    *,
    form: TextForm | None = None,
    redact: Redact | None = None,
    source: str | None = None,
    at: datetime | None = None,
) -> Scrubbed:
    """Returns the content to store and the chunks to embed; deterministic and idempotent."""
    hide = _once(redact)
    hidden, removed = hide(text), list[str]()
    line = _plain_line(hidden) if checked(settings).enabled and form in _UNFORMED else ""
    piece = _untouched(line, settings, hide) if line else None
    if piece is not None:
        chunks, refused = validated(annotated([piece], source=source, at=at), settings)
        return Scrubbed(line, chunks, tuple(refused))
    content = _cleaned(hidden, settings, form, removed)
    content, pieces = _hidden(content, settings, form, hide)
    chunks, refused = validated(annotated(pieces, source=source, at=at), settings)
    return Scrubbed(content, chunks, (*removed, *refused))


def chunks_of(content: str) -> tuple[Chunk, ...]:
    """Returns the chunks of a stored content, the same as `scrub` returned."""
    from memory_mesh.text.scrub import chunking

    chunks, _ = validated(annotated(chunking.pieces_of(content, IN_MESH)), IN_MESH)
    return chunks


def _plain_line(text: str) -> str:
    """Returns the one line of a text that no stage changes but for blanks around it; else "".

    Without a line end, a tag, bold words, a link and a heading, every form is read as plain text.
    """
    marked = "\n" in text or "\r" in text or "<" in text or "**" in text or "](" in text
    line = "" if marked else text.strip()
    return "" if line[:1] == "#" else line


def _untouched(line: str, settings: ScrubSettings, hide: Redact) -> Piece | None:
    """Returns a plain line as its only piece, as the stages would; None if it is for them."""
    text = filtering.prose(line)
    fits = tokens.count(text) <= settings.max_tokens
    return Piece(0, len(line), text) if fits and hide(line) == line and hide(text) == text else None


def _cleaned(text: str, settings: ScrubSettings, form: TextForm | None, removed: list[str]) -> str:
    """Runs stages 1 to 3 until they change nothing more."""
    if not settings.enabled:
        return text if text.strip() else ""
    from memory_mesh.text.scrub import markdown  # a plain line needs no stage

    for _ in range(_PASSES):
        seen = form or form_of(text)
        before, (text, gone) = text, markdown.cleaned(text, seen)
        removed += gone
        if seen in (TextForm.HTML, TextForm.DOCUMENT):
            text, gone = filtering.filtered(text, settings.min_signal)
            removed += gone
            text = filtering.document(text)
        if text == before:
            break
    return text


def _hidden(
    content: str, settings: ScrubSettings, form: TextForm | None, hide: Redact
) -> tuple[str, list[Piece]]:
    """Returns content and pieces in which no private value shows, with or without markup."""
    from memory_mesh.text.scrub import chunking

    for _ in range(_PASSES):
        pieces = chunking.pieces_of(content, settings)
        private = _private(content, pieces, hide)
        if not private and hide(content) == content:
            return content, pieces
        for start, stop, text in reversed(private):
            content = content[:start] + text + content[stop:]
        content = _cleaned(hide(content), settings, form, [])
    raise InvalidInput("private data could not be removed from the text; nothing was stored")


def _private(content: str, pieces: list[Piece], hide: Redact) -> list[Private]:
    """Returns the spans that show a private value only without markup, and replacements."""
    shown = [piece for piece in pieces if hide(piece.text) != piece.text]
    if not shown:
        return []
    from memory_mesh.text.scrub import chunking

    units = list(chunking.units_of(content))
    alone = [unit for unit in units if hide(unit.text) != unit.text]
    if alone:
        return [(unit.start, unit.stop, hide(unit.text)) for unit in alone]
    together = _together(content, units, hide)
    return together or [(piece.start, piece.stop, hide(piece.text)) for piece in shown]


def _together(content: str, units: list[Unit], hide: Redact) -> list[Private]:
    """Returns the spans of neighbouring units that show a private value only together."""
    found: list[Private] = []
    for one, other in pairwise(units):
        both = f"{one.text}\n{other.text}"
        hidden = hide(both)
        if hidden != both and (not found or found[-1][1] <= one.start):
            raw = content[one.start : other.stop]
            value, instead = _differing(both, hidden)
            text = raw.replace(value, instead) if value in raw else hidden
            found.append((one.start, other.stop, text))
    return found


def _differing(one: str, other: str) -> tuple[str, str]:
    """Removes the common start and end of two texts."""
    start = _alike(one, other)
    one, other = one[start:], other[start:]
    end = _alike(one[::-1], other[::-1])
    return one[: len(one) - end], other[: len(other) - end]


def _alike(one: str, other: str) -> int:
    """Returns the length of the common start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _once(redact: Redact | None) -> Redact:
    """Returns a redact function that skips texts it has already redacted."""
    if redact is None:
        return _as_is
    known: dict[str, str] = {}

    def hide(text: str) -> str:
        found = known.get(text)
        if found is None:
            found = known[text] = redact(text)
            known[found] = found
        return found

    return hide


def _as_is(text: str) -> str:
    return text
