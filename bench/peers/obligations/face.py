"""The face of ten methods that each system is tried through; an adapter has at most 60 lines.

`who` is the person whose memory it is, `by` whose words a text is: `user`, `agent` or `web`. What a
system does not offer raises NotOffered; nothing is built around it in an adapter.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

ANN, BOB = "ann", "bob"


class NotOffered(Exception):  # a verdict, not a fault
    """Raised by an adapter for what the system has no call for."""


@dataclass(frozen=True)
class Item:
    """A memory as a system gives it back; None where it says nothing of the source."""

    id: str
    text: str
    source: str | None = None


@dataclass(frozen=True)
class Answer:
    """What a system says of a write."""

    id: str | None
    outcome: str


@dataclass(frozen=True)
class Said:
    """What is said of a write: whose memory it is, whose words, and for how long."""

    who: str = ANN
    by: str = "user"  # or agent, web
    key: str | None = None
    days: float | None = None  # to keep it
    until_days: float | None = None  # for which it is true
    metadata: Mapping[str, str] | None = None

    @property
    def ends(self) -> bool:
        """Whether it is to be kept, or is true, for a time only."""
        return self.days is not None or self.until_days is not None


PLAIN = Said()


class Face(Protocol):
    """One store of one system."""

    def add(self, text: str, said: Said = PLAIN) -> Answer:
        """Stores a text."""

    def update(self, id: str, text: str, who: str = ANN) -> None:
        """Gives a memory another wording."""

    def delete(self, id: str, said: Said = PLAIN) -> None:
        """Takes a memory out of every answer."""

    def restore(self, id: str, who: str = ANN) -> None:
        """Takes a deletion back."""

    def search(self, query: str, who: str = ANN, days_ago: float | None = None) -> Sequence[Item]:
        """What answers a question, best first: now, or as it was known some days ago."""

    def get(self, id: str, who: str = ANN) -> Item | None:
        """One memory by its id."""

    def history(self, id: str, who: str = ANN) -> Sequence[str]:
        """Every wording that a memory had, oldest first."""

    def prompt(self, query: str, who: str = ANN) -> str:
        """What answers a question, as text for a prompt."""

    def erase(self, who: str) -> None:
        """Takes away all of a person for good."""

    def care(self, days: float = 0) -> Sequence[str]:
        """Lets so many days pass, does the upkeep, and returns what is wrong with the store."""


Opened: TypeAlias = Callable[[Path], AbstractContextManager[Face]]
