"""Memories of a session expire after its last write: hidden, never deleted."""

from datetime import timedelta

import pytest

from memory_mesh.ledgers.shared.visibility import predicate
from memory_mesh.model import Channel, Scope, Status
from memory_mesh.sync import MemoryMesh
from tests.stores import grow

DAY = timedelta(days=1)
CHAT = Scope(session="chat")
RULE = {
    "situation": "a deploy",
    "error_pattern": "deploy without a backup",
    "oversight": "nobody looked",
    "fix": "restored a copy",
    "preventative_rule": "Check the backup before every deploy.",
    "severity": "high",
    "applicable_scope": "deploys",
}


def texts(memories):
    return sorted(memory.content for memory in memories)


@pytest.mark.req("R-000-009")
def test_a_session_memory_is_hidden_30_days_after_the_last_write(mesh, clock):
    stored = mesh.add("tea is hot", scope=CHAT)
    mesh.add("cake is sweet")
    written = clock.now()
    clock.advance(30 * DAY - timedelta(microseconds=1))
    assert texts(mesh.search("tea cake", scope=CHAT)) == ["cake is sweet", "tea is hot"]
    clock.set(written + 30 * DAY)
    assert texts(mesh.search("tea cake", scope=CHAT)) == ["cake is sweet"]
    assert texts(mesh.get_all(scope=CHAT)) == ["cake is sweet"]
    assert mesh.get(stored.id, scope=CHAT) is None
    assert mesh.care.verify().ok


def test_another_session_or_none_never_sees_it(mesh):
    mesh.add("tea is hot", scope=CHAT)
    assert mesh.search("tea") == []
    assert mesh.search("tea", scope=Scope(session="other")) == []


def test_any_write_of_the_same_audience_keeps_the_whole_session(mesh, clock):
    first = mesh.add("tea is hot", scope=CHAT)
    mesh.add("of another agent", scope=Scope(agent="a", session="chat"))
    clock.advance(20 * DAY)
    mesh.add("tea is hot", scope=CHAT)  # the same text again: nothing new is stored
    clock.advance(20 * DAY)
    assert texts(mesh.get_all(scope=Scope(agent="a", session="chat"))) == ["tea is hot"]
    mesh.update(first.id, tags=["drink"], reader=CHAT)
    clock.advance(20 * DAY)
    assert texts(mesh.get_all(scope=CHAT)) == ["tea is hot"]
    clock.advance(10 * DAY)
    assert mesh.get_all(scope=CHAT) == []
    mesh.add("tea is back", scope=CHAT)  # the session goes on
    assert texts(mesh.get_all(scope=CHAT)) == ["tea is back", "tea is hot"]
    assert mesh.care.verify().ok


def test_reading_and_what_happened_long_ago_count_for_nothing(mesh, clock):
    stored = mesh.add("tea was hot", scope=CHAT, occurred_at="2001-01-01")
    assert texts(mesh.get_all(scope=CHAT)) == ["tea was hot"]
    for _ in range(3):
        clock.advance(9 * DAY)
        assert mesh.get(stored.id, scope=CHAT) is not None
        mesh.rate(stored.id, helpful=True, scope=CHAT)
        mesh.search("tea", scope=CHAT)
    clock.advance(3 * DAY)
    assert mesh.get_all(scope=CHAT) == []


def test_pinned_memories_and_lessons_stay(mesh, clock):
    mesh.add("tea is hot", scope=CHAT, pinned=True)
    mesh.add("cake is sweet", scope=CHAT)
    mesh.distill_lesson(RULE, scope=CHAT)
    clock.advance(40 * DAY)
    kept = texts(mesh.get_all(scope=CHAT))
    assert len(kept) == 2
    assert "tea is hot" in kept
    assert "cake is sweet" not in kept
    assert len(mesh.query_lessons(scope=CHAT)) == 1


def test_a_moment_before_shows_it_and_a_later_one_does_not(mesh, clock):
    mesh.add("tea is hot", scope=CHAT)
    written = clock.now()
    clock.advance(50 * DAY)
    mesh.add("cake is sweet", scope=CHAT)
    assert texts(mesh.get_all(scope=CHAT)) == ["cake is sweet", "tea is hot"]
    assert texts(mesh.get_all(scope=CHAT, as_of=written + 29 * DAY)) == ["tea is hot"]
    assert texts(mesh.search("tea", scope=CHAT, as_of=written + 29 * DAY)) == ["tea is hot"]
    assert mesh.get_all(scope=CHAT, as_of=written + 31 * DAY) == []
    assert mesh.search("tea", scope=CHAT, as_of=written + 31 * DAY) == []


def test_expired_ones_can_be_listed_and_say_so(mesh, clock):
    stored = mesh.add("tea is hot", scope=CHAT)
    mesh.add("cake is sweet")
    clock.advance(31 * DAY)
    listed = mesh.get_all(scope=CHAT, include=["expired"])
    assert [(memory.content, memory.status) for memory in listed] == [
        ("cake is sweet", Status.ACTIVE), ("tea is hot", Status.EXPIRED),
    ]  # fmt: skip
    assert mesh.get(stored.id, scope=CHAT, include=["expired"]).status is Status.EXPIRED
    (hit,) = mesh.search("tea", scope=CHAT, include=["expired"])
    assert hit.memory.status is Status.EXPIRED
    (version,) = mesh.history(stored.id, scope=CHAT)
    assert version.status is Status.ACTIVE  # nothing was written when it expired


def test_stats_count_expired_memories(mesh, clock):
    mesh.add_many([{"content": f"tea {n}", "scope": CHAT} for n in range(3)])
    mesh.add("tea is pinned", scope=CHAT, pinned=True)
    mesh.add("cake is sweet")
    assert (mesh.stats().memories, mesh.stats().expired) == (5, 0)
    clock.advance(31 * DAY)
    stats = mesh.stats()
    assert (stats.memories, stats.expired) == (2, 3)
    assert stats.by_status == {"active": 2, "expired": 3}


@pytest.mark.parametrize(("days", "kept"), [(0, True), (400, True), (7, False)])
def test_the_number_of_days_is_a_setting(tmp_path, clock, days, kept):
    with MemoryMesh(db_dir=tmp_path, clock=clock, settings={"session_days": days}) as mesh:
        mesh.add("tea is hot", scope=CHAT)
        clock.advance(8 * DAY)
        assert bool(mesh.search("tea", scope=CHAT)) is kept
        assert mesh.stats().expired == (not kept)


@pytest.mark.parametrize("across", [(), ("session",), ("project", "agent", "session")])
def test_a_kept_answer_ends_when_its_session_expires(mesh, clock, across):
    mesh.add("tea is hot", scope=Scope("p", None, "chat"))
    reader = Scope("p", None, "chat")
    clock.advance(30 * DAY - timedelta(minutes=2))
    asked = [len(mesh.search("tea", scope=reader, across=across)) for _ in range(2)]
    assert (asked, mesh.get_cache_stats().hits) == ([1, 1], 1)
    clock.advance(timedelta(minutes=2))
    assert mesh.search("tea", scope=reader, across=across) == []


def test_an_answer_without_a_session_lives_its_five_minutes(mesh, clock):
    mesh.add("tea is hot")
    mesh.add("of a session", scope=CHAT)
    clock.advance(30 * DAY - timedelta(minutes=1))
    mesh.search("tea")
    clock.advance(timedelta(minutes=2))
    mesh.search("tea")
    assert mesh.get_cache_stats().hits == 1


def test_a_chat_that_goes_on_after_its_twin_expired_is_kept(tmp_path, clock):
    with MemoryMesh(db_dir=tmp_path, clock=clock) as mesh:
        mesh.add("tea is hot", scope=CHAT)
        clock.advance(31 * DAY)
        told = mesh.add("tea is hot", scope=CHAT)
        assert told.id is not None
        assert texts(mesh.search("tea", scope=CHAT)) == ["tea is hot"]


def test_one_look_into_an_index_tests_a_memory(mesh):
    """Whatever the namespace and the session hold: all four columns are found by the index."""
    condition, values = predicate(mesh._lens(CHAT))
    asked = f"EXPLAIN QUERY PLAN SELECT 1 FROM version v WHERE v.number = 1 AND {condition}"
    mesh.add("tea is hot")
    with mesh._read() as snapshot:
        grow(snapshot._db)
        plan = [row[3] for row in snapshot._db.execute(asked, values)]
    found = "INDEX session_write_audience (session=? AND project=? AND agent=? AND at>?)"
    assert any(found in step for step in plan)


def test_the_days_of_another_channel_are_the_same(tmp_path, clock):
    with MemoryMesh(db_dir=tmp_path, clock=clock) as mesh:
        mesh.add("tea is hot", scope=CHAT)
        clock.advance(31 * DAY)
        assert mesh.view(channel=Channel.MCP).search("tea", scope=CHAT) == []
