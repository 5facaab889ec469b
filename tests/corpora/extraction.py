"""Judged conversations: what of them should be remembered, and what models could answer.

`right` answers hold the facts of the judge. `ungrounded` and `injected` ones hold others beside
them, whose quotes nobody wrote, or that stand in pasted texts, output, jokes and dropped plans.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class JudgedConversation:
    """One conversation with its facts and answers."""

    id: str
    at: str
    messages: list[dict[str, str]]
    facts: list[dict[str, Any]]
    answers: Mapping[str, str]
    kept: list[str]  # sentences that a careful detector finds without a model
    refused: list[str]  # sentences that none may keep
    secrets: list[str]

    def others(self, answer: str) -> list[dict[str, Any]]:
        """The facts of an answer that the judge does not have."""
        own = {(fact["text"], fact["quote"]) for fact in self.facts}
        found = json.loads(self.answers[answer])["facts"]
        return [fact for fact in found if (fact["text"], fact["quote"]) not in own]

    def roles_of(self, quote: str) -> set[str]:
        """The roles in whose messages a quote occurs."""
        return {each["role"] for each in self.messages if plain(quote) in plain(each["content"])}


def conversations(half: str) -> Iterator[JudgedConversation]:
    """The conversations of one set: dev, held_out or fresh."""
    path = FOLDER / f"extraction_{half}.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        yield JudgedConversation(
            told["id"], told["at"], told["messages"], told["facts"], told["answers"],
            told["no_model"]["kept"], told["no_model"]["refused"], told["secrets"],
        )  # fmt: skip


def plain(text: str) -> str:
    """The text without regard to blanks and case."""
    return " ".join(text.split()).casefold()


def overlap(one: str, other: str) -> bool:
    """Whether one text lies in the other."""
    here, there = plain(one).strip("."), plain(other).strip(".")
    return here in there or there in here
