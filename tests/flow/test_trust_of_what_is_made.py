"""What is made of several memories mixes no words of a lower channel into the user's."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_mesh.model import Channel, Draft, Memory, Scope, SourceKind, Status
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.flow.executions import record_login
from tests.flow.test_trust_side_doors import FRIDAY, MONDAY, deploy, id_of

JOB = ["consolidate-traces"]
TAUGHT = {
    "situation": "guests may write", "error_pattern": "open bucket", "oversight": "no policy",
    "fix": "closed it", "preventative_rule": "Close every bucket.", "severity": "high",
    "applicable_scope": "storage", "confidence": 0.8,
}  # fmt: skip


@pytest.fixture
def mesh(tmp_path: Path, clock: FrozenClock) -> Iterator[MemoryMesh]:
    with MemoryMesh(db_dir=tmp_path / "store", clock=clock, embedder="none") as opened:
        yield opened


def learned(mesh: MemoryMesh) -> list[Memory]:
    """The learnings, oldest first."""
    return sorted(mesh.get_all(filter="label = 'learning'"), key=lambda each: each.created)


def test_a_trace_of_a_lower_channel_does_not_join_the_users_learning(mesh):
    record_login(mesh, 6)
    mesh.care.run_jobs(JOB)
    (before,) = learned(mesh)
    record_login(mesh.view(channel=Channel.WEB), 4)
    mesh.view(channel=Channel.WEB).care.run_jobs(JOB)
    mesh.care.upkeep()
    own, lower = learned(mesh)
    assert (own.id, own.text, own.source) == (before.id, before.text, before.source)
    assert lower.source.kind is SourceKind.DOCUMENT


def test_the_users_lesson_takes_the_place_of_one_that_was_let_in(mesh):
    page = mesh.view(channel=Channel.WEB).distill_lesson(TAUGHT | {"confidence": 1.0})
    mesh.review(page.memory_id, approve=True)
    own = mesh.distill_lesson(TAUGHT)
    assert [block.lesson_id for block in mesh.query_lessons("")] == [own.lesson_id]
    assert mesh.history(page.memory_id)[-1].status is Status.SUPERSEDED


def test_a_reflection_that_a_lower_channel_asks_for_is_no_more_than_its_own(mesh):
    for text in (MONDAY, "The deploy day is Monday, at noon.", "Monday is the deploy day."):
        mesh.add(text, role="user")
    made = mesh.view(channel=Channel.MCP).reflect(topic="deploy day; obey the page")
    stored = mesh.get(str(made.id))
    assert stored is not None
    assert stored.source.kind is SourceKind.INFERENCE


def test_an_answer_says_the_users_word_first_where_the_page_is_found_alone(mesh):
    web = mesh.view(channel=Channel.WEB)
    mesh.add("On the first day of the week, then.", **deploy("Monday"))
    web.add(FRIDAY, scope=Scope(session="chat"), **deploy("Friday", exclusive=False))
    reader = Scope(session="chat")
    hits = mesh.search("The deploy day is Friday", scope=reader, limit=1)
    assert [hit.content for hit in hits] == ["On the first day of the week, then."]
    pack = mesh.context("The deploy day is Friday", scope=reader)
    assert next(iter(pack)).memory.text == "On the first day of the week, then."


def test_one_of_many_for_all_does_not_stand_above_the_users_word_for_a_session(mesh):
    reader, said = Scope(session="chat"), "On the first day of the week, then."
    mesh.view(channel=Channel.WEB).add(FRIDAY, **deploy("Friday", exclusive=False))
    mesh.add(said, scope=reader, **deploy("Monday"))
    hits = mesh.search("The deploy day is Friday", scope=reader, limit=1)
    assert [hit.content for hit in hits] == [said]


def test_a_ready_draft_without_a_kind_is_its_channels(mesh):
    (receipt,) = mesh.view(channel=Channel.WEB).add_many([Draft(text=MONDAY, role="user")])
    stored = mesh.get(id_of(receipt))
    assert stored is not None
    assert (stored.source.kind, stored.source.channel) == (SourceKind.DOCUMENT, Channel.WEB)
    (own,) = mesh.add_many([Draft(text=FRIDAY, role="user")])
    said = mesh.get(id_of(own))
    assert said is not None
    assert said.source.kind is SourceKind.USER_EXPLICIT


def test_what_follows_several_stands_behind_the_last_of_them(mesh):
    planner, tool = Scope(agent="planner"), mesh.view(channel=Channel.TOOL)
    mesh.add(MONDAY, role="user", **deploy("Monday"))
    mesh.add(FRIDAY, role="user", scope=planner, **deploy("Friday"))
    tool.add(FRIDAY, scope=Scope("heron"), **deploy("Friday"))
    mesh.view(channel=Channel.WEB).add(
        MONDAY, scope=Scope(session="chat"), **deploy("Monday", exclusive=False)
    )
    hits = mesh.search("which day is the deploy day", scope=Scope("heron", "planner", "chat"))
    kinds = [hit.memory.source.kind for hit in hits]
    assert kinds == [
        SourceKind.USER_EXPLICIT,
        SourceKind.USER_EXPLICIT,
        SourceKind.TOOL_OUTPUT,
        SourceKind.DOCUMENT,
    ]
