"""One value at a time, through every door; and nobody decides who may not."""

from datetime import timedelta

import pytest

from memory_mesh.model import Channel, Outcome, Scope, Status
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryMesh
from tests.receipts import id_of


def port(value, *, exclusive=True, **details):
    claim = {"subject": "service", "predicate": "port", "value": value, "exclusive": exclusive}
    return {"claim": claim, **details}


def guess(value, **details):
    return port(value, source_kind="inference", **details)


def active(mesh):
    return sorted(memory.text for memory in mesh.get_all(limit=200))


# --- one value at a time --------------------------------------------------------------------------


def test_the_last_of_one_slice_stands_alone(mesh):
    receipts = mesh.add_many({"content": f"port {value}", **port(value)} for value in "ABABA")
    assert active(mesh) == ["port A"]
    assert len(mesh.review.chain(id_of(receipts[0]))) == 5
    assert mesh.care.verify().ok


def test_an_update_of_when_or_for_whom_it_holds_is_no_way_around_the_rules(mesh, clock):
    then = clock.now() + timedelta(days=90)
    first = id_of(mesh.add("port one", **port("1", valid_until=then)))
    assert mesh.add("port two", **port("2", valid_from=then)).superseded == ()
    with pytest.raises(InvalidInput, match="contradicts"):
        mesh.update(first, valid_until=then + timedelta(days=1))
    project = Scope(project="p")
    other = id_of(mesh.add("port three", **port("3", scope=project)))
    with pytest.raises(InvalidInput, match="contradicts"):
        mesh.update(other, scope=Scope(), reader=project)
    assert mesh.update(first, valid_until=then - timedelta(days=1)).status is Status.ACTIVE


def test_no_single_value_is_hidden_behind_many(mesh):
    alone = id_of(mesh.add("port one", **port("1")))
    many = [{"content": f"port of {n}", **port(f"of {n}", exclusive=False)} for n in range(70)]
    mesh.add_many(many)
    assert mesh.add("port two", **port("2")).superseded == (alone,)


def test_keeping_both_does_not_answer_for_who_came_since(mesh):
    mesh.add("port one", **port("1"))
    newcomer = id_of(mesh.add("port two", **guess("2")))
    third = id_of(mesh.add("port three", **port("3")))
    mesh.review.resolve(mesh.review.conflicts(pending=True)[0].id, "keep_both")
    assert active(mesh) == ["port three"]
    (asked,) = mesh.review.conflicts(pending=True)
    assert (asked.new, asked.existing) == (newcomer, third)
    mesh.review.resolve(asked.id, "keep_both")
    assert active(mesh) == ["port three", "port two"]
    assert mesh.care.verify().ok


def test_undoing_a_review_brings_nothing_back_that_was_deleted_since(mesh):
    known = id_of(mesh.add("port one", **port("1")))
    newcomer = id_of(mesh.add("port two", **guess("2")))
    mesh.review(newcomer, approve=True)
    mesh.delete(known)
    mesh.review.undo(newcomer)
    assert active(mesh) == []
    assert mesh.care.verify().ok


def test_a_review_is_not_undone_over_who_holds_the_place_by_now(mesh, clock):
    then = clock.now() + timedelta(days=90)
    mesh.add("port one", **port("1"))
    newcomer = id_of(mesh.add("port two", **guess("2", valid_from=then)))
    mesh.review(newcomer, approve=True)
    third = id_of(mesh.add("port three", **port("3", valid_until=then)))
    with pytest.raises(InvalidInput, match=f"{third} contradicts"):
        mesh.review.undo(newcomer)
    assert active(mesh) == ["port three"]


def test_what_waits_and_is_disputed_has_no_review_to_undo(mesh):
    mesh.add("port one", **port("1"))
    newcomer = id_of(mesh.add("port two", **guess("2")))
    mesh.review.dispute(newcomer)
    with pytest.raises(InvalidInput, match="no review"):
        mesh.review.undo(newcomer)


def test_undoing_an_approval_forgives_no_rejection(mesh):
    mesh.add("port one", **port("1"))
    first = id_of(mesh.add("port two", **guess("2")))
    second = id_of(mesh.add("the port is two", **guess("2")))
    mesh.review(first, approve=False)
    mesh.review(second, approve=True)
    mesh.review.undo(second)
    assert mesh.add("two it is", **port("2")).outcome is Outcome.REFUSED


@pytest.mark.parametrize("resolution", ["supersede", "reject", "keep_both"])
@pytest.mark.parametrize("gone", ["new", "existing"])
def test_a_conflict_ends_though_one_side_was_deleted(mesh, resolution, gone):
    known = id_of(mesh.add("port one", **port("1")))
    newcomer = id_of(mesh.add("port two", **guess("2")))
    (conflict,) = mesh.review.conflicts()
    mesh.delete(newcomer if gone == "new" else known)
    if (resolution, gone) == ("supersede", "new"):
        with pytest.raises(InvalidInput, match="deleted"):
            mesh.review.resolve(conflict.id, resolution)
        return
    mesh.review.resolve(conflict.id, resolution)
    assert mesh.review.conflicts() == []
    left = {"new": ["port one"], "existing": [] if resolution == "reject" else ["port two"]}
    assert active(mesh) == left[gone]
    assert mesh.care.verify().ok


def test_what_was_replaced_within_a_slice_is_no_echo_of_it(tmp_path):
    with MemoryMesh(db_dir=tmp_path, channel=Channel.MCP) as model:
        model.add_many({"content": f"port {value}", **port(value)} for value in "ABA")
        assert active(model) == ["port A"]


# --- who decides ----------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", [Channel.MCP, Channel.WEB, Channel.TOOL])
def test_only_the_user_decides(tmp_path, channel):
    with MemoryMesh(db_dir=tmp_path) as user:
        user.add("port one", **port("1", role="user"))
    with MemoryMesh(db_dir=tmp_path, channel=channel) as agent:
        newcomer = id_of(agent.add("port two", **port("2")))
        (conflict,) = agent.review.conflicts()
        for refused in (
            lambda: agent.review.resolve(conflict.id, "supersede"),
            lambda: agent.review.resolve(conflict.id, "reject"),
            lambda: agent.review(newcomer, approve=True),
            lambda: agent.review(newcomer, approve=False),
            lambda: agent.review.decide_source("anybody", approve=False),
            lambda: agent.review.undo(newcomer),
            lambda: agent.review.register_predicates({"port": {"cardinality": "multi"}}),
        ):
            with pytest.raises(InvalidInput, match="only the user"):
                refused()
        assert active(agent) == ["port one"]
    with MemoryMesh(db_dir=tmp_path) as user:
        assert user.add("port two", **port("2", role="user")).outcome is Outcome.STORED


def test_no_model_vouches_for_itself(tmp_path):
    with MemoryMesh(db_dir=tmp_path, channel=Channel.MCP) as model:
        own = id_of(model.add("a note of mine", importance=0.3))
        for _ in range(20):
            model.review.reinforce(own, 1.0)
        (memory,) = model.get_many([own])
        assert (model.review.trust(own), memory.importance) == (0.5, 0.3)
        assert model.care.verify().ok
    with MemoryMesh(db_dir=tmp_path, channel=Channel.TOOL) as tool:
        assert tool.review.reinforce(own, 1.0).importance == 0.5
        assert tool.review.trust(own) == pytest.approx(0.575)


def test_no_model_talks_a_page_down_to_take_its_place(tmp_path):
    with MemoryMesh(db_dir=tmp_path, channel=Channel.WEB) as web:
        page = id_of(web.add("port one", **port("1")))
    with MemoryMesh(db_dir=tmp_path, channel=Channel.MCP) as model:
        for _ in range(20):
            model.review.dispute(page)
        assert model.review.trust(page) == pytest.approx(0.6)
        assert model.add("port two", **port("2")).outcome is Outcome.QUARANTINED


def test_a_review_is_undone_however_many_wait_behind_it(mesh):
    mesh.add("port one", **port("1"))
    newcomer = id_of(mesh.add("port two", **guess("2")))
    mesh.review(newcomer, approve=True)
    mesh.review.register_predicates({"port": {"conflict_policy": "require_review"}})
    mesh.add_many({"content": f"port 9{n}", **guess(f"9{n}")} for n in range(120))
    mesh.review.undo(newcomer)
    assert active(mesh) == ["port one"]
