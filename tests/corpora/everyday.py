"""Two people's everyday memories, questions in other words, and stores of any size around them.

They were written by hand before any change they measure and without a look at ranking. A topic's
number decides the half (odd: `open`, may be tuned on; even: `held_out`, only reported) and each
half is one person's store: 200 memories, twenty to a topic. A question shares hardly a word with
its memory; `answers` has the ids of all memories of the half that answer it.

`store` forms what a question is asked in: 20 memories are its topic, 200 its half, more are the
half and `filler`: remarks about acquaintances and other people's software, joined in an order
that SEED fixes out of the parts in everyday_filler.json. No question is about one of those, so
filler answers none.
"""

import json
import random
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any, Literal

Half = Literal["open", "held_out"]

FOLDER = Path(__file__).parent
SEED = 20261119
TOPIC_SIZE, HALF_SIZE = 20, 200


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing an agent remembers; filler has no topic."""

    id: str
    topic: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question; without `answers` nothing in any store answers it."""

    id: str
    topic: str
    text: str
    answers: tuple[str, ...]


def memories(half: Half) -> tuple[Memory, ...]:
    """The 200 memories of one half."""
    rows = _rows("everyday_memories", half)
    return tuple(Memory(row["id"], row["topic"], row["text"]) for row in rows)


def questions(half: Half) -> tuple[Question, ...]:
    """The 75 answerable questions of one half."""
    return tuple(
        Question(row["id"], row["topic"], row["question"], tuple(row["answers"]))
        for row in _rows("everyday_questions", half)
    )


def unanswerable(half: Half) -> tuple[Question, ...]:
    """The 50 questions of one half without an answer; the topic is on_topic or off_topic."""
    return tuple(
        Question(row["id"], row["kind"], row["question"], ()) for row in _rows("unanswerable", half)
    )


def store(half: Half, size: int, topic: str = "") -> tuple[Memory, ...]:
    """The memories a question of `half` and `topic` is asked in: 20, 200 or more."""
    every = memories(half)
    if size == TOPIC_SIZE:
        return tuple(memory for memory in every if memory.topic == topic)
    assert size >= HALF_SIZE, size
    return every + filler(size - HALF_SIZE)


@cache
def filler(count: int) -> tuple[Memory, ...]:
    """So many remarks that answer nothing, always the same ones."""
    parts = json.loads((FOLDER / "everyday_filler.json").read_text(encoding="utf-8"))
    pairs = [
        *product(parts["people"], parts["of_people"]),
        *product(parts["things"], parts["of_things"]),
    ]
    random.Random(SEED).shuffle(pairs)
    endings = parts["endings"]
    texts = (
        f"{who} {does}, {endings[(turn + n) % len(endings)]}."
        for turn in range(len(endings))
        for n, (who, does) in enumerate(pairs)
    )
    return tuple(Memory(f"f{n:05d}", "", text) for n, text in enumerate(islice(texts, count), 1))


def _rows(name: str, half: Half) -> list[dict[str, Any]]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    return [row for row in rows if row["half"] == half]
