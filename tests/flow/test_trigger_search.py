"""Triggers in a search: the profile `points`, and what they add to the default one."""

from datetime import timedelta

import pytest

from memory_mesh.model import Scope
from memory_mesh.search.ranking import profiles
from memory_mesh.search.ranking.points import CALLED


@pytest.fixture
def stored(mesh):
    called = mesh.add("Sessions live in Redis.", triggers="auth|login", importance="high").id
    other = mesh.add("The login page is blue.").id
    return called, other


@pytest.mark.req("R-001-052", "R-001-055")
def test_the_profile_points_finds_by_triggers_alone(mesh, stored):
    (hit,) = mesh.search("add login page", profile="points", scope=Scope(agent="developer"))
    assert hit.id == stored[0]
    assert hit.score == pytest.approx(0.35)
    assert hit.parts["points"] == 35
    assert (hit.parts["importance"], hit.parts["recency"]) == (25, 10)


def test_the_profile_points_keeps_to_its_limit(mesh):
    for number in range(5):
        mesh.add(f"note {number}", triggers="login")
    assert len(mesh.search("login", profile="points", limit=3)) == 3


def test_a_search_brings_what_a_trigger_calls_up(mesh, stored):
    hits = {hit.id: hit for hit in mesh.search("add login page")}
    called, other = (hits[id_] for id_ in stored)
    assert called.score >= CALLED
    assert called.parts["trigger"] == 4.0
    assert "trigger" not in other.parts


def test_without_triggers_nothing_changes(mesh):
    mesh.add("The login page is blue.")
    (hit,) = mesh.search("login page")
    assert "trigger" not in hit.parts


def test_the_past_is_searched_with_the_triggers_of_then(mesh, stored, clock):
    clock.advance(timedelta(seconds=1))
    then = clock.now()
    now = [hit.id for hit in mesh.search("login page")]
    assert [hit.id for hit in mesh.search("login page", as_of=then)] == now
    clock.advance(timedelta(seconds=1))
    mesh.add("The door is green.", triggers="login page")
    assert len(mesh.search("login page")) == len(now) + 1
    assert [hit.id for hit in mesh.search("login page", as_of=then)] == now


def test_other_profiles_are_searched_without_triggers(mesh, stored):
    assert [hit.id for hit in mesh.search("login page", profile="rrf")] == [stored[1]]


def test_beyond_the_newest_those_that_were_found_count(mesh, monkeypatch):
    old = mesh.add("Redis holds sessions of the login.", triggers="session").id
    lost = mesh.add("Something else entirely.", triggers="session").id
    mesh.add("A newer note.", triggers="kitchen")
    monkeypatch.setattr(profiles, "MOST_TRIGGERED", 1)
    found = {hit.id: hit.parts for hit in mesh.search("session of the login")}
    assert "trigger" in found[old]
    assert lost not in found


def test_a_filter_and_a_scope_hold_for_what_is_called(mesh, stored):
    assert [hit.id for hit in mesh.search("login", filter="importance < 0.5")] == []
    mesh.add("For another.", triggers="login", scope=Scope(project="other"))
    assert "For another." not in [hit.content for hit in mesh.search("login")]
