"""Stores of the original: LanceDB writes and reads them, we bring them in and hand them out."""

import hashlib
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from memory_mesh.compat.rfc11 import lance_tables
from memory_mesh.compat.rfc11.import_ import bring_in
from memory_mesh.compat.rfc11.migrate import HeldMemory, HeldSkill, hand_out
from memory_mesh.compat.rfc11.reader import MeshHoldings
from memory_mesh.formats import yamo, yamo_learning
from memory_mesh.model import Channel, Heritage, Kind, Lesson, Scope, Severity, SourceKind, Status
from memory_mesh.model.errors import InvalidInput, NotFound, StoreIsDamaged
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.tables import (
    BLOCKS,
    DIMENSION,
    MADE,
    MADE_UTC,
    PROMOTED,
    SKILLS,
    V1,
    V2,
    connected,
    entry,
    memory_id,
    read,
    skill,
    write,
)

LESSON = Lesson(
    id="lesson_1700000000000_00000a",
    pattern_id="0123456789abcdef",
    error_pattern="auth_fallback_bypass",
    applies_to="all login flows",
    severity=Severity.HIGH,
    rule="Never skip the second factor.",
    confidence=0.9,
    situation="A login went through without it",
    oversight="The fallback was on",
    fix="It was switched off",
    inverse=None,
    agent="YAMO_AGENT",
)


@pytest.fixture
def importing(tmp_path: Path, clock: FrozenClock) -> Iterator[MemoryMesh]:
    with MemoryMesh(db_dir=tmp_path / "store", clock=clock, channel=Channel.IMPORT) as mesh:
        yield mesh


@pytest.mark.req("R-000-016", "R-000-017", "R-000-020", "R-000-021", "R-000-022", "R-000-023")
@pytest.mark.req("R-000-024", "R-000-025", "R-000-026", "R-000-027", "R-000-028")
def test_a_v1_store_is_brought_in_with_ids_times_and_metadata(tmp_path, importing):
    metadata = {
        "type": "event", "source": "billing", "tags": ["a", "#b"], "rationale": "because",
        "hypothesis": "it helps", "skill_name": "Invoices", "other": {"deep": [1, None, "x"]},
    }  # fmt: skip
    folder = write(tmp_path / "db", memory_entries=(V1, [entry(1, "Invoices go out.", metadata)]))
    done = bring_in(importing, folder)
    assert (done.schema, done.memories.read, done.memories.stored) == ("V1", 1, 1)
    memory = importing.get(memory_id(1))
    assert memory is not None
    assert memory.created == MADE_UTC + timedelta(seconds=1)
    assert memory.metadata == metadata
    assert memory.source.kind is SourceKind.DOCUMENT
    assert [hit.id for hit in importing.search("invoices")] == [memory_id(1)]


@pytest.mark.req("R-000-033", "R-000-034", "R-000-035", "R-000-037", "R-000-038", "R-000-039")
@pytest.mark.req("R-000-041")
def test_the_columns_of_v2_are_brought_in_and_win_over_metadata(tmp_path, importing):
    chain = {"intentChain": ["i1", "i2"], "hypotheses": ["h"], "rationales": []}
    rows = [
        entry(
            1, "One session's own.", {"session_id": "old", "importance_score": 0.2},
            session_id="s1", agent_id="a1", memory_type="session", importance_score=0.8,
            access_count=5, last_accessed=MADE, heritage_chain=json.dumps(chain),
            source_skill_id="skill_1_a",
        ),
        entry(2, "Everybody's.", session_id="s1", agent_id="a1", memory_type="global"),
        entry(3, "An agent's own.", agent_id="a1", memory_type="agent"),
        entry(4, "What follows.", memory_type="reflection"),
    ]  # fmt: skip
    folder = write(tmp_path / "db", memory_entries=(V2, rows))
    done = bring_in(importing, folder)
    assert (done.schema, done.memories.stored) == ("V2", 4)
    kept = {m.id: m for m in importing.get_all(across=["session", "agent"])}
    first = kept[memory_id(1)]
    assert (first.scope, first.importance) == (Scope(session="s1"), 0.5)
    assert (first.uses, first.last_used) == (5, MADE_UTC)
    assert first.heritage == Heritage(("i1", "i2"), ("h",), ())
    assert first.skill == "skill_1_a"
    assert kept[memory_id(2)].scope == Scope()
    assert kept[memory_id(3)].scope == Scope(agent="a1")
    assert kept[memory_id(4)].kind is Kind.REFLECTION
    visible = {hit.id for hit in importing.search("own", scope=Scope(agent="a2"))}
    assert not visible & {memory_id(1), memory_id(3)}


def test_an_import_that_was_interrupted_is_run_again(tmp_path, importing):
    rows = [entry(number, f"fact {number % 500}") for number in range(600)]  # texts that repeat
    folder = write(tmp_path / "db", memory_entries=(V1, rows))

    class Interrupted(Exception):
        pass

    def stop(read: int) -> None:
        if read > 256:
            raise Interrupted

    with pytest.raises(Interrupted):
        bring_in(importing, folder, progress=stop)
    again = bring_in(importing, folder)
    assert (again.memories.read, again.memories.merged, again.memories.stored) == (600, 512, 88)
    blocks = importing.stats().blocks
    assert bring_in(importing, folder).memories.merged == 600
    assert importing.stats().blocks == blocks  # nothing is written for what is known
    assert importing.stats().memories == 600


def test_rows_that_cannot_be_taken_are_counted_with_their_reasons(tmp_path, importing):
    rows = [
        entry(1, "fine"),
        entry(2, "   "),
        entry(3, "x" * 100_001),
        entry(4, "hostile", metadata={"__proto__": {"x": 1}}),
        entry(5, "no json", metadata=None) | {"metadata": "{broken"},
    ]
    folder = write(tmp_path / "db", memory_entries=(V1, rows))
    done = bring_in(importing, folder)
    assert (done.memories.read, done.memories.stored, done.memories.refused) == (5, 2, 3)
    assert {id_ for id_, _ in done.refusals} == {memory_id(2), memory_id(3), memory_id(4)}
    assert all(reason for _, reason in done.refusals)
    kept = importing.get(memory_id(5))
    assert kept is not None
    assert kept.metadata == {"unread_metadata": "{broken"}


def test_an_id_that_a_table_holds_twice_is_taken_once(tmp_path, importing):
    rows = [entry(1, "one"), entry(1, "one"), entry(1, "another"), entry(2, "two")]
    folder = write(tmp_path / "db", memory_entries=(V1, rows))
    done = bring_in(importing, folder).memories
    assert (done.read, done.stored, done.merged, done.refused) == (4, 2, 1, 1)


def test_lessons_are_rebuilt_from_their_blocks_and_wait_for_review(tmp_path, importing):
    wire = yamo.render(yamo_learning.lesson(LESSON, at=MADE_UTC))
    rows = [
        entry(1, "[LESSON] Never skip it", {"type": "lesson", "lesson_id": LESSON.id}),
        entry(2, "[LESSON] Unclear", {"type": "lesson", "severity": "high"}),
    ]
    blocks = [
        {"id": "yamo_lesson_1_a", "agent_id": None, "operation_type": "lesson", "yamo_text": wire,
         "timestamp": MADE, "block_hash": None, "prev_hash": None, "metadata": None},
    ]  # fmt: skip
    folder = write(tmp_path / "db", memory_entries=(V1, rows), yamo_blocks=(BLOCKS, blocks))
    done = bring_in(importing, folder)
    assert (done.blocks, done.memories.quarantined, done.memories.stored) == (1, 2, 0)
    lesson = importing.get(memory_id(1), include=[Status.QUARANTINED])
    assert lesson is not None
    assert (lesson.lesson, lesson.status) == (LESSON, Status.QUARANTINED)
    unclear = importing.get(memory_id(2), include=[Status.QUARANTINED])
    assert unclear is not None
    assert (unclear.kind, unclear.lesson) == (Kind.LESSON, None)
    assert unclear.metadata == {"type": "lesson", "severity": "high"}
    assert importing.query_lessons("") == []


@pytest.mark.req("R-000-054", "R-000-055")
def test_skills_are_brought_in_once_staged_and_the_newest_of_a_name(tmp_path, importing):
    said = {"reliability": 0.8, "use_count": 3, "last_used": None, "created_at": "2025-06-01"}
    rows = [
        skill(1, "Deploy", "name: Deploy;\nold", said),
        skill(2, "Deploy", "name: Deploy;\nnew", said),
        skill(3, "SkillSkill", "x", said),
    ]
    folder = write(tmp_path / "db", synthesized_skills=(SKILLS, rows))
    for outcome in ("quarantined", "merged"):
        done = bring_in(importing, folder)
        assert done.schema is None
        assert (getattr(done.skills, outcome), done.skills.skipped, done.skills.refused) == (
            1,
            1,
            1,
        )
    (waiting,) = importing.review.waiting()
    assert waiting.text.endswith("new")
    assert (waiting.id, waiting.reliability, waiting.uses) == (rows[1]["id"], 0.8, 3)


def test_a_folder_without_tables_and_a_broken_table_are_named(tmp_path, importing):
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFound, match="no table"):
        bring_in(importing, tmp_path / "empty")
    (tmp_path / "broken" / "memory_entries.lance" / "data").mkdir(parents=True)
    with pytest.raises(StoreIsDamaged, match="memory_entries"):
        bring_in(importing, tmp_path / "broken")


class WithVectors(MeshHoldings):
    """The public holdings, with a vector made of each text."""

    def held(self, memory, parts=()):
        plain = super().held(memory)
        return HeldMemory(memory, [vector(memory.text)], plain.changed_at)

    def skills(self):
        for held in super().skills():
            yield HeldSkill(held.skill, vector(held.skill.intent))


def vector(text: str) -> bytes:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    made = np.random.default_rng(seed).normal(size=DIMENSION)
    return (made / np.linalg.norm(made)).astype("<f4").tobytes()


@pytest.mark.req("R-000-016", "R-000-017", "R-000-018", "R-000-021", "R-000-022", "R-000-031")
@pytest.mark.req("R-000-032", "R-000-054")
def test_lancedb_reads_what_is_handed_out_with_the_columns_of_the_rfc(tmp_path, mesh):
    mesh.add("The cat sleeps on the red sofa.", {"tags": ["pets"], "session_id": "s"})
    mesh.ingest_skill("name: Deploy;\nintent: ship a release;")
    done = hand_out(WithVectors(mesh), tmp_path / "out")
    assert (done.memories, done.skills, done.blocks) == (1, 1, 2)
    db = connected(tmp_path / "out")
    schemas = {name: db.open_table(name).schema for name in
               ("memory_entries", "yamo_blocks", "synthesized_skills")}  # fmt: skip
    for schema, wanted in zip(schemas.values(), (V2, BLOCKS, SKILLS), strict=True):
        assert [(field.name, field.type) for field in schema] == [
            (field.name, field.type) for field in wanted
        ]
        assert not schema.field("id").nullable
    assert all(schemas["memory_entries"].field(field.name).nullable for field in PROMOTED)
    query = np.frombuffer(vector("The cat sleeps on the red sofa."), "<f4")
    (hit,) = db.open_table("memory_entries").search(query).limit(1).to_list()
    assert hit["content"] == "The cat sleeps on the red sofa."
    assert hit["_distance"] < 1e-5


@pytest.mark.req("R-000-019")
def test_what_is_handed_out_went_through_the_scrubber(tmp_path, mesh):
    mesh.add("<html><body><p>Write to ann.smith@example.com today.</p></body></html>")
    hand_out(MeshHoldings(mesh), tmp_path / "out")
    (row,) = read(tmp_path / "out", "memory_entries")
    assert "Write to" in row["content"]
    assert "ann.smith@example.com" not in row["content"]
    assert "<p>" not in row["content"]


@pytest.mark.req("R-000-036")
def test_importance_is_a_32_bit_weight_from_0_to_1_in_both_directions(tmp_path, mesh, importing):
    mesh.add("light", importance=0.3)
    mesh.add("heavy", importance=1.0)
    mesh.add("unweighed")
    hand_out(MeshHoldings(mesh), tmp_path / "out")
    rows = read(tmp_path / "out", "memory_entries")
    weights = {row["content"]: row["importance_score"] for row in rows}
    assert weights == {"light": float(np.float32(0.3)), "heavy": 1.0, "unweighed": None}
    given = [entry(1, "light", importance_score=0.3), entry(2, "beyond", importance_score=1.5)]
    done = bring_in(importing, write(tmp_path / "db", memory_entries=(V2, given)))
    assert done.memories.stored == 2
    light, beyond = importing.get_many([memory_id(1), memory_id(2)])
    assert light.importance == 0.3
    assert (beyond.importance, beyond.metadata["unread_importance_score"]) == (None, "1.5")


@pytest.mark.req("R-000-045")
def test_a_block_row_names_the_agent_that_made_it_or_nobody(tmp_path, importing):
    with MemoryMesh(db_dir=tmp_path / "scouts", agent_id="scout") as mesh:
        mesh.add("a fact")
        assert mesh.care.blocks()[0].entry.agent == "scout"
        hand_out(MeshHoldings(mesh), tmp_path / "out")
    table = connected(tmp_path / "out").open_table("yamo_blocks")
    assert table.schema.field("agent_id").nullable
    assert [row["agent_id"] for row in read(tmp_path / "out", "yamo_blocks")] == ["scout"]
    wire = yamo.render(yamo_learning.lesson(LESSON, at=MADE_UTC))
    nobodys = {"id": "yamo_lesson_1_a", "agent_id": None, "operation_type": "lesson",
               "yamo_text": wire, "timestamp": MADE}  # fmt: skip
    folder = write(tmp_path / "db", memory_entries=(V1, []), yamo_blocks=(BLOCKS, [nobodys]))
    assert bring_in(importing, folder).blocks == 1


class LongTexts(MeshHoldings):
    """Each text has two vectors."""

    def held(self, memory, parts=()):
        return HeldMemory(memory, [vector("one part"), vector("another part")])


def test_of_a_long_text_the_table_has_the_mean_of_its_vectors(tmp_path, mesh):
    mesh.add("a long text")
    hand_out(LongTexts(mesh), tmp_path / "out")
    kept = np.array(read(tmp_path / "out", "memory_entries")[0]["vector"])
    assert np.linalg.norm(kept) == pytest.approx(1.0, abs=1e-6)
    for part in ("one part", "another part"):
        assert kept @ np.frombuffer(vector(part), "<f4") > 0.6


def test_a_text_without_a_vector_has_none_in_the_table(tmp_path, mesh):
    mesh.add("waits")
    hand_out(MeshHoldings(mesh), tmp_path / "out")
    assert read(tmp_path / "out", "memory_entries")[0]["vector"] is None
    assert read(tmp_path / "out", "synthesized_skills") == []


@pytest.mark.req("R-000-046")
def test_blocks_are_handed_out_as_the_five_operations_in_a_chain_of_their_own(tmp_path, mesh):
    id_ = mesh.add("a fact").id
    mesh.update(id_, "another fact")
    hand_out(MeshHoldings(mesh), tmp_path / "out")
    rows = sorted(read(tmp_path / "out", "yamo_blocks"), key=lambda row: row["timestamp"])
    assert [row["operation_type"] for row in rows] == ["retain", "retain"]
    chained = [row for row in rows if row["prev_hash"] is None] + [
        row for row in rows if row["prev_hash"] is not None
    ]
    assert chained[1]["prev_hash"] == chained[0]["block_hash"]
    for row in rows:
        assert row["block_hash"] == hashlib.sha256(row["yamo_text"].encode()).hexdigest()
        assert yamo.render(yamo.parse(row["yamo_text"])) == row["yamo_text"]
        assert ("stored in LanceDB" in row["yamo_text"]) == ("memory_retained" in row["yamo_text"])
    assert json.loads(chained[1]["metadata"])["operation_type"] == "change"


def test_only_active_memories_are_handed_out_unless_asked(tmp_path, mesh):
    gone = mesh.add("gone").id
    mesh.add("here")
    mesh.delete(gone)
    assert hand_out(MeshHoldings(mesh), tmp_path / "one").memories == 1
    everything = MeshHoldings(mesh, include=[Status.DELETED])
    assert hand_out(everything, tmp_path / "two").memories == 2


def test_a_folder_that_holds_something_is_not_written_to(tmp_path, mesh):
    (tmp_path / "out").mkdir()
    hand_out(MeshHoldings(mesh), tmp_path / "out")
    with pytest.raises(InvalidInput, match="not empty"):
        hand_out(MeshHoldings(mesh), tmp_path / "out")


@pytest.mark.req("R-000-030")
def test_a_round_trip_keeps_everything(tmp_path, mesh, clock):
    mesh.add("plain")
    mesh.add("rich", {"type": "event", "source": "me", "tags": ["a"], "deep": {"x": [1, 2.5]}},
             importance=0.3, speaker="Ann", order=7, occurred_at="2024-01-01T00:00:00Z",
             valid_from="2020-01-01T00:00:00Z")  # fmt: skip
    mesh.add("a session's", {"session_id": "s1"})
    mesh.add("a project's decision", kind="decision", scope=Scope(project="p", agent="a"))
    chained = mesh.add("with heritage").id
    mesh.insert_heritage(chained, {"intentChain": ["i"], "hypotheses": [], "rationales": ["r"]})
    mesh.distill_lesson({
        "situation": "s", "error_pattern": "e", "oversight": "o", "fix": "f",
        "preventative_rule": "Never do it.", "severity": "high", "applicable_scope": "here",
    })  # fmt: skip
    clock.advance(timedelta(days=3))
    mesh.search("rich")
    hand_out(MeshHoldings(mesh), tmp_path / "out")
    before = {m.id: m for m in mesh.get_all(across=["project", "agent", "session"])}
    with MemoryMesh(
        db_dir=tmp_path / "other", clock=clock, channel=Channel.IMPORT, namespace="fresh"
    ) as other:
        done = bring_in(other, tmp_path / "out")
        assert done.memories.refused == 0
        after = {m.id: m for m in other.get_all(across=["project", "agent", "session"])}
        assert after.keys() == before.keys()
        for id_, old in before.items():
            new = after[id_]
            for name in ("text", "scope", "kind", "label", "speaker", "order", "occurred_at",
                         "valid_from", "importance", "tags", "lesson", "heritage",
                         "uses", "last_used"):  # fmt: skip
                assert getattr(new, name) == getattr(old, name), (name, old.text)
            assert abs(new.created - old.created) < timedelta(milliseconds=1)
            said = {k: v for k, v in new.metadata.items() if k != "origin_updated_at"}
            assert said == old.metadata
            assert new.status is Status.ACTIVE
        hand_out(MeshHoldings(other), tmp_path / "again")
    assert unsealed(tmp_path / "again") == unsealed(tmp_path / "out")


def unsealed(folder):
    """The rows without their seals: each store has a key of its own."""
    rows = read(folder, "memory_entries")
    for row in rows:
        said = json.loads(row["metadata"])
        del said["memory_mesh"]["seal"]
        row["metadata"] = said
    return rows


def test_a_table_is_read_in_batches(tmp_path):
    rows = [entry(number, f"fact {number}") for number in range(300)]
    folder = write(tmp_path / "db", memory_entries=(V1, rows))
    dataset = lance_tables.opened(folder / "memory_entries.lance")
    assert dataset is not None
    sizes = [len(batch) for batch in lance_tables.rows(dataset, ["id", "not there"])]
    assert max(sizes) <= lance_tables.BATCH
    assert sum(sizes) == 300


def test_the_ledger_s_own_vectors_are_handed_out(tmp_path, real_embedder):
    with MemoryMesh(db_dir=tmp_path / "store", custom_embedder=real_embedder) as mesh:
        mesh.add("the kettle is on the stove")
        mesh.ingest_skill("name; Make tea;\nintent; boil water and wait;")
        hand_out(MeshHoldings(mesh), tmp_path / "out")
        wanted = real_embedder.embed(["the kettle is on the stove"]).vectors[0][0]
    (memory,) = read(tmp_path / "out", "memory_entries")
    assert np.allclose(memory["vector"], np.frombuffer(wanted, "<f4"), atol=1e-6)
    (skill,) = read(tmp_path / "out", "synthesized_skills")
    assert len(skill["vector"]) == 384


def test_skills_of_every_project_and_page_are_handed_out(tmp_path, mesh):
    for number in range(3):
        mesh.ingest_skill(f"name; Skill number {number};", scope=Scope(project=f"p{number}"))
    holdings = MeshHoldings(mesh)
    assert len(list(holdings.skills())) == 3
    assert len(mesh.list_skills(across=["project"], limit=2)) == 2
    last = mesh.list_skills(across=["project"], limit=2)[-1]
    assert len(mesh.list_skills(across=["project"], before=last.id)) == 1
