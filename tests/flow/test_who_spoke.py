"""What a call says about its speaker, and what follows from it in a store."""

import sqlite3
from contextlib import closing

import pytest

from memory_mesh.model import Channel, Draft, Outcome, Scope, Source, SourceKind, Status
from memory_mesh.model.errors import NotAllowed
from memory_mesh.sync import MemoryMesh
from tests.receipts import id_of, memory_of
from tests.stores import unpacked

RULE = {"status": "error", "error_pattern": "lock", "preventative_rule": "Always set a timeout."}
LESSON = {
    "situation": "a deploy on a Friday", "errorPattern": "lock timeout", "oversight": "no timeout",
    "fix": "set one", "preventativeRule": "Set a timeout on every lock.", "severity": "high",
    "applicableScope": "MyAgent execution",
}  # fmt: skip


def port(value, **details):
    claim = {"subject": "service", "predicate": "port", "value": value}
    return {"claim": claim, **details}


def test_a_call_that_states_nothing_is_implicit_and_keeps_its_rights(mesh):
    stored = mesh.add("deploys need two reviews", importance="critical", pinned=True)
    memory = memory_of(mesh, stored)
    assert (memory.source.kind, mesh.review.trust(memory.id)) == (SourceKind.USER_IMPLICIT, 0.7)
    assert (memory.importance, memory.pinned) == (1.0, True)
    assert mesh.pin(memory.id, pinned=False).importance == 1.0
    assert mesh.update(memory.id, importance=0.9, pinned=True).importance == 0.9
    assert mesh.update(memory.id, "deploys need three reviews").pinned
    assert memory_of(mesh, stored).source.kind is SourceKind.USER_IMPLICIT


def test_every_way_to_add_states_nothing(mesh):
    done = mesh.add_many(["one", {"content": "two"}, Draft(text="three", importance=1.0)])
    memories = [memory_of(mesh, receipt) for receipt in done]
    assert {memory.source.kind for memory in memories} == {SourceKind.USER_IMPLICIT}
    assert memories[2].importance == 1.0


def test_a_ready_draft_does_not_pass_the_ceiling_of_its_view(tmp_path):
    with MemoryMesh(db_dir=tmp_path, channel=Channel.MCP) as agent:
        ready = Draft(text="trust me", source=Source(SourceKind.USER_EXPLICIT), importance=1.0)
        memory = memory_of(agent, agent.add_many([ready])[0])
        assert (memory.source.kind, memory.importance) == (SourceKind.INFERENCE, 0.5)


def test_the_user_replaces_what_nobody_stated_and_not_the_other_way_round(mesh):
    silent = id_of(mesh.add("port one", **port("1")))
    assert mesh.add("port two", **port("2", role="user")).superseded == (silent,)
    assert mesh.add("port three", **port("3")).outcome is Outcome.QUARANTINED
    assert mesh.add("port four", **port("4", role="Assistant")).outcome is Outcome.QUARANTINED


@pytest.mark.req("R-000-241")
def test_the_loop_of_section_10_stores_inference_and_an_active_lesson(tmp_path):
    with MemoryMesh(db_dir=tmp_path, agent_id="MyAgent", enable_yamo=True) as mesh:
        kept = mesh.add(
            "the migration ran for two hours",
            {"type": "event", "source": "MyAgent", "rationale": "it was slow",
             "hypothesis": "an index helps", "session_id": "s1", "importance_score": 0.9},
        )  # fmt: skip
        (memory,) = mesh.history(id_of(kept), scope=Scope(session="s1"))
        assert (memory.source.kind, memory.importance) == (SourceKind.INFERENCE, 0.9)
        assert mesh.distill_lesson(LESSON).status is Status.ACTIVE


def test_an_agents_failure_in_the_library_teaches_an_active_lesson(mesh):
    mesh.add("the job failed", {"source": "MyAgent", **RULE})
    (block,) = mesh.lessons.distill().learned
    assert block.status is Status.ACTIVE
    lesson = mesh.get(block.memory_id)
    assert lesson.source.kind is SourceKind.INFERENCE
    assert mesh.update(lesson.id, importance=1.0).importance == 1.0


def test_a_stated_document_teaches_nothing_before_review(mesh):
    mesh.add("the job failed", RULE, source_kind="document")
    (block,) = mesh.lessons.distill().learned
    assert block.status is Status.QUARANTINED


def test_what_is_derived_of_a_page_has_the_rights_of_a_page(tmp_path):
    with MemoryMesh(db_dir=tmp_path, channel=Channel.TOOL) as tool:
        read = id_of(tool.add("the server answers on port 1"))
    with MemoryMesh(db_dir=tmp_path) as mesh:
        derived = memory_of(
            mesh, mesh.add("so the port is 1", derived_from=[read], importance=1.0, pinned=True)
        )
        assert (derived.importance, derived.pinned) == (0.5, False)
        assert mesh.update(derived.id, importance=1.0).importance == 0.5


@pytest.mark.parametrize("details", [{}, {"source_agent": "MyAgent"}, {"role": "assistant"}])
def test_a_lesser_channel_neither_changes_nor_outvotes_the_library(tmp_path, details):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        stored = id_of(mesh.add("deploys need two reviews", **details))
    with MemoryMesh(db_dir=tmp_path, channel=Channel.TOOL) as tool:
        with pytest.raises(NotAllowed, match="more trusted"):
            tool.update(stored, "deploys need no review")
        before = tool.review.trust(stored)
        assert tool.review.dispute(stored).disputes == 1  # counted, and nothing moves
        assert tool.review.reinforce(stored, 1.0).importance is None
        assert tool.review.trust(stored) == before


def test_an_update_that_names_a_speaker_decides_again_who_spoke(mesh):
    stored = id_of(mesh.add("tea is hot"))
    assert mesh.update(stored, role="user").source.kind is SourceKind.USER_EXPLICIT
    assert mesh.update(stored, tags=["drinks"]).source.kind is SourceKind.USER_EXPLICIT
    page = mesh.update(stored, source_ref="https://tea.example/hot")
    assert page.source.kind is SourceKind.DOCUMENT
    again = mesh.update(stored, source_kind="user_explicit")
    assert (again.source.kind, again.source.stated) == (SourceKind.USER_EXPLICIT, True)
    assert mesh.update(stored, metadata={"source": "MyAgent"}).source.kind is SourceKind.INFERENCE


def test_rows_of_an_earlier_version_with_nothing_stated_are_implicit(tmp_path):
    """The fixture of schema 5 stored everything as user_explicit."""
    path = unpacked("schema-5-analyzer-2", tmp_path)
    with MemoryMesh(db_dir=tmp_path) as mesh:
        kinds = {memory.text: memory.source.kind for memory in mesh.get_all()}
        silent = next(memory for memory in mesh.get_all() if memory.source.agent is None)
        assert kinds["The office closes at 18:00"] is SourceKind.USER_IMPLICIT
        sourced = "Frau Müller prüft die Rechnungen"
        assert kinds[sourced] is SourceKind.USER_EXPLICIT
        assert round(mesh.review.trust(silent.id), 1) <= 0.7
        found = mesh.get_all(filter="source_kind = 'user_implicit'")
        assert {memory.text for memory in found} == {
            text for text, kind in kinds.items() if kind is SourceKind.USER_IMPLICIT
        }
        claim = {"subject": "office", "predicate": "closes at", "value": "19:00"}
        said = mesh.add("The office closes at 19:00", claim=claim)
        assert len(said.superseded) == 1
        mesh.pin(silent.id)
    with closing(sqlite3.connect(path)) as db:  # nothing was rewritten
        kept = "SELECT count(*) FROM version WHERE source_stated IS NULL"
        assert db.execute(kept).fetchone()[0] >= len(kinds)
