"""What people decide stays decided: review, undo, conflicts, tombstones, echoes, chains."""

from datetime import UTC, datetime, timedelta

import pytest

from memory_mesh.model import (
    Channel,
    Draft,
    Origin,
    Outcome,
    Resolution,
    Scope,
    Source,
    SourceKind,
    Status,
)
from memory_mesh.model.errors import InvalidInput, NotFound
from memory_mesh.sync import MemoryMesh
from memory_mesh.write import claims
from tests.receipts import id_of, memory_of


def port(value, **details):
    return {"claim": {"subject": "service", "predicate": "port", "value": value}, **details}


def guess(**details):
    return {"source_kind": "inference", **details}


def active(mesh, **options):
    return sorted(memory.text for memory in mesh.get_all(**options))


@pytest.fixture
def waiting(mesh):
    """A trusted value, and a guess that waits because it contradicts it."""
    known = id_of(mesh.add("port one", **port("1")))
    newcomer = mesh.add("port two", **port("2", **guess()))
    assert newcomer.outcome is Outcome.QUARANTINED
    return known, id_of(newcomer)


# --- review ---------------------------------------------------------------------------------------


def test_what_is_let_in_takes_the_place_of_what_it_contradicts(mesh, waiting):
    known, newcomer = waiting
    let_in = mesh.review(newcomer, approve=True, reason="measured")
    assert let_in.status is Status.ACTIVE
    assert active(mesh) == ["port two"]
    assert mesh.get(known, include=["superseded"]).successor == newcomer
    (conflict,) = mesh.review.conflicts(decided=True)
    assert (conflict.resolution, conflict.why) == (Resolution.SUPERSEDE, "measured")
    assert mesh.review.conflicts() == []
    assert mesh.care.verify().ok


def test_a_late_review_also_replaces_who_came_since(mesh, waiting):
    """The rival it waited for is gone; another trusted value stands there now."""
    _, newcomer = waiting
    third = mesh.add("port three", **port("3"))
    assert third.outcome is Outcome.STORED
    mesh.review(newcomer, approve=True)
    assert active(mesh) == ["port two"]
    assert memory_of_any(mesh, id_of(third)).successor == newcomer
    mesh.review.undo(newcomer)
    assert active(mesh) == ["port three"]
    assert mesh.care.verify().ok


def memory_of_any(mesh, id_):
    return mesh.get(id_, include=list(Status))


def test_a_disputed_memory_that_is_let_in_again_replaces_its_successor(mesh):
    old = id_of(mesh.add("port one", **port("1")))
    for _ in range(3):
        mesh.review.dispute(old, reason="no")
    mesh.add("port two", **port("2"))
    assert active(mesh) == ["port two"]
    mesh.review(old, approve=True)
    assert active(mesh) == ["port one"]


def test_a_rejected_memory_is_archived_and_its_rival_stays(mesh, waiting):
    _, newcomer = waiting
    assert mesh.review(newcomer, approve=False, reason="a rumour").status is Status.ARCHIVED
    assert active(mesh) == ["port one"]
    (conflict,) = mesh.review.conflicts(decided=True)
    assert (conflict.resolution, conflict.why) == (Resolution.REJECT, "a rumour")


def test_a_review_leaves_conflicts_alone_that_others_wait_in(mesh, waiting):
    known, newcomer = waiting
    for _ in range(3):
        mesh.review.dispute(known, reason="no")
    mesh.review(known, approve=True)
    (conflict,) = mesh.review.conflicts()
    assert (conflict.new, conflict.pending) == (newcomer, True)
    assert active(mesh) == ["port one"]


def test_only_what_waits_can_be_reviewed_and_only_a_review_undone(mesh, waiting):
    known, newcomer = waiting
    with pytest.raises(InvalidInput, match="does not wait"):
        mesh.review(known, approve=True)
    for id_ in (known, newcomer):
        with pytest.raises(InvalidInput, match="no review"):
            mesh.review.undo(id_)
    with pytest.raises(NotFound):
        mesh.review("mem_1_abcdef", approve=True)


@pytest.mark.parametrize("approve", [True, False])
def test_a_review_can_be_undone_and_done_again(mesh, waiting, approve):
    known, newcomer = waiting
    for _ in range(2):
        mesh.review(newcomer, approve=approve)
        mesh.review.undo(newcomer)
        assert active(mesh) == ["port one"]
        assert memory_of_any(mesh, known).successor is None
        (conflict,) = mesh.review.conflicts()
        assert conflict.pending
        assert [memory.id for memory in mesh.review.waiting()] == [newcomer]
    assert mesh.care.verify().ok


def test_a_source_is_reviewed_as_a_whole(mesh):
    for number in range(5):
        mesh.add(f"claim {number}", quarantine="odd", source_ref="mail 7")
    mesh.add("claim 9", quarantine="odd", source_ref="mail 8")
    mesh.add("claim 10", quarantine="odd", source_agent="it's odd")
    assert len(mesh.review.decide_source("mail 7", approve=False, reason="spam")) == 5
    assert len(mesh.review.decide_source("it's odd", approve=True)) == 1
    assert active(mesh) == ["claim 10"]
    assert [memory.text for memory in mesh.review.waiting()] == ["claim 9"]
    assert mesh.review.decide_source("nobody", approve=True) == []


# --- conflicts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resolution", "left"),
    [
        ("supersede", ["port two"]),
        ("reject", ["port one"]),
        ("keep_both", ["port one", "port two"]),
    ],
)
def test_a_pending_conflict_ends_in_one_of_three_ways(mesh, waiting, resolution, left):
    (pending,) = mesh.review.conflicts()
    done = mesh.review.resolve(pending.id, resolution, reason="asked")
    assert (done.id, done.resolution, done.why) == (pending.id, resolution, "asked")
    assert active(mesh) == left
    assert mesh.review.conflicts() == []
    for anew, now in (("reject", {"port one"}), ("keep_both", {"port one", "port two"}),
                      ("supersede", {"port two"}), ("reject", {"port one"})):  # fmt: skip
        mesh.review.resolve(pending.id, anew)
        assert set(active(mesh)) == now
    mesh.review.undo(pending.new)
    assert set(active(mesh)) == {"port one", "port two"}
    assert mesh.care.verify().ok


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("decided", ["supersede", "reject"])
def test_a_conflict_whose_decision_is_undone_is_listed_again(mesh, waiting, side, decided):
    (pending,) = mesh.review.conflicts()
    for _ in range(2):
        mesh.review.resolve(pending.id, "keep_both")
        mesh.review.resolve(pending.id, decided, reason="asked")
        assert mesh.review.conflicts() == []
        mesh.review.undo(waiting[side])
        assert memory_of_any(mesh, waiting[0]).status is Status.ACTIVE
        assert memory_of_any(mesh, waiting[1]).status in {Status.ACTIVE, Status.QUARANTINED}
        (again,) = mesh.review.conflicts()
        assert (again.id, again.resolution, again.why) == (pending.id, None, None)
        with pytest.raises(InvalidInput, match="no decision to undo"):
            mesh.review.undo(waiting[side])
    mesh.review.resolve(pending.id, "reject")
    assert active(mesh) == ["port one"]
    assert mesh.care.verify().ok


def test_a_newcomer_beside_its_rival_is_decided_on_too(mesh):
    known = id_of(mesh.add("port one", **port("1")))
    beside = mesh.add("port two", **port("2", **guess(keep_active=True)))
    (pending,) = mesh.review.conflicts()
    mesh.review.resolve(pending.id, "supersede")
    assert active(mesh) == ["port two"]
    assert memory_of_any(mesh, known).successor == beside.id


def test_what_is_gone_since_does_not_come_back_by_a_resolution(mesh):
    mesh.add("port one", **port("1"))
    mesh.add("port two", **port("2", **guess(keep_active=True)))
    mesh.add("port three", **port("3"))
    assert active(mesh) == ["port three"]
    (pending,) = mesh.review.conflicts(pending=True)
    with pytest.raises(InvalidInput, match="superseded"):
        mesh.review.resolve(pending.id, "supersede")
    mesh.review.resolve(pending.id, "keep_both")
    assert active(mesh) == ["port three"]


def test_one_decision_lets_a_newcomer_in_against_all_its_rivals(mesh):
    mesh.add("port one", **port("1"))
    mesh.add("port two", **port("2", **guess(keep_active=True)))
    newcomer = mesh.add("port three", **port("3", **guess()))
    assert len(newcomer.conflicts) == 2
    mesh.review.resolve(newcomer.conflicts[0], "supersede")
    assert active(mesh) == ["port three"]
    assert not [each for each in mesh.review.conflicts() if each.new == newcomer.id]


def test_keeping_both_waits_for_the_decision_on_every_rival(mesh):
    mesh.add("port one", **port("1"))
    mesh.add("port two", **port("2", **guess(keep_active=True)))
    newcomer = mesh.add("port three", **port("3", **guess()))
    mesh.review.resolve(newcomer.conflicts[0], "keep_both")
    assert active(mesh) == ["port one", "port two"]
    mesh.review.resolve(newcomer.conflicts[1], "keep_both")
    assert active(mesh) == ["port one", "port three", "port two"]


def test_conflicts_of_other_projects_are_neither_shown_nor_in_the_way(tmp_path):
    ids = {}
    for name in ("one", "two"):
        with MemoryMesh(db_dir=tmp_path, project=name) as mesh:
            mesh.add("port one", **port("1"))
            ids[name] = mesh.add("port two", **port("2", **guess())).conflicts[0]
    with MemoryMesh(db_dir=tmp_path, project="two") as mesh:
        for number in range(3, 60):
            mesh.add(f"port {number}", **port(str(number), **guess()))
        assert len(mesh.review.conflicts(limit=50)) == 50
        with pytest.raises(NotFound):
            mesh.review.resolve(ids["one"], "reject")
    with MemoryMesh(db_dir=tmp_path, project="one") as mesh:
        assert [each.id for each in mesh.review.conflicts(limit=1)] == [ids["one"]]
        assert [each.id for each in mesh.review.conflicts(limit=50, decided=True)] == [ids["one"]]
        assert len(mesh.review.waiting()) == 1
    with MemoryMesh(db_dir=tmp_path) as mesh:
        assert mesh.review.conflicts() == []
        assert mesh.review.waiting() == []


# --- chains ---------------------------------------------------------------------------------------


def test_a_chain_goes_from_the_oldest_to_the_newest_from_wherever_it_is_asked(mesh, clock):
    ids = []
    for value in "1234":
        clock.advance(timedelta(hours=1))
        ids.append(id_of(mesh.add(f"port {value}", **port(value))))
    for asked in ids:
        found = [memory.id for memory in mesh.review.chain(asked)]
        assert found == ids
    assert [memory.successor for memory in mesh.review.chain(ids[-1])] == [*ids[1:], None]
    with pytest.raises(NotFound):
        mesh.review.chain("mem_1_abcdef")
    with pytest.raises(NotFound):
        mesh.review.chain("mem_1_abcdef", scope=Scope(project="other"))


def test_as_of_a_day_the_value_of_that_day_is_read(mesh, clock):
    mesh.add("port one", **port("1"))
    then = clock.advance(timedelta(days=1))
    clock.advance(timedelta(days=1))
    mesh.add("port two", **port("2"))
    assert [hit.content for hit in mesh.search("port", as_of=then)] == ["port one"]
    assert [hit.content for hit in mesh.search("port")] == ["port two"]


# --- what was rejected stays out ------------------------------------------------------------------


@pytest.fixture
def rejected(mesh, waiting):
    _, newcomer = waiting
    mesh.review(newcomer, approve=False, reason="a rumour")
    return newcomer


def brought(text, **details):
    """What an importer hands in."""
    born = Origin("mem_9_abcdef", datetime(2020, 1, 1, tzinfo=UTC))
    source = Source(SourceKind.DOCUMENT, Channel.IMPORT)
    return Draft(text=text, origin=born, source=source, **details)


DOORS = {
    "the same text": lambda mesh: mesh.add("port two"),
    "other case and signs": lambda mesh: mesh.add("  PORT, two!! "),
    "other words, the same value": lambda mesh: mesh.add("it listens on 2", **port("2")),
    "the value in other spelling": lambda mesh: mesh.add("listens", **port(" 2. ")),
    "with a key": lambda mesh: mesh.add("port two", key="k"),
    "allowing duplicates": lambda mesh: mesh.add("port two", allow_duplicate=True),
    "from the user": lambda mesh: mesh.add("port two", source_kind="user_explicit"),
    "in quarantine once more": lambda mesh: mesh.add("port two", quarantine="odd"),
    "kept active": lambda mesh: mesh.add("listens", **port("2", keep_active=True)),
    "in a batch": lambda mesh: mesh.add_many(["port two"])[0],
    "by an import": lambda mesh: mesh.add_many([brought("port two")])[0],
    "by an import's claim": lambda mesh: mesh.add_many(
        [brought("imported", claim=claims.stated("Service", "port", "2"))]
    )[0],
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_a_rejected_value_does_not_come_back_by_any_door(mesh, rejected, door):
    receipt = door(mesh)
    assert (receipt.outcome, receipt.id) == (Outcome.REFUSED, None)
    assert "rejected" in receipt.reasons[0]
    assert active(mesh) == ["port one"]
    mesh.review.undo(rejected)
    mesh.review(rejected, approve=True)
    assert active(mesh) == ["port two"]
    assert door(mesh).outcome is not Outcome.REFUSED


UPDATES = {
    "its text": lambda mesh, id_: mesh.update(id_, "Port TWO"),
    "its claim": lambda mesh, id_: mesh.update(id_, **port("2")),
}


@pytest.mark.parametrize("change", UPDATES.values(), ids=UPDATES)
def test_a_rejected_value_does_not_come_back_by_an_update(mesh, rejected, change):
    other = id_of(mesh.add("something else"))
    with pytest.raises(InvalidInput, match="rejected"):
        change(mesh, other)
    assert active(mesh) == ["port one", "something else"]
    mesh.pin(other)
    mesh.update(other, "something new")
    mesh.review.undo(rejected)
    assert mesh.update(other, "Port TWO").text == "Port TWO"


def test_an_update_is_no_way_around_the_rules(mesh):
    first = id_of(mesh.add("port one", **port("1")))
    other = id_of(mesh.add("something else"))
    with pytest.raises(InvalidInput, match=first):
        mesh.update(other, **port("2"))
    assert active(mesh) == ["port one", "something else"]


def test_a_restore_is_no_way_around_the_rules_either(mesh):
    first = id_of(mesh.add("port one", **port("1")))
    mesh.delete(first)
    second = id_of(mesh.add("port two", **port("2")))
    assert mesh.restore(first).text == "port one"
    assert active(mesh) == ["port one"]
    assert mesh.history(second)[-1].successor == first


def test_a_rejected_value_comes_back_by_the_users_restore_alone(mesh):
    same = id_of(mesh.add("a rumour"))
    mesh.delete(same)
    again = id_of(mesh.add("A rumour", quarantine="odd"))
    mesh.review(again, approve=False)
    assert mesh.add("a RUMOUR").outcome is Outcome.REFUSED
    assert mesh.restore(same).status is Status.ACTIVE
    assert mesh.add("a RUMOUR").outcome is not Outcome.REFUSED


def test_a_rejection_binds_its_own_audience_alone(mesh, rejected):
    apart = mesh.add("port two", scope=Scope(project="other"))
    assert apart.outcome is Outcome.STORED
    assert mesh.add("port twenty-two", **port("22")).outcome is Outcome.STORED


def test_a_rejection_by_resolution_binds_as_one_by_review(mesh, waiting):
    (pending,) = mesh.review.conflicts()
    mesh.review.resolve(pending.id, "reject")
    assert mesh.add("port two").outcome is Outcome.REFUSED


# --- echoes ---------------------------------------------------------------------------------------


FRIDAY = "The deploy runs on Friday"


@pytest.mark.parametrize("channel", [Channel.MCP, Channel.ASSISTANT, Channel.EXTRACTION])
@pytest.mark.parametrize(
    "said", [FRIDAY, "the deploy  RUNS on friday.", "«The deploy runs on Friday»"]
)
def test_a_model_that_repeats_what_memory_holds_is_refused(tmp_path, channel, said):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        stored = mesh.add(FRIDAY)
    with MemoryMesh(db_dir=tmp_path, channel=channel) as model:
        echo = model.add(said)
        assert echo.outcome is Outcome.REFUSED
        assert id_of(stored) in echo.reasons[0]
        assert model.add("It rains on Monday").outcome is Outcome.STORED
        assert memory_of(model, stored).origins == 1


def test_results_that_are_handed_in_again_are_refused_from_anybody(mesh):
    mesh.add(FRIDAY)
    mesh.add("The deploy needs two people")
    shown = mesh.format_results(mesh.search("deploy"))
    assert mesh.add(shown).outcome is Outcome.REFUSED
    assert mesh.add(f"{shown}\n--- MEMORY 3 ---\nand one that is new").outcome is Outcome.STORED


def test_no_echo_is_told_across_audiences(tmp_path):
    with MemoryMesh(db_dir=tmp_path, project="one") as mesh:
        mesh.add("The deploy runs on Friday")
    with MemoryMesh(db_dir=tmp_path, project="two", channel=Channel.MCP) as model:
        assert model.add("The deploy runs on Friday").outcome is Outcome.STORED


def test_a_person_who_says_it_again_is_an_observation_and_no_echo(mesh):
    first = mesh.add("The deploy runs on Friday")
    again = mesh.add("The deploy runs on Friday")
    assert (again.outcome, again.id) == (Outcome.MERGED, first.id)


# --- trust does not flow upwards ------------------------------------------------------------------


def memory_of_id(mesh, id_):
    (memory,) = mesh.get_many([id_])
    return memory


@pytest.mark.req("R-003-095")
def test_a_lesser_channel_changes_nothing_that_is_trusted_more(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        stored = id_of(mesh.add(FRIDAY))
    with MemoryMesh(db_dir=tmp_path, channel=Channel.WEB) as web:
        with pytest.raises(InvalidInput, match="more trusted"):
            web.update(stored, source_kind="user_explicit")
        page = id_of(web.add("the page says so", importance=1.0, pinned=True))
        assert (memory_of_id(web, page).importance, memory_of_id(web, page).pinned) == (0.5, False)
        raised = web.update(page, source_kind="user_explicit", importance=1.0)
        assert (raised.source.kind, raised.importance) == (SourceKind.DOCUMENT, 0.5)
    with MemoryMesh(db_dir=tmp_path, channel=Channel.MCP) as model:
        for refused in (
            lambda: model.update(stored, "The deploy is off"),
            lambda: model.pin(page),
        ):
            with pytest.raises(InvalidInput):
                refused()
        for _ in range(5):
            assert model.review.dispute(stored).status is Status.ACTIVE


def test_what_waits_is_not_kept_twice(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as user:
        user.add("port one", **port("1"))
    with MemoryMesh(db_dir=tmp_path, channel=Channel.MCP) as model:
        for _ in range(20):
            model.add("port two", **port("2"))
        model.add_many([{"content": "port two", **port("2")}] * 20)
        assert len(model.review.waiting()) == 1


def test_age_lets_nobody_less_trusted_in(tmp_path, clock):
    with MemoryMesh(db_dir=tmp_path, clock=clock) as user:
        user.add("port one", **port("1", source_kind="system"))
    clock.advance(timedelta(days=800))
    with MemoryMesh(db_dir=tmp_path, clock=clock, channel=Channel.TOOL) as tool:
        assert tool.add("port two", **port("2")).outcome is Outcome.QUARANTINED


def test_origins_are_not_believed_from_a_page(tmp_path):
    with MemoryMesh(db_dir=tmp_path, channel=Channel.WEB) as web:
        ids = {web.add("the sky is green", {"source": f"site {n}"}).id for n in range(6)}
        (id_,) = ids
        assert web.review.trust(id_ or "") == 0.6


@pytest.mark.parametrize("times", [50])
def test_repetition_by_one_origin_adds_nothing(mesh, times):
    first = mesh.add("port one", **port("1", **guess(source_ref="bot")))
    for number in range(times):
        mesh.add(f"port one, take {number}", **port("1", **guess(source_ref="bot")))
    assert memory_of(mesh, first).origins == 1
    assert mesh.review.trust(id_of(first)) == pytest.approx(0.5)
