"""Two users of one store do not meet: through views, as speakers and by metadata."""

import random

import pytest

from memory_mesh.rules import trust
from memory_mesh.sync import MemoryMesh
from tests.faults import users
from tests.faults.suites import counts, sampled

SEED = 20261115  # of the planted faults alone: these few statements meet them


def test_the_two_users_say_the_same_and_contradict_each_other():
    one, other = (users.statements_of(user, 500, random.Random(user)) for user in users.USERS)
    shared = {said.text for said in one} & {said.text for said in other}
    assert {"I live in Oslo", "I live in Rome", "port: 8080", "port: 8081"} <= shared
    assert any(said.claim for said in one)
    again = users.statements_of(users.USERS[0], 500, random.Random(users.USERS[0]))
    assert one == again


@pytest.mark.parametrize("together", [False, True])
def test_what_is_said_again_is_the_newest_for_the_rest_of_its_batch(tmp_path, together):
    """Cairo takes Lima's place again, and Seoul follows Cairo."""
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        first, _ = mesh.add_many(["I live in Cairo", "I live in Lima"])
        texts = ["I live in Cairo", "I live in Seoul"]
        added = mesh.add_many(texts) if together else [mesh.add(text) for text in texts]
    assert added[1].newer_than == (first.id,)


@pytest.mark.slow
@pytest.mark.parametrize("way", users.WAYS)
def test_nothing_crosses_between_two_users(tmp_path, way):
    report = sampled("users", tmp_path, ways=[way])
    report.holds()
    assert report.figures["statements"] == 2 * counts("users")["statements"]
    assert report.figures[f"{way} merged"]
    assert report.figures[f"{way} superseded within"]
    assert report.figures[f"{way} conflicts within"]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["speaker", "metadata"])
def test_the_suite_notices_when_two_persons_meet(tmp_path, monkeypatch, way):
    """Without the names, the second user overwrites what the first one said."""
    monkeypatch.setattr(trust, "persons", lambda _said: ("", ""))
    report = sampled("users", tmp_path, ways=[way], seed=SEED)
    assert report.figures["merged across"]
    assert report.figures["superseded across"]
    assert report.figures["conflicts across"]


@pytest.mark.slow
def test_the_suite_notices_a_view_that_shows_the_other_user(tmp_path, monkeypatch):
    monkeypatch.setattr("memory_mesh.mesh.mesh.user_namespace", lambda _user: "user.both")
    report = sampled("users", tmp_path, ways=["view"], seed=SEED)
    assert report.figures["returned across"]
    assert report.figures["merged across"]
