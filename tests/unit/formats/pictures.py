"""Memories to draw: the examples of docs/graph.md, and any neighbourhood at all."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from memory_mesh.base.typed import replace
from memory_mesh.model import Claim, Kind, Link, Memory, Status
from memory_mesh.model.graph import Neighbourhood

START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
TOPICS = (
    "the checkout page", "the search index", "the payment service", "the nightly backup",
    "the login form", "the image cache", "the price list", "the mail queue", "the staging server",
    "the test data", "the release notes", "the mobile app",
)  # fmt: skip
SAYINGS = (
    "We moved {} to the new cluster because the old one ran out of memory every Monday morning",
    "Before anyone changes {}, Ana wants to see the figures of the last two weeks",
    "Jonas fixed {} by restarting the worker; the reason was a lock that nobody released",
    "The team decided that {} is the first thing to check after a deploy",
    "Customers in Norway reported that {} was slow between eight and nine in the evening",
)
EDITORS = ("Emacs", "Vim", "Kakoune", "Helix", "Zed")


def memory(number: int, text: str, **details: Any) -> Memory:
    """A memory of a day of its own."""
    at = START + timedelta(days=number)
    id_ = f"mem_{int(at.timestamp() * 1_000)}_{number:06x}"
    made = Memory(id=id_, text=text, created=at, recorded_from=at)
    return replace(made, **details)


def example(count: int) -> Neighbourhood:
    """A neighbourhood of so many memories, with links of several types and a superseded one."""
    chance = random.Random(14)
    texts = [saying.format(topic) for saying in SAYINGS for topic in TOPICS]
    found = [memory(number, texts[number * 7 % len(texts)]) for number in range(count)]
    hub = min(count - 1, 4 if count < 10 else 9)
    links = [Link(found[n].id, found[0].id, "similar", chance.uniform(0.5, 0.9))
             for n in range(1, hub + 1)]  # fmt: skip
    for number in range(hub + 1, count):
        near = found[chance.randint(1, hub)].id
        type_ = chance.choice(("similar", "similar", "similar", "derived_from", "part_of"))
        similarity = chance.uniform(0.5, 0.9) if type_ == "similar" else None
        links.append(Link(found[number].id, near, type_, similarity))
        if chance.random() < 0.5:
            other = found[chance.randint(1, number - 1)].id
            links.append(Link(found[number].id, other, "similar", chance.uniform(0.5, 0.7)))
    if count > 3:
        found[3] = replace(found[3], status=Status.SUPERSEDED, successor=found[2].id)
    return Neighbourhood(found[0].id, tuple(found), tuple(links), 23 if count > 20 else 0)


def example_chain() -> Neighbourhood:
    """Five editors, of which two were replaced by the same, and a guess."""
    later = {0: 2, 1: 2, 2: 3}
    found = [
        memory(
            number * 40,
            f"The user writes everything in {name} now",
            kind=Kind.PREFERENCE,
            claim=Claim(subject="user", predicate="editor", value=name),
            status=Status.SUPERSEDED if number in later else Status.ACTIVE,
            successor=memory(later[number] * 40, "").id if number in later else None,
        )
        for number, name in enumerate(EDITORS)
    ]
    guess = Link(found[4].id, found[3].id, "newer_than")
    return Neighbourhood(found[2].id, tuple(found), (guess,))


def of_texts(texts: Sequence[str], types: Sequence[str] = ("related",)) -> Neighbourhood:
    """Memories with these texts, all linked to the first, with types in turn."""
    found = [memory(number, text) for number, text in enumerate(texts)]
    links = [
        Link(found[0].id, each.id, types[number % len(types)])
        for number, each in enumerate(found[1:])
    ]
    return Neighbourhood(found[0].id, tuple(found), tuple(links))
