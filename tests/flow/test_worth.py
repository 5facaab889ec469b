"""What memories were worth in the latest prompts, by counts and votes."""

from datetime import timedelta

import pytest

from memory_mesh.context.records import OFTEN
from memory_mesh.model import Scope

QUESTION = "how do we deploy the app?"


@pytest.fixture
def told(mesh, clock):
    """Tells both memories of a deploy so many times, a minute after each other."""
    ids = [
        mesh.add(text).id
        for text in ("The app is deployed by hand", "A deploy of the app is short")
    ]

    def tell(times=1):
        for _ in range(times):
            clock.advance(timedelta(minutes=1))
            assert {item.id for item in mesh.context(QUESTION)} == set(ids)
        return ids

    return tell


def _of(mesh, **options):
    return {one.memory.id: one for one in mesh.review.worth(**options)}


def test_it_counts_how_often_a_memory_was_told_and_its_tokens(mesh, told):
    one, other = told(3)
    found = _of(mesh, every=True)
    tokens = [sum(item.tokens for item in mesh.context(QUESTION, record=False) if item.id == id_)
              for id_ in (one, other)]  # fmt: skip
    assert [(found[id_].told, found[id_].tokens) for id_ in (one, other)] == [
        (3, 3 * count) for count in tokens
    ]
    assert _of(mesh) == {}  # nobody said anything against them


def test_what_was_voted_down_cost_tokens_for_nothing_until_somebody_votes_for_it(mesh, told):
    one, _ = told(2)
    mesh.rate(one, helpful=False)
    found = _of(mesh)
    assert list(found) == [one]
    assert "told 2 times" in str(found[one])
    assert "harmful 1 times" in str(found[one])
    mesh.rate(one, helpful=True)
    assert _of(mesh) == {}


def test_a_correction_soon_after_counts_and_a_later_one_does_not(mesh, clock):
    old = mesh.add("The default branch is master").id
    for _ in range(2):
        clock.advance(timedelta(minutes=1))
        mesh.context("which is the default branch?")
    clock.advance(timedelta(hours=2))
    new = "The default branch is now main"
    assert mesh.add(new).id
    assert _of(mesh) == {}
    clock.advance(timedelta(minutes=5))
    mesh.context("which is the default branch?")
    clock.advance(timedelta(minutes=5))
    mesh.add(new)  # the same correction again
    found = _of(mesh)
    assert list(found) == [old]
    assert found[old].corrected == 1


def test_what_is_never_voted_for_is_offered_only_where_others_are(mesh, told):
    one, other = told(OFTEN)
    assert _of(mesh) == {}
    mesh.rate(other, helpful=True)
    assert list(_of(mesh)) == [one]
    mesh.pin(one)
    assert _of(mesh) == {}


def test_a_reader_is_offered_what_was_told_to_it(mesh, told):
    one, _ = told(2)
    mesh.rate(one, helpful=False)
    session = Scope(session="s1")
    hidden = mesh.add("The app is deployed on Mondays", scope=session).id
    for _ in range(2):
        mesh.context(QUESTION, scope=session)
    mesh.rate(hidden, helpful=False, scope=session)
    assert list(_of(mesh)) == [one]
    assert set(_of(mesh, scope=session)) == {one, hidden}
    assert set(_of(mesh, as_owner=True)) == {one, hidden}
