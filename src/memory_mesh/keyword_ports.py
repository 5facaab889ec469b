"""What a keyword search asks of a ledger: counts, postings, scores, visibility, stored words.

The decisions (which words, what they may mean, how deep) are made in flows/keyword_plan.py. No
syntax of an engine is in an expression: each ledger compiles it to its own.
"""

from collections.abc import Iterator, Sequence

from memory_mesh.model.query import Expression, Postings
from memory_mesh.typed import Protocol


class Keywords(Protocol):
    """The words of all texts that may be for one lens, within one read transaction.

    Only `seen` and `versions` look at what the lens sees: the others count and score every text of
    the same tables, whoever it is for, so nothing of them may be told before `versions` has.
    """

    def texts(self) -> int:
        """How many texts there are: what the weight of a word is computed from."""

    def postings(
        self, expressions: Sequence[Expression], *, exact: int, listed: int
    ) -> list[Postings]:
        """How many texts hold each expression: exact up to a count, an estimate above it.

        At most `listed` of them are named, and none where there are more.
        """

    def seen(self, expressions: Sequence[Expression]) -> list[bool]:
        """Whether a text that the lens sees holds each expression; a bounded look."""

    def best(
        self,
        expression: Expression,
        also: Sequence[tuple[Expression, float]] = (),
        *,
        deepest: int,
        limit: int,
    ) -> list[tuple[int, float]]:
        """The best texts by BM25 with what each of `also` adds where it holds too, best first.

        Only the newest `deepest` texts that hold the expression are scored; ties: the newest.
        """

    def holding(self, expression: Expression) -> Iterator[int]:
        """The texts that hold an expression, newest first, those out of use last; read as taken."""

    def versions(self, texts: Sequence[int]) -> list[tuple[int, int]]:
        """Those of the texts that the lens sees, each with its version."""

    def beginning(self, letters: str) -> list[str]:
        """The first stored words that begin so, in the order of the alphabet; a bounded look."""

    def stored(self, words: Sequence[str]) -> list[str]:
        """Those of the words that some text holds."""

    def none_held(self) -> None:
        """No text holds a word of a question: a ledger may check that its tables are whole."""
