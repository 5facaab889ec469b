"""Cutting a long text into windows that a model can read whole.

A window is a run of tokens. It ends where a sentence ends if one does in its last quarter, and the
next one starts a little before that end, so that no sentence is only ever seen in two halves.
"""

import math
import re
import sys
import threading
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING, Protocol, TypeVar
from memory_mesh.model import Embedding, EmbeddingError, Space
from memory_mesh.platform import forks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OVERLAP = 32  # tokens that two neighbours share
_SENTENCE_ENDS, _SENTENCE_ENDS_UNSPACED = ".!?…", "。\uff01\uff1f"  # the latter in CJK text

Span = tuple[int, int]
Window = TypeVar("Window")
_PIECES = re.compile(
    r"[A-Za-z0-9+/=_-]{24,}"  # no language has such words: base64, hashes, paths
    r"|[A-Za-z]{1,3}|\S",
    re.ASCII,
)
_LONG_TOKEN_CHARS = 24


class WindowedModel(Protocol):
    """A model that is loaded: its space, the windows of a text, and a vector for each window."""

    @property
    def space(self) -> Space:
        """The space of its vectors."""

    def windows(self, text: str) -> list[list[int]]:
        """The token numbers of each window of a text."""

    def run(self, framed: Sequence[Sequence[int]], /) -> list[bytes]:
        """One vector for each window, in order."""


class LocalEmbedder:
    """A model in a folder; safe in threads, loaded on first use and anew after a fork."""

    def __init__(
        self,
        folder: Path,
        load: Callable[[], WindowedModel],
        trouble: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """Take what loads the model, and what says its troubles as an EmbeddingError."""
        self._folder, self._load, self._trouble = folder, load, trouble
        self._model: WindowedModel | None = None
        self._loading = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._folder)!r})"

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """Vectors in the order of the texts; of a long query its first and last window count."""
        with self._trouble():
            model = self._loaded()
            cuts = [model.windows(text) for text in texts]
            if query:
                cuts = [for_query(cut) for cut in cuts]
            found = iter(model.run([window for cut in cuts for window in cut]))
            return Embedding(model.space, grouped(found, cuts, query=query))

    def close(self) -> None:
        """Release the model; a later `embed` would load it again."""
        self._model = None

    def after_fork(self) -> None:
        """A child loads the model anew: another thread may have been using its tokenizer."""
        self._model, self._loading = None, threading.Lock()

    def _loaded(self) -> WindowedModel:
        model = self._model
        if model is None:
            with self._loading:
                if self._model is None:
                    forks.protect(self)
                    self._model = self._load()
                model = self._model
        return model


def cut(text: str, tokens: Sequence[Span], limit: int, costs: Sequence[int] = ()) -> list[Span]:
    """The windows as ranges of tokens: together they hold every token, each costs at most `limit`.

    Tokens are given by where they lie in the text; one costs 1 where no costs are given.
    """
    spent: Sequence[int] = list(accumulate(costs, initial=0)) if costs else range(len(tokens) + 1)
    found, start = list[Span](), 0
    while spent[-1] - spent[start] > limit and start + 1 < len(tokens):
        furthest = max(bisect_right(spent, spent[start] + limit) - 1, start + 1)
        end = _end(text, tokens, furthest - (furthest - start) // 4, furthest)
        found.append((start, end))
        share = min(OVERLAP, limit // 4)
        start = max(_start(text, tokens, bisect_left(spent, spent[end] - share), end), start + 1)
    return [*found, (start, len(tokens))]


def estimated(text: str, limit: int) -> list[str]:
    """Windows for a model whose tokenizer is not here, counted so that none is ever too long.

    Three letters count as a token where a tokenizer takes four or five; of what is no plain word
    each byte counts, which is the most that a byte-level tokenizer makes of it.
    """
    tokens, costs = list[Span](), list[int]()
    for piece in _PIECES.finditer(text):
        step = 1 if len(piece[0]) >= _LONG_TOKEN_CHARS else len(piece[0])
        for start in range(piece.start(), piece.end(), step):
            tokens.append((start, start + step))
            costs.append(1 if piece[0].isascii() else len(piece[0].encode("utf-8", "replace")))
    if not tokens:
        return [text]
    return [
        text[tokens[start][0] : tokens[end - 1][1]]
        for start, end in cut(text, tokens, limit, costs)
    ]


def for_query(windows: Sequence[Window]) -> list[Window]:
    """Of a question too long for one window: what it starts with and what it ends with."""
    return [*windows[:1], *windows[1:][-1:]]


def _end(text: str, tokens: Sequence[Span], least: int, furthest: int) -> int:
    """The latest end of a sentence, else of a word, after at least so many tokens."""
    candidates = range(furthest, max(least, 1) - 1, -1)
    for ends in (_sentence_ends, _word_ends):
        for end in candidates:
            if ends(text, tokens, end):
                return end
    return furthest


def _start(text: str, tokens: Sequence[Span], least: int, end: int) -> int:
    """The earliest start of a sentence, else of a word, within the overlap."""
    for ends in (_sentence_ends, _word_ends):
        for start in range(least, end):
            if ends(text, tokens, start):
                return start
    return least


def _sentence_ends(text: str, tokens: Sequence[Span], position: int) -> bool:
    """The token before this position is the last of its sentence or line."""
    before, after = tokens[position - 1][1], tokens[position][0]
    last, gap = text[before - 1 : before], text[before:after]
    spaced = bool(gap) and last in _SENTENCE_ENDS
    return spaced or last in _SENTENCE_ENDS_UNSPACED or "\n" in gap


def _word_ends(text: str, tokens: Sequence[Span], position: int) -> bool:
    """The token at this position does not go on with the word before it."""
    before, after = tokens[position - 1][1], tokens[position][0]
    return before < after or text[after : after + 1].isspace()


# Vectors as bytes: little-endian float32 of length 1, and never anything else.


def packed(rows: "NDArray[np.float32]") -> list[bytes]:
    """Each row at length 1, as bytes."""
    import numpy as np

    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(norms).all() and (norms > 0).all()):
        raise EmbeddingError("the model answered with a vector that is zero or not a number")
    return [row.tobytes() for row in (rows / norms).astype("<f4")]


def pack(numbers: Sequence[float]) -> bytes:
    """The numbers at length 1, as bytes."""
    try:
        norm = math.hypot(*numbers)
    except OverflowError:  # an integer beyond every float
        norm = math.inf
    if not (math.isfinite(norm) and norm > 0):
        raise EmbeddingError("the service answered with a vector that is zero or not a number")
    found = array("f", (number / norm for number in numbers))
    if sys.byteorder == "big":
        found.byteswap()
    return found.tobytes()


def mean(group: Sequence[bytes]) -> bytes:
    """One vector for a text of several windows: between theirs, at length 1."""
    if len(group) == 1:
        return group[0]
    columns = [array("f", vector) for vector in group]
    if sys.byteorder == "big":
        for column in columns:
            column.byteswap()
    return pack([sum(numbers) for numbers in zip(*columns, strict=True)])


def grouped(
    found: Iterator[bytes], cuts: Sequence[Sequence[object]], *, query: bool
) -> tuple[tuple[bytes, ...], ...]:
    """The vectors of each text, one for each of its windows; a query has one in all."""
    groups = [tuple(next(found) for _ in cut) for cut in cuts]
    return tuple((mean(group),) for group in groups) if query else tuple(groups)


def encodable(text: str) -> str:
    """The text with a question mark for each half of a character, which no encoder takes."""
    return text.encode("utf-8", "replace").decode("utf-8")
