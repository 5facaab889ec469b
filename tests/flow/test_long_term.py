"""Long-term memory is kept until somebody prunes it, and serves patterns and skills."""

from datetime import timedelta

import pytest

from memory_mesh.model import Tier
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock

RELEASE = "Release: first run `just test`, then write the notes, then tag the commit."
AGAIN = "To release, run `just test`, write the notes and tag the commit, in that order."


@pytest.mark.req("R-002-008")
def test_what_was_learned_is_found_and_used_after_years_until_it_is_deleted(
    mesh: MemoryMesh, clock: FrozenClock
) -> None:
    ids = [str(mesh.add(text, {"type": "learning"}).id) for text in (RELEASE, AGAIN)]
    assert {mesh.history(id_)[-1].tier for id_ in ids} == {Tier.LONG_TERM}
    clock.advance(timedelta(days=3_650))
    mesh.care.upkeep()
    assert {hit.id for hit in mesh.search("how do we release")} == set(ids)
    assert mesh.synthesize(topic="release").status == "staged"
    mesh.delete(ids[0])
    assert [hit.id for hit in mesh.search("how do we release")] == ids[1:]
