"""Neighbours of many turns at once, compared with a look at every turn of their session."""

from random import Random

import pytest

from memory_mesh.model import Scope
from memory_mesh.rules.trust import lens_of

AUDIENCES = (Scope("shop", None, "s"), Scope(None, None, "s"), Scope("shop", None, "t"))


@pytest.fixture
def turns(mesh):
    """Turns of three audiences; some share a place, some are gone, some stand alone."""
    chance = Random(11)
    for number in range(120):
        scope = chance.choice(AUDIENCES) if number % 9 else Scope("shop")
        receipt = mesh.add(
            f"turn {number} about w{number}",
            scope=scope,
            **({"order": chance.randrange(40)} if scope.session else {}),
        )
        if chance.random() < 0.15:
            mesh.delete(receipt.id, scope=scope)
    return mesh


@pytest.mark.parametrize("asked", [1, 7, 60])
@pytest.mark.parametrize("across", [(), ("session",), ("session", "project")])
def test_neighbours_are_those_of_a_look_at_every_turn(turns, asked, across):
    reader = Scope("shop", None, None if "session" in across else "s")
    with turns._read() as snapshot:
        lens = lens_of(turns._now(), reader, across=across)
        ids = [one.id for one in turns.get_all(limit=500, scope=reader, across=across)]
        seen = snapshot.numbers(ids, lens)
        memories = snapshot.load(list(seen.values()))
        for seed in range(6):
            versions = Random(seed).sample(sorted(memories), asked)
            placed = snapshot.around(versions, lens, None)
            wanted = dict.fromkeys(versions) | {
                beside: None for one in versions for beside in plainly(one, memories) if beside
            }
            assert sorted(placed) == sorted(wanted)
            assert list(placed) == sorted(placed)
            for version, place in placed.items():
                told = (one if one in placed else None for one in plainly(version, memories))
                assert (place.before, place.after) == tuple(told)


def plainly(version, memories):
    """The nearest before and after a turn of the same session and audience; ties: the newest."""
    own = memories[version]
    if own.scope.session is None:
        return None, None
    others = [
        (number, one.order)
        for number, one in memories.items()
        if one.scope == own.scope and one.order != own.order
    ]
    before = [(order, number) for number, order in others if order < own.order]
    after = [(-order, number) for number, order in others if order > own.order]
    return tuple(max(side)[1] if side else None for side in (before, after))
