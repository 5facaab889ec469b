"""An explanation tells the story of the search: on random stores, questions and options."""

import random
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest

from memory_mesh.model import Hits, Scope
from memory_mesh.model.why import Gate, Why
from memory_mesh.search.ranking.profiles import RANKED
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.receipts import id_of

WORDS = (
    "tea", "milk", "door", "red", "blue", "branch", "main", "master", "deploy", "server", "port",
    "timeout", "cat", "train", "late", "invoice",
)  # fmt: skip
HIDDEN = {Gate.SCOPE, Gate.STATUS, Gate.VALIDITY, Gate.FILTER}
SEE = ("project",)


def said(chosen: random.Random) -> str:
    one, other = chosen.sample(WORDS, 2)
    plain = " ".join(chosen.choices(WORDS, k=chosen.randint(3, 8)))
    return chosen.choice((plain, plain, f"The {one} is {other}", f"The {one} is now {other}"))


def details(chosen: random.Random, now: datetime) -> dict[str, Any]:
    """What is stated beside a text, so that each gate has something to close for."""
    later = now + timedelta(hours=chosen.randint(1, 900))
    kinds: list[dict[str, Any]] = [
        {"scope": Scope(project=chosen.choice("ab"))},
        {"valid_until": later},
        {"valid_from": later},
        {"quarantine": "unsure"},
        {"triggers": chosen.choice(WORDS), "importance": "critical"},
        {"tags": [chosen.choice("xy")]},
    ]
    return chosen.choice([*kinds, {}, {}, {}])


def options(chosen: random.Random, now: datetime) -> dict[str, Any]:
    """The options of one search."""
    found: dict[str, Any] = {
        "profile": chosen.choice(["mesh", "mesh", "mesh", "rrf", "composite", "lane", "points"]),
        "limit": chosen.choice([1, 2, 5, 10]),
    }
    maybe: dict[str, Any] = {
        "min_relevance": chosen.random() ** 2,
        "filter": "tags = 'x'",
        "scope": Scope(project=chosen.choice("ab")),
        "include": ["quarantined"],
        "as_of": now - timedelta(hours=chosen.randint(1, 1_000)),
        "valid_at": now - timedelta(hours=chosen.randint(-900, 900)),
    }
    if found["profile"] in RANKED:
        maybe["min_similarity"] = chosen.random()
    return found | {name: value for name, value in maybe.items() if chosen.random() < 0.2}


def filled(mesh: MemoryMesh, clock: FrozenClock, chosen: random.Random, count: int) -> list[str]:
    ids = []
    for _ in range(count):
        clock.advance(timedelta(hours=chosen.randint(1, 30)))
        ids.append(id_of(mesh.add(said(chosen), **details(chosen, clock.now()))))
    return list(dict.fromkeys(ids))


def agrees(why: Why, hits: Hits) -> bool:
    """True if gate, place and score are those of the search, and the shares add up."""
    place = next((at for at, hit in enumerate(hits, start=1) if hit.id == why.id), None)
    if (place is None) != (why.gate is not None):
        return False
    rank = why.rank
    if rank is None:
        return place is None
    added_up = rank.base + sum(rank.shares.values()) == rank.margin
    return added_up and (
        place is None or (rank.place, rank.score) == (place, hits[place - 1].score)
    )


def opens(mesh: MemoryMesh, why: Why, question: str, asked: dict[str, Any]) -> bool:
    """True if a search without what closed the gate comes further."""
    wider = dict(asked)
    if why.gate is Gate.FILTER:
        del wider["filter"]
        after: set[Gate | None] = {None, *Gate} - HIDDEN
    elif why.gate in {Gate.LIMIT, Gate.OLDER}:
        wider["limit"] = 1_000
        after = {None, Gate.THRESHOLD}
    elif why.gate is Gate.THRESHOLD:
        wider.pop("min_relevance", None)
        wider["min_similarity"] = 0.0
        after = {None, Gate.LIMIT, Gate.OLDER}
    else:
        return True
    return mesh.explain(why.id, query=question, see_across=SEE, **wider).gate in after


@pytest.mark.parametrize("seed", [1, 2])
def test_gate_place_score_and_shares_are_those_of_the_search(mesh, clock, seed):
    chosen = random.Random(seed)
    ids, count = filled(mesh, clock, chosen, 60), Counter[Gate | None]()
    for _ in range(60):
        question, asked = said(chosen), options(chosen, clock.now())
        hits = mesh.search(question, use_cache=False, **asked)
        for id_ in {*chosen.sample(ids, 4), *(hit.id for hit in hits[:2])}:
            why = mesh.explain(id_, query=question, see_across=SEE, **asked)
            assert agrees(why, hits), (question, asked, why)
            assert opens(mesh, why, question, asked), (question, asked, why)
            count[why.gate] += 1
    assert count.keys() >= {None, *HIDDEN, Gate.CANDIDATES, Gate.LIMIT, Gate.THRESHOLD}
