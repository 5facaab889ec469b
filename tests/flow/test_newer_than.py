"""A claim that was read from a text orders two memories and hides neither."""

from datetime import timedelta

import pytest

from memory_mesh.model import Channel, Outcome, Resolution, Scope, Status
from memory_mesh.model.errors import InvalidInput
from memory_mesh.testing import FrozenClock
from tests.receipts import id_of

OLD, NEW = "The API timeout is 30 seconds", "The API timeout was raised to 60 seconds"
QUESTION = "What is the API timeout?"


@pytest.fixture
def pair(mesh):
    return id_of(mesh.add(OLD)), id_of(mesh.add(NEW))


def found(mesh, **options):
    return [hit.content for hit in mesh.search(QUESTION, **options)]


def test_both_stay_and_the_newer_stands_above(mesh):
    old, receipt = mesh.add(OLD), mesh.add(NEW)
    assert receipt.newer_than == (old.id,)
    assert receipt.superseded == ()
    assert found(mesh) == [NEW, OLD]
    older = mesh.search(QUESTION)[1]
    assert (older.newer, mesh.get(old.id).status) == (receipt.id, Status.ACTIVE)
    (conflict,) = mesh.review.conflicts()
    assert (conflict.resolution, conflict.by_rule) == (Resolution.NEWER_THAN, True)
    assert mesh.care.verify().ok


def test_a_newer_statement_comes_along_though_it_was_not_found(mesh):
    mesh.add("The default branch is master")
    mesh.add("The default branch is now main")
    hits = mesh.search("master", keyword_only=True)
    assert [hit.content for hit in hits] == [
        "The default branch is now main",
        "The default branch is master",
    ]
    assert hits[0].score >= hits[1].score


def test_the_limit_keeps_the_newer(mesh, pair):
    assert found(mesh, limit=1) == [NEW]


def test_three_statements_stand_in_the_order_of_time(mesh):
    texts = [f"The build number is {number}" for number in (11, 12, 13)]
    for text in texts:
        mesh.add(text)
    assert [hit.content for hit in mesh.search("build number")] == texts[::-1]


def test_a_less_trusted_newer_one_stands_below_and_waits_for_a_decision(mesh):
    old = mesh.add(OLD, role="user")
    agent = mesh.view(channel=Channel.ASSISTANT)
    receipt = agent.add(NEW)
    assert receipt.newer_than == ()
    assert found(mesh) == [OLD, NEW]
    (conflict,) = mesh.review.conflicts(pending=True)
    assert (conflict.new, conflict.existing) == (receipt.id, old.id)
    mesh.review.resolve(conflict.id, "supersede")
    assert found(mesh) == [NEW]


@pytest.mark.parametrize("side", [0, 1])
def test_undoing_keeps_both_as_they_are_found(mesh, pair, side):
    mesh.review.undo(pair[side])
    assert mesh.review.conflicts() == []
    assert [hit.newer for hit in mesh.search(QUESTION)] == [None, None]
    with pytest.raises(InvalidInput, match="no decision"):
        mesh.review.undo(pair[side])


@pytest.mark.parametrize(
    ("resolution", "left"),
    [("keep_both", {OLD, NEW}), ("supersede", {NEW}), ("reject", {OLD})],
)
def test_a_person_decides_a_guess_anew(mesh, pair, resolution, left):
    mesh.review.resolve(mesh.review.conflicts()[0].id, resolution)
    assert set(found(mesh)) == left
    assert mesh.review.conflicts() == []
    assert mesh.care.verify().ok


@pytest.mark.parametrize("side", [0, 1])
def test_a_stated_claim_that_superseded_is_undone_from_either_side(mesh, side):
    def port(value):
        return {"claim": {"subject": "service", "predicate": "port", "value": value}}

    ids = [id_of(mesh.add(f"port {value}", **port(value))) for value in ("one", "two")]
    assert [memory.text for memory in mesh.get_all()] == ["port two"]
    mesh.review.undo(ids[side])
    assert {memory.text for memory in mesh.get_all()} == {"port one", "port two"}
    assert mesh.get(ids[0]).successor is None
    assert mesh.review.conflicts() == []


@pytest.mark.parametrize(
    ("resolution", "left"),
    [
        ("keep_both", {"port one", "port two"}),
        ("reject", {"port one"}),
        ("supersede", {"port two"}),
    ],
)
def test_a_person_overrules_what_a_rule_superseded(mesh, resolution, left):
    for value in ("one", "two"):
        claim = {"subject": "service", "predicate": "port", "value": value}
        mesh.add(f"port {value}", claim=claim)
    mesh.review.resolve(mesh.review.conflicts()[0].id, resolution)
    assert {memory.text for memory in mesh.get_all()} == left
    assert mesh.review.conflicts() == []


def test_a_registered_predicate_supersedes_though_it_was_read(mesh):
    mesh.review.register_predicates({"is": {"cardinality": "single"}})
    old = mesh.add(OLD)
    assert mesh.add("The API timeout is 60 seconds").superseded == (old.id,)


def test_a_changed_text_is_read_again(mesh, pair):
    old, _ = pair
    mesh.update(old, "The cache timeout is 30 seconds")
    assert mesh.review.conflicts() == []
    mesh.update(old, "The API timeout is 90 seconds")
    (conflict,) = mesh.review.conflicts()
    assert (conflict.new, conflict.resolution) == (old, Resolution.NEWER_THAN)
    assert found(mesh)[0] == "The API timeout is 90 seconds"


def test_what_happened_earlier_is_not_newer(mesh):
    late = mesh.add("The API timeout is 60 seconds", occurred_at="2026-05-01")
    early = mesh.add(OLD, occurred_at="2026-01-01")
    assert early.newer_than == ()
    assert [hit.id for hit in mesh.search(QUESTION)] == [late.id, early.id]


def test_as_of_a_day_before_the_newer_one_only_the_older_is_there(mesh):
    clock = mesh._opened().clock
    assert isinstance(clock, FrozenClock)
    mesh.add(OLD)
    before = clock.now()
    clock.advance(timedelta(days=1))
    mesh.add(NEW)
    assert found(mesh, as_of=before) == [OLD]


def test_the_narrower_audience_stands_above(mesh):
    project = Scope(project="shop")
    mesh.add("The API timeout is 60 seconds", scope=project)
    wide = mesh.add(OLD)
    assert wide.newer_than == ()
    assert found(mesh, scope=project) == ["The API timeout is 60 seconds", OLD]
    assert found(mesh) == [OLD]
    assert mesh.review.conflicts(scope=project) == []


def test_a_newer_one_that_the_reader_may_not_see_is_not_brought(mesh):
    private = Scope(session="s1")
    mesh.add(OLD, scope=private)
    mesh.add(NEW, scope=private)
    assert found(mesh) == []
    assert found(mesh, scope=private) == [NEW, OLD]
    assert found(mesh, scope=private, filter="content LIKE '%30%'") == [OLD]


def test_what_is_said_again_stands_above_again(mesh):
    on, off = "Feature flag checkout is on", "Feature flag checkout is off"
    first = id_of(mesh.add(on))
    second = id_of(mesh.add(off))
    again = mesh.add(on)
    assert (again.id, again.newer_than) == (first, (second,))
    assert any("said again" in reason for reason in again.reasons)
    assert [hit.content for hit in mesh.search("feature flag checkout")] == [on, off]
    mesh.add(on)
    (conflict,) = mesh.review.conflicts()
    assert (conflict.new, conflict.existing) == (first, second)
    mesh.add(off)
    assert [hit.content for hit in mesh.search("feature flag checkout")] == [off, on]
    assert mesh.care.verify().ok


def test_an_agent_may_repeat_its_own_words(mesh):
    agent = mesh.view(channel=Channel.ASSISTANT)
    own = agent.add("Tests take four minutes")
    again = agent.add("Tests take four minutes", tags=["ci"])
    assert (again.id, again.outcome) == (own.id, Outcome.MERGED)
    assert mesh.get(own.id).origins == 1


def test_a_page_that_repeats_an_older_value_turns_nothing(mesh):
    mesh.add(OLD, role="user")
    mesh.add(NEW, role="user")
    mesh.view(channel=Channel.WEB).add(OLD)
    mesh.add(OLD, role="user", occurred_at="2020-01-01")
    assert found(mesh) == [NEW, OLD]


def test_values_that_are_stored_together_stand_in_their_order(mesh):
    receipts = mesh.add_many([OLD, NEW, OLD])
    assert receipts[2].id == receipts[0].id
    assert found(mesh) == [OLD, NEW]


def test_only_the_newest_of_many_values_is_brought(mesh):
    for value in range(100, 160):
        receipt = mesh.add(f"The API timeout is {value} seconds")
        assert len(receipt.newer_than) <= 1
    for text in ("Room 100 is booked", "100 euros are due", "Bus 100 is late"):
        mesh.add(text)
    hits = mesh.search("100", limit=5, keyword_only=True)
    texts = [hit.content for hit in hits]
    assert texts.index("The API timeout is 159 seconds") + 1 == texts.index(
        "The API timeout is 100 seconds"
    )
    assert len(texts) == 5
    older = next(hit for hit in hits if hit.content.endswith("100 seconds"))
    assert older.newer == hits[texts.index("The API timeout is 159 seconds")].id


def test_a_decision_on_a_deleted_memory_hides_nothing(mesh, pair):
    old, new = pair
    (conflict,) = mesh.review.conflicts()
    mesh.review.resolve(conflict.id, "keep_both")
    mesh.delete(new)
    with pytest.raises(InvalidInput, match="deleted"):
        mesh.review.resolve(conflict.id, "supersede")
    assert found(mesh) == [OLD]
    mesh.restore(new)
    mesh.delete(old)
    mesh.review.resolve(conflict.id, "supersede")
    assert mesh.restore(old).status is Status.ACTIVE


def test_a_full_stop_changes_no_order(mesh, pair):
    old, _ = pair
    mesh.update(old, OLD + ".")
    (conflict,) = mesh.review.conflicts()
    assert conflict.existing == old


def test_approving_a_memory_does_not_hide_what_it_seems_to_update(mesh, pair):
    _, new = pair
    for _ in range(3):
        mesh.review.dispute(new, reason="no")
    mesh.review(new, approve=True)
    assert set(found(mesh)) == {OLD, NEW}


def test_a_long_word_is_not_taken_for_a_configuration(mesh):
    assert mesh.add("x" * 50_000 + "\nport: 8080").newer_than == ()


FRIDAYS, MONDAYS = "We deploy on Fridays", "We deploy on Mondays"


def test_of_two_in_an_open_conflict_the_newer_stands_first_and_both_say_so(mesh):
    old, new = id_of(mesh.add(FRIDAYS)), id_of(mesh.add(MONDAYS))
    assert mesh.review.conflicts(pending=True)
    hits = mesh.search("When do we deploy?")
    assert [(hit.id, hit.conflict, hit.newer) for hit in hits] == [
        (new, old, None),
        (old, new, None),
    ]
    assert mesh.context("When do we deploy?").text.count("another memory contradicts it") == 2
    named = mesh.search("Do we deploy on Fridays?")  # the words of the question decide
    assert named[0].id == old
    (conflict,) = mesh.review.conflicts(pending=True)
    mesh.review.resolve(conflict.id, "keep_both")
    assert {hit.conflict for hit in mesh.search("When do we deploy?")} == {None}


def test_a_conflict_names_no_memory_that_the_reader_does_not_see(mesh):
    for text in (FRIDAYS, MONDAYS):
        mesh.add(text, scope=Scope(project="shop"))
    mesh.add("We deploy at noon")
    assert {hit.conflict for hit in mesh.search("deploy")} == {None}


def test_evolve_gives_one_answer_where_no_rule_is_sure(mesh):
    mesh.add(FRIDAYS)
    told = " ".join(mesh.evolve(MONDAYS).reasons)
    assert "no rule says which of the two holds" in told
    assert "both may be true" not in told
