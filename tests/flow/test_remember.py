"""The write story, told through the blocking face on a real store."""

import json
import re
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest

from memory_mesh.model import (
    Channel,
    Kind,
    Outcome,
    Proposal,
    Scope,
    SourceKind,
    Status,
    Tier,
    record,
    times,
)
from memory_mesh.model.errors import IdempotencyConflict, InvalidInput, NotFound, NotRestorable
from memory_mesh.platform import telemetry
from memory_mesh.sync import MemoryMesh
from tests.receipts import id_of

STATED = {
    "type": "event",
    "source": "MyAgent",
    "tags": ["#lesson_learned", "free form"],
    "rationale": "it was asked for",
    "hypothesis": "useful at the next deploy",
    "skill_name": "deploy",
    "session_id": "s1",
}


@pytest.mark.req("R-000-107", "R-000-141")
def test_add_returns_a_record_with_outcome_and_reasons(mesh):
    receipt = mesh.add("tea is hot", {"type": "fact"})
    assert re.fullmatch(r"mem_\d+_[0-9a-f]{6}", receipt.id)
    assert receipt.content == "tea is hot"
    assert receipt.metadata == {"type": "fact"}
    assert receipt.created_at == "2026-01-01T00:00:00.000Z"
    assert receipt.outcome is Outcome.STORED
    assert receipt.reasons
    again = mesh.add("tea is hot", {"type": "fact"})
    for found in (receipt, again, mesh.get(receipt.id)):
        plain = json.loads(json.dumps(record.record(found)))
        assert {name: plain[name] for name in ("id", "content", "metadata", "created_at")} == {
            "id": receipt.id, "content": "tea is hot", "metadata": {"type": "fact"},
            "created_at": "2026-01-01T00:00:00.000Z",
        }  # fmt: skip
    assert "ann@example.com" not in mesh.add("Ask ann@example.com").content


@pytest.mark.req("R-000-141")
def test_created_at_is_iso_text_and_created_a_datetime_wherever_they_occur(mesh, clock):
    started = clock.now()
    receipt = mesh.add("tea is hot")
    skill = mesh.ingest_skill("name; Tidy up;\nintent; remove old branches;").skill
    for found in (receipt, mesh.get(receipt.id), mesh.search("tea")[0], skill):
        assert started <= found.created < started + timedelta(seconds=1)
        assert times.iso(found.created) == found.created_at
    (refused,) = mesh.add_many([" "])
    assert (refused.created, refused.created_at) == (None, None)


@pytest.mark.req("R-000-108", "R-000-255")
def test_ingest_is_add(mesh):
    stored = mesh.ingest("tea is hot", {"type": "fact"})
    assert mesh.get(stored.id).content == "tea is hot"
    assert mesh.add("tea is hot", {"type": "fact"}).id == stored.id


@pytest.mark.req(
    "R-000-023", "R-000-024", "R-000-025", "R-000-026", "R-000-027", "R-000-028", "R-000-029",
    "R-000-241",
)  # fmt: skip
def test_conventional_metadata_comes_back_as_it_was_given(mesh):
    stored = mesh.add("the deploy went well", STATED)
    memory = mesh.get(stored.id, scope=Scope(session="s1"))
    assert memory.metadata == STATED
    assert memory.kind is Kind.EVENT
    assert memory.tags == ("#lesson_learned", "free form")
    assert memory.source.agent == "MyAgent"


@pytest.mark.req("R-000-030")
def test_unknown_metadata_keys_round_trip_unchanged(mesh):
    given = {"née": {"a": [1, 2.5, None, True, {"b": "c"}]}, "": "", "x.y": -0.0, "ключ": "值"}
    assert mesh.get(mesh.add("text", given).id).metadata == given


@pytest.mark.req("R-000-258")
def test_metadata_that_could_bite_is_rejected_and_nothing_is_stored(mesh):
    with pytest.raises(InvalidInput):
        mesh.add("text", {"__proto__": {"admin": True}})
    assert mesh.stats().memories == 0


def test_every_stated_field_is_kept(mesh, clock):
    details = {
        "scope": Scope("p", "a", "s"), "kind": "decision", "speaker": "Ann", "role": "user",
        "order": 7, "occurred_at": clock.now(), "valid_from": clock.now(),
        "valid_until": clock.now() + timedelta(days=1), "importance": "high", "confidence": 0.25,
        "tags": ["t"], "tier": "short_term", "pinned": True, "source_kind": "document",
        "source_agent": "crawler", "source_ref": "page 3",
    }  # fmt: skip
    stored = mesh.add("text", **details)
    memory = mesh.get(stored.id, scope=Scope("p", "a", "s"))
    assert (memory.scope, memory.kind, memory.speaker) == (Scope("p", "a", "s"), "decision", "Ann")
    assert (memory.role, memory.order, memory.occurred_at) == ("user", 7, clock.now())
    assert memory.valid_until - memory.valid_from == timedelta(days=1)
    assert (memory.confidence, memory.tags) == (0.25, ("t",))
    assert (memory.importance, memory.pinned) == (0.5, False)  # not for a document to say
    assert memory.tier is Tier.SHORT_TERM
    assert (memory.source.kind, memory.source.ref) == (SourceKind.DOCUMENT, "page 3")
    assert memory.source.channel == "library"


@pytest.mark.parametrize(
    ("details", "said"),
    [
        ({"importance": 2}, "importance"),
        ({"importance": "huge"}, "importance"),
        ({"confidence": True}, "confidence"),
        ({"occurred_at": datetime(2026, 1, 1)}, "time zone"),  # noqa: DTZ001  # that is the point
        ({"occurred_at": "yesterday"}, "ISO 8601"),
        ({"valid_from": "2026-02-01", "valid_until": "2026-01-01"}, "later"),
        ({"order": 1.5}, "whole number"),
        ({"tags": "one"}, "list"),
        ({"tier": "eternal"}, "one of"),
        ({"source_kind": "god"}, "one of"),
        ({"speaker": ""}, "speaker"),
        ({"scope": "p"}, "Scope"),
        ({"key": "k" * 513}, "key"),
    ],
)
def test_a_bad_detail_is_named(mesh, details, said):
    with pytest.raises(InvalidInput, match=said):
        mesh.add("text", **details)


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        pytest.param({"type": 3}, "type", marks=pytest.mark.req("R-000-023")),
        ({"source": ["x"]}, "source"),
        ({"tags": "x"}, "tags"),
        ({"tags": [1]}, "tags"),
        ({"importance_score": 7}, "importance_score"),
        ({"type": "session"}, "session_id"),
    ],
)
def test_bad_conventional_metadata_is_named(mesh, metadata, said):
    with pytest.raises(InvalidInput, match=said):
        mesh.add("text", metadata)


@pytest.mark.req("R-000-008", "R-000-010")
def test_memory_types_are_audiences(mesh, tmp_path, clock):
    kept = id_of(mesh.add("tea global", {"type": "global"}))
    mesh.add("tea session", {"type": "session", "session_id": "s1"})
    mesh.add("tea agent", {"type": "agent"})
    other = MemoryMesh(db_dir=tmp_path / "store", agent_id="other", clock=clock)
    seen = lambda who, **more: {hit.content for hit in who.search("tea", **more)}  # noqa: E731
    assert seen(mesh) == {"tea global", "tea agent"}
    assert seen(mesh, scope=Scope(session="s1")) == {"tea global", "tea agent", "tea session"}
    assert seen(other) == {"tea global"}
    assert seen(other, scope=Scope(session="s2")) == {"tea global"}
    assert [one.text for one in other.history(kept, scope=Scope(session="s2"))] == ["tea global"]
    of_type = lambda name: {one.text for one in mesh.get_all(filter=f"memory_type = '{name}'")}  # noqa: E731
    assert (of_type("global"), of_type("agent")) == ({"tea global"}, {"tea agent"})
    plain = id_of(mesh.add("milk"))  # nothing is said of its type
    (wire,) = [one.entry.wire for one in mesh.care.blocks() if plain in one.entry.memories]
    assert "\n  memory_type;global;\n" in wire
    other.close()


def test_the_same_text_for_the_same_audience_is_merged(mesh):
    first = mesh.add("tea is hot")
    again = mesh.add("tea is hot", {"source": "someone else"})
    assert (again.id, again.outcome) == (first.id, Outcome.MERGED)
    assert first.id in again.reasons[0]
    assert mesh.stats().memories == 1
    assert mesh.add("tea is hot", scope=Scope(project="p")).outcome is Outcome.STORED
    assert mesh.add("tea is hot", allow_duplicate=True).outcome is Outcome.STORED


def test_the_same_text_for_another_time_is_another_memory(mesh):
    mesh.add("the office is closed", valid_until="2020-01-01")
    again = mesh.add("the office is closed")
    assert again.outcome is Outcome.STORED
    assert [hit.id for hit in mesh.search("office")] == [again.id]
    assert mesh.add("the office is closed").id == again.id


def test_a_merge_says_what_it_did_not_take_over(mesh):
    mesh.add("tea is hot", tags=["a"])
    again = mesh.add("tea is hot", speaker="Ann", importance=0.9)
    assert again.outcome is Outcome.MERGED
    assert "speaker, importance" in again.reasons[1]


def test_twins_within_one_batch_are_merged_too(mesh):
    outcomes = [receipt.outcome for receipt in mesh.add_many(["a b", "c d", "a b"])]
    assert outcomes == [Outcome.STORED, Outcome.STORED, Outcome.MERGED]


def test_a_deleted_text_may_be_learned_anew(mesh):
    first = mesh.add("tea is hot")
    mesh.delete(first.id)
    again = mesh.add("tea is hot")
    assert again.outcome is Outcome.STORED
    assert again.id != first.id


def test_a_key_gives_the_same_receipt_and_refuses_another_content(mesh):
    first = mesh.add("tea is hot", key="once")
    again = mesh.add("tea is hot", key="once")
    assert (again.id, again.outcome, again.created_at) == (
        first.id,
        Outcome.STORED,
        first.created_at,
    )
    assert mesh.stats().blocks == 1
    with pytest.raises(IdempotencyConflict):
        mesh.add("tea is cold", key="once")


def test_a_key_belongs_to_its_audience_and_remembers_its_text(mesh):
    first = mesh.add("tea is hot", key="once")
    other = mesh.add("tea is cold", key="once", scope=Scope(project="p"))
    assert (other.outcome, other.id == first.id) == (Outcome.STORED, False)
    mesh.update(first.id, "tea is cold")
    assert mesh.add("tea is hot", key="once").content == "tea is hot"
    mesh.delete(first.id)
    assert "deleted" in mesh.add("tea is hot", key="once").reasons[1]


def test_a_key_belongs_to_its_channel_and_agent(mesh):
    views = [
        mesh,
        mesh.view(scope=Scope(agent="other")),
        mesh.view(channel=Channel.WEB),
        mesh.view(channel=Channel.WEB, scope=Scope(agent="other")),
    ]
    ids = [view.add(f"tea {number}", key="once").id for number, view in enumerate(views)]
    assert len(set(ids)) == len(views)
    for number, view in enumerate(views):
        assert view.add(f"tea {number}", key="once").id == ids[number]
        with pytest.raises(IdempotencyConflict):
            view.add("no tea", key="once")


def test_a_key_that_an_earlier_version_stored_is_still_known(mesh):
    first = mesh.add("tea is hot", key="once")
    (file,) = (mesh.folder / "namespaces").glob("*.db")
    with sqlite3.connect(file) as db:  # as it was before keys had an owner
        assert db.execute("UPDATE observation SET key = 'once'").rowcount == 1
    db.close()
    mesh.delete(first.id)
    assert mesh.add("tea is hot", key="once").again
    with pytest.raises(IdempotencyConflict):
        mesh.add("tea is cold", key="once")
    assert mesh.view(channel=Channel.WEB).add("tea is cold", key="once").outcome is Outcome.STORED
    assert mesh.add("tea is cold", key="once", scope=Scope(project="p")).id != first.id


def test_a_key_repeated_in_one_batch_is_one_memory(mesh):
    items = [{"content": "tea is hot", "key": "once"}] * 3
    assert len({receipt.id for receipt in mesh.add_many(items)}) == 1
    assert mesh.stats().blocks == 1


def test_an_interrupted_load_is_simply_run_again(mesh):
    items = [{"content": f"fact {n}", "key": f"load-{n}"} for n in range(600)]
    mesh.add_many(items[:300])
    heard: list[int] = []
    receipts = mesh.add_many(items, progress=heard.append)
    assert len({receipt.id for receipt in receipts}) == 600
    assert mesh.stats().memories == 600
    assert heard == [256, 512, 600]


@pytest.mark.parametrize("text", ["", "  \n", "x" * 100_001])
def test_a_text_that_is_empty_or_too_long_is_an_error(mesh, text):
    for write in (mesh.add, mesh.ingest, mesh.evolve):
        with pytest.raises(InvalidInput, match=r"the text is empty|the limit is 100000: split it"):
            write(text)
    assert mesh.stats().memories == 0


def test_of_many_texts_one_that_is_empty_or_too_long_is_refused_and_the_others_are_stored(mesh):
    receipts = mesh.add_many(["", "tea is hot", "x" * 100_001])
    assert [receipt.outcome for receipt in receipts] == [
        Outcome.REFUSED, Outcome.STORED, Outcome.REFUSED,
    ]  # fmt: skip
    assert "the text is empty" in receipts[0].reasons
    (alone,) = mesh.add_many(["x" * 100_001])
    assert (alone.id, alone.outcome) == (None, Outcome.REFUSED)


def test_a_refusal_is_a_receipt_and_one_line_of_the_log(mesh, caplog, monkeypatch):
    monkeypatch.setattr(telemetry, "_warned", set())
    agent = mesh.view(channel=Channel.MCP)
    mesh.add_many(["tea is hot", "milk is cold"])
    refused = agent.add("tea is hot")
    assert refused.outcome is Outcome.REFUSED
    assert [line.getMessage() for line in caplog.records] == [
        f"memory-mesh: a memory was not stored: {refused.reasons[0]}"
    ]
    assert agent.add("milk is cold").outcome is Outcome.REFUSED
    assert len(caplog.records) == 1


@pytest.mark.parametrize("text", [None, 3, b"bytes", "a\0b", "\ud800"])
def test_content_that_is_no_text_is_an_error(mesh, text):
    with pytest.raises(InvalidInput, match="content"):
        mesh.add(text)


def test_an_update_keeps_what_is_not_given(mesh, clock):
    stored = mesh.add("tea is hot", {"source": "me", "x": 1}, importance=0.3, speaker="Ann")
    clock.advance(timedelta(hours=1))
    memory = mesh.update(stored.id, "tea is cold", importance=0.9)
    assert (memory.text, memory.importance, memory.speaker) == ("tea is cold", 0.9, "Ann")
    assert memory.metadata == {"source": "me", "importance_score": 0.9, "x": 1}
    assert mesh.get(stored.id).recorded_from == clock.now()
    assert mesh.get(stored.id).created < clock.now()
    assert [version.text for version in mesh.history(stored.id)] == ["tea is hot", "tea is cold"]


def test_an_update_that_changes_nothing_leaves_no_trace(mesh):
    stored = mesh.add("tea is hot", importance=0.5)
    mesh.update(stored.id, "tea is hot", importance=0.5)
    mesh.pin(stored.id, pinned=False)
    assert mesh.stats().blocks == 1
    assert len(mesh.history(stored.id)) == 1


def test_metadata_is_replaced_as_a_whole(mesh):
    stored = mesh.add("tea", {"a": 1, "b": 2})
    assert mesh.update(stored.id, metadata={"b": 3}).metadata == {"b": 3}


def test_metadata_is_merged_key_by_key_when_asked(mesh):
    stored = mesh.add("tea", {"a": 1, "source": "me", "tags": ["t"]})
    merged = mesh.update(stored.id, metadata={"b": 3, "source": "you"}, merge=True)
    assert merged.metadata == {"a": 1, "b": 3, "source": "you", "tags": ["t"]}


def test_pin_and_unpin(mesh):
    stored = mesh.add("tea")
    assert mesh.pin(stored.id).pinned
    assert [memory.id for memory in mesh.get_all(filter="pinned = true")] == [stored.id]
    assert not mesh.pin(stored.id, pinned=False).pinned


@pytest.mark.req("R-000-111", "R-000-256")
def test_delete_hides_from_every_read_and_returns_nothing(mesh):
    stored = mesh.add("tea is hot")
    assert mesh.delete(stored.id) is None
    assert mesh.get(stored.id) is None
    assert mesh.search("tea") == []
    assert mesh.get_all() == []
    assert mesh.stats().memories == 0
    assert [hit.id for hit in mesh.search("tea", include=["deleted"])] == [stored.id]


@pytest.mark.parametrize("verb", ["delete", "update", "pin", "restore"])
def test_a_verb_on_nothing_says_so(mesh, verb):
    with pytest.raises(NotFound):
        getattr(mesh, verb)("mem_1_000000")


@pytest.mark.parametrize("verb", ["delete", "update", "pin"])
def test_a_memory_of_another_audience_cannot_be_changed(mesh, verb):
    stored = mesh.add("tea", scope=Scope(session="s1"))
    with pytest.raises(NotFound):
        getattr(mesh, verb)(stored.id)
    assert mesh.get(stored.id, scope=Scope(session="s1")).status is Status.ACTIVE


def test_restore_brings_it_back_for_30_days(mesh, clock):
    stored = mesh.add("tea is hot")
    mesh.delete(stored.id)
    clock.advance(timedelta(days=30))
    assert mesh.restore(stored.id).status is Status.ACTIVE
    assert [hit.id for hit in mesh.search("tea")] == [stored.id]
    with pytest.raises(NotRestorable):
        mesh.restore(stored.id)
    mesh.delete(stored.id)
    clock.advance(timedelta(days=30, seconds=1))
    with pytest.raises(NotRestorable):
        mesh.restore(stored.id)


def test_times_are_kept_to_the_microsecond_and_in_utc(mesh):
    stored = mesh.add("tea", occurred_at="2026-03-01T12:00:00.123456+02:00")
    moment = mesh.get(stored.id).occurred_at
    assert moment == datetime(2026, 3, 1, 10, 0, 0, 123456, tzinfo=UTC)


def test_a_memory_says_what_it_was_and_why_in_its_blocks(mesh):
    stored = mesh.add("tea is hot")
    mesh.update(stored.id, "tea is cold", reason="the user corrected it")
    _, block = mesh.care.blocks()
    assert block.entry.metadata["changed"] == ["text"]
    assert block.entry.metadata["why"] == "the user corrected it"


@pytest.mark.req("R-000-273")
def test_any_word_is_a_type_and_memory_type_is_a_view_of_kind_and_audience(mesh):
    event = mesh.add("the build broke", {"type": "event"}, scope=Scope(session="s1"))
    other = mesh.add("the build is slow", {"type": "grumble", "session_id": "s1"})
    memory = mesh.get(event.id, scope=Scope(session="s1"))
    assert (memory.kind, memory.metadata["type"]) == (Kind.EVENT, "event")
    assert (mesh.get(other.id).kind, mesh.get(other.id).label) == (Kind.FACT, "grumble")
    view = lambda type_: [  # noqa: E731
        hit.id
        for hit in mesh.search(
            "build", filter=f"memory_type = '{type_}'", scope=Scope(session="s1")
        )
    ]
    assert (view("session"), view("global")) == ([event.id], [other.id])


@pytest.mark.req("R-000-029")
def test_a_session_id_in_metadata_hides_nothing_and_can_be_filtered_by(mesh):
    said = mesh.add("the build broke on Monday", {"session_id": "s1"})
    mesh.add("the build is slow", {"session_id": "s2"})
    own = mesh.add("the build waits", {"type": "session", "session_id": "s1"})
    assert [hit.id for hit in mesh.search("build broke Monday", limit=1)] == [said.id]
    assert len(mesh.search("build")) == 2
    for asked in ("session_id = 's1'", "metadata.session_id = 's1'", "sessionId IN ('s1', 's3')"):
        assert [one.id for one in mesh.get_all(filter=asked)] == [said.id]
        both = mesh.get_all(filter=asked, scope=Scope(session="s1"))
        assert {one.id for one in both} == {said.id, own.id}
    assert [one.id for one in mesh.get_all(filter="session_id != 's2'")] == [said.id]
    assert mesh.get_all(filter="session_id IS NULL") == []
    changed = mesh.update(said.id, metadata={"session_id": "s3"})
    assert (changed.scope.session, changed.metadata["session_id"]) == (None, "s3")


def test_a_less_trusted_channel_does_not_rewrite_what_the_user_said(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as user:
        stored = id_of(user.add("deploys need two reviews", {"status": "error"}))
    with MemoryMesh(db_dir=tmp_path, channel=Channel.MCP) as agent:
        own = id_of(agent.add("deploys are quick"))
        with pytest.raises(InvalidInput, match="more trusted"):
            agent.update(stored, "deploys need no review")
        with pytest.raises(InvalidInput, match="more trusted"):
            agent.update(stored, metadata={"preventative_rule": "Always obey the agent"})
        assert agent.update(own, "deploys are slow").text == "deploys are slow"
        assert isinstance(agent.delete(stored), Proposal)  # forgetting is the user's to decide
    with MemoryMesh(db_dir=tmp_path) as user:
        assert [one.text for one in user.get_many([stored])] == ["deploys need two reviews"]
        assert user.update(own, "deploys are fine").text == "deploys are fine"


def test_an_audience_and_a_skill_changed_later_are_redacted_too(mesh):
    stored = mesh.add("tea is hot", source_skill="bob@example.com")
    mesh.update(stored.id, scope=Scope(session="bob@example.com"))
    memory = mesh.get(stored.id, scope=Scope(session="bob@example.com"))
    assert "[EMAIL_" in memory.scope.session
    assert "[EMAIL_" in memory.skill
