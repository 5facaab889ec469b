"""Episodes: memories that belong to one stretch of time."""

from datetime import timedelta

import pytest

from memory_mesh.learn import episodes as flows_episodes
from memory_mesh.model import Link, Scope
from memory_mesh.model.errors import InvalidInput, NotFound
from memory_mesh.sync import MemoryMesh

PLANNER = Scope(agent="planner")


@pytest.fixture
def ids(mesh: MemoryMesh) -> list[str]:
    texts = (
        "The deploy failed because the disk was full.",
        "Ann deleted old logs from the disk.",
        "The deploy worked after the disk had room.",
    )
    return [
        str(mesh.add(text, occurred_at=f"2025-03-0{day}T10:00:00Z").id)
        for day, text in zip((2, 3, 1), texts, strict=True)
    ]


def test_an_episode_has_a_title_its_memories_by_time_and_when_it_was(mesh, ids):
    made = mesh.graph.create_episode("The full disk", ids=ids)
    assert made.title == "The full disk"
    assert made.ids == (ids[2], ids[0], ids[1])
    assert (made.started.day, made.ended.day) == (1, 3)
    assert mesh.graph.episode(made.id) == made
    assert Link(ids[0], made.id, "part_of") in mesh.graph.links(made.id)
    memory = mesh.get(made.id)
    assert (memory.kind, memory.label) == ("event", "episode")
    assert mesh.care.verify().ok


def test_memories_are_added_and_taken_away_in_one_write_each(mesh, ids):
    made = mesh.graph.create_episode("The full disk")
    assert (made.started, made.ended, made.ids) == (None, None, ())
    before = len(mesh.care.blocks())
    assert mesh.graph.add_to_episode(made.id, ids[:2]).ids == (ids[0], ids[1])
    assert mesh.graph.add_to_episode(made.id, ids[:1]).ids == (ids[0], ids[1])
    assert mesh.graph.remove_from_episode(made.id, [ids[0]]).ids == (ids[1],)
    assert len(mesh.care.blocks()) == before + 3
    assert mesh.get(ids[0]) is not None


def test_an_episode_is_made_of_a_stretch_of_time(mesh, ids, clock):
    stored = str(mesh.add("It has no time of its own.").id)
    found = mesh.graph.create_episode("March", since="2025-03-01", until="2025-03-03T00:00:00Z")
    assert found.ids == (ids[2], ids[0])
    later = mesh.graph.create_episode("Today", since=clock.now() - timedelta(hours=1))
    assert later.ids == (stored,)  # an episode is no part of another by its time


def test_an_episode_is_made_of_a_session(mesh, ids):
    said = [
        str(mesh.add(f"Line {number}", scope=Scope(session="s1"), order=number).id)
        for number in range(3)
    ]
    assert mesh.graph.create_episode("The talk", session="s1").ids == tuple(said)


def test_a_reader_sees_of_an_episode_what_the_reader_sees(mesh, ids):
    hidden = str(mesh.add("Only for the planner.", scope=PLANNER).id)
    made = mesh.graph.create_episode("The full disk", ids=ids[:1])
    assert mesh.graph.add_to_episode(made.id, [hidden], scope=PLANNER).ids == (ids[0], hidden)
    assert mesh.graph.episode(made.id) == made
    assert mesh.graph.episodes() == [made]
    mesh.delete(ids[0])
    assert mesh.graph.episode(made.id).ids == ()


def test_an_unseen_episode_is_as_unknown_as_one_that_does_not_exist(mesh, ids):
    hidden = mesh.graph.create_episode("Only for the planner", scope=PLANNER).id
    for unknown in (hidden, "mem_1_000000"):
        with pytest.raises(NotFound):
            mesh.graph.episode(unknown)
        with pytest.raises(NotFound):
            mesh.graph.add_to_episode(unknown, ids)
        with pytest.raises(NotFound):
            mesh.graph.create_episode("Other", ids=[unknown])
    assert mesh.graph.episodes() == []
    assert mesh.graph.episodes(query="planner") == []


def test_episodes_are_listed_newest_first_or_by_their_titles(mesh, ids):
    first = mesh.graph.create_episode("The trip to Rome", ids=ids[:1])
    second = mesh.graph.create_episode("The full disk", ids=ids)
    assert mesh.graph.episodes() == [second, first]
    assert mesh.graph.episodes(limit=1) == [second]
    assert mesh.graph.episodes(query="when were we in Rome?")[0] == first


def test_two_episodes_may_have_one_title(mesh):
    assert mesh.graph.create_episode("Standup").id != mesh.graph.create_episode("Standup").id


def test_a_summary_is_made_of_sentences_of_the_memories_and_not_stored(mesh, ids):
    made = mesh.graph.create_episode("The full disk", ids=ids)
    told = mesh.graph.summarise_episode(made.id, sentences=1)
    assert told.summary in {mesh.get(id_).text for id_ in ids}
    assert "disk" in told.summary
    everything = mesh.graph.summarise_episode(made.id, sentences=9).summary
    assert everything.index("had room") < everything.index("was full") < everything.index("Ann")
    assert mesh.graph.episode(made.id).summary is None


def test_what_is_no_episode_and_what_is_too_much_is_told(mesh, ids, monkeypatch):
    with pytest.raises(InvalidInput, match="is a memory and no episode"):
        mesh.graph.episode(ids[0])
    with pytest.raises(InvalidInput, match="needs a title"):
        mesh.graph.create_episode("  ")
    made = mesh.graph.create_episode("The full disk")
    with pytest.raises(InvalidInput, match="part of itself"):
        mesh.graph.add_to_episode(made.id, [made.id])
    with pytest.raises(InvalidInput, match="at least one memory"):
        mesh.graph.add_to_episode(made.id, [])
    with pytest.raises(InvalidInput, match="sentences"):
        mesh.graph.summarise_episode(made.id, sentences=0)
    monkeypatch.setattr(flows_episodes, "MOST_MEMORIES", 2)
    with pytest.raises(InvalidInput, match="narrow the time"):
        mesh.graph.create_episode("All", since="2025-01-01")


def test_an_episode_takes_so_many_memories_at_once_and_counts_those_beyond(mesh, monkeypatch):
    monkeypatch.setattr(flows_episodes, "MOST_MEMORIES", 3)
    ids = [str(mesh.add(f"Stop {number}").id) for number in range(6)]
    with pytest.raises(InvalidInput, match="add_to_episode"):
        mesh.graph.create_episode("Tour", ids=ids)
    tour = mesh.graph.create_episode("Tour", ids=ids[:3])
    assert mesh.graph.add_to_episode(tour.id, ids[3:]).more == 3


def test_an_episode_is_for_no_more_readers_than_its_memories(mesh):
    planner = mesh.view(scope=Scope(agent="planner"))
    own = planner.add("We buy Initech in May.", scope=Scope(agent="planner")).id
    made = planner.graph.create_episode("The Initech purchase", ids=[own])
    assert planner.graph.episode(made.id).title == "The Initech purchase"
    coder = mesh.view(scope=Scope(agent="coder"))
    assert coder.graph.episodes() == []
    assert all("Initech" not in memory.text for memory in coder.get_all())
