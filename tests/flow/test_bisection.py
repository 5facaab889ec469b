"""Which write made an answer wrong, found by judging earlier packs; and taking it back."""

from datetime import timedelta

import pytest

from memory_mesh.model import (
    Channel,
    InvalidInput,
    NotAllowed,
    NotFound,
    Scope,
    Status,
)
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock, ScriptedLLM

QUESTION = "how do we deploy the app?"
COMPLAINT = "the agent ran the wrong deploy command"
RIGHT, WRONG = "Deploy the app with make deploy", "Deploy the app with ship --prod now"


def right(pack):
    """The judge of these tests: the words of the wrong command are not in the pack."""
    return "ship --prod" not in pack.text


class World:
    """A store whose clock goes on before each write."""

    def __init__(self, mesh: MemoryMesh, clock: FrozenClock) -> None:
        self.mesh, self._clock = mesh, clock

    def tick(self, minutes=1):
        self._clock.advance(timedelta(minutes=minutes))

    def add(self, text, **details):
        self.tick()
        return self.mesh.add(text, **details).id

    def more(self, many=6):
        for number in range(many):
            self.add(f"The app has a page number {number} about deploys")

    def told(self, **options):
        self.tick()
        return self.mesh.context(QUESTION, **options)

    def block(self, id_):
        return self.mesh.explain(id_).blocks[-1].id

    def status(self, id_):
        return self.mesh.history(id_)[-1].status


@pytest.fixture
def world(mesh, clock):
    made = World(mesh, clock)
    made.add("Lunch is on Friday")
    made.add(RIGHT)
    made.more()
    return made


def test_the_write_is_found_between_packs_that_are_judged(world):
    wrong = world.add(WRONG, source_ref="https://forum.example/1")
    block = world.block(wrong)
    world.more()
    told = world.told()
    world.add("The app is deployed by the team on call")
    found = world.mesh.bisect(COMPLAINT, judge=right)
    assert (found.culprit.block, found.culprit.memory.id, found.culprit.what) == (
        block, wrong, "added",
    )  # fmt: skip
    assert found.exact
    assert found.told.text == told.text
    assert found.prompt.id == told.injection_id
    assert right(found.right)
    assert found.asked <= 5


def test_a_bisection_records_and_changes_nothing(world):
    world.add(WRONG)
    world.told()
    before = world.mesh.stats()
    world.mesh.bisect(COMPLAINT, judge=right)
    after = world.mesh.stats()
    assert (after.seq, after.blocks) == (before.seq, before.blocks)
    assert len(world.mesh.care.prompts()) == 1


def test_the_same_pack_is_judged_once(world):
    world.add(WRONG)
    world.told()
    seen = []

    def judge(pack):
        seen.append(pack.text)
        return right(pack)

    world.mesh.bisect(COMPLAINT, judge=judge)
    assert len(seen) == len(set(seen))


def test_of_several_turns_the_last_one_is_found(world):
    wrong = world.add(WRONG)
    world.more(3)
    world.tick()
    world.mesh.delete(wrong)
    world.more(3)
    world.tick()
    world.mesh.restore(wrong)
    block = world.block(wrong)
    world.more(2)
    world.told()
    found = world.mesh.bisect(COMPLAINT, judge=right)
    assert (found.culprit.what, found.culprit.block) == ("restored", block)
    world.mesh.review.take_back(block)
    assert world.status(wrong) is Status.DELETED


def test_what_was_never_wrong_or_never_right_has_no_write(world):
    world.told()
    found = world.mesh.bisect(COMPLAINT, judge=lambda _: True)
    assert (found.culprit, found.asked) == (None, 1)
    assert "right as it was told" in found.reason
    found = world.mesh.bisect(COMPLAINT, judge=lambda _: False)
    assert found.culprit is None
    assert "no earlier pack" in found.reason


def test_a_lost_memory_turns_an_answer_wrong_too(world):
    (known,) = [one.id for one in world.mesh.search("make deploy", limit=1)]
    world.tick()
    world.mesh.delete(known)
    world.more(3)
    world.told()
    found = world.mesh.bisect(COMPLAINT, judge=lambda pack: "make deploy" in pack.text)
    assert (found.culprit.what, found.culprit.memory.id) == ("deleted", known)
    world.mesh.review.take_back(found.culprit.block)
    assert world.status(known) is Status.ACTIVE


def test_without_answers_it_is_said_what_is_left(world):
    world.add(WRONG)
    told = world.told().text
    found = world.mesh.bisect(COMPLAINT, judge=lambda pack: {told: False, "": True}.get(pack.text))
    assert found.culprit is None
    assert "no answer for some packs" in found.reason
    assert WRONG in [memory.text for memory in found.between]


def test_of_memories_that_came_in_one_write_the_judge_says_which(world):
    world.tick()
    texts = [WRONG, "The app runs on two hosts", "A deploy of the app is announced", RIGHT + " -n"]
    receipts = world.mesh.add_many(texts)
    world.told()
    found = world.mesh.bisect(COMPLAINT, judge=right)
    assert found.culprit.memory.id == receipts[0].id


# Which prompt is meant.


def test_the_prompt_that_shares_most_with_the_complaint_is_meant(world):
    first = world.told()
    world.tick()
    other = world.mesh.context("when is lunch?")
    assert world.mesh.bisect(COMPLAINT, judge=right).prompt.id == first.injection_id
    assert world.mesh.bisect("lunch was wrong", judge=right).prompt.id == other.injection_id
    named = world.mesh.bisect("it was wrong", prompt=other.injection_id, judge=right)
    assert named.question == "when is lunch?"
    fenced = world.mesh.bisect("it was wrong", prompt=other.fence, judge=right)
    assert fenced.prompt.id == other.injection_id


def test_a_question_is_asked_as_of_now_where_no_prompt_is_meant(world):
    wrong = world.add(WRONG)
    found = world.mesh.bisect(COMPLAINT, question=QUESTION, judge=right)
    assert (found.prompt, found.culprit.memory.id) == (None, wrong)
    assert world.mesh.bisect("zebras", judge=right).question == "zebras"


def test_a_session_is_not_told_twice_and_neither_is_its_bisection(world):
    wrong = world.add(WRONG)
    own = Scope(session="s1")
    first = world.told(scope=own, max_memories=2)
    given = {item.id for item in first}
    world.tick()
    second = world.mesh.context(
        "how is the app deployed?", scope=own, exclude=given, max_memories=3
    )
    found = world.mesh.bisect(
        COMPLAINT, prompt=second.injection_id, across=["session"], judge=lambda _: False
    )
    assert found.exact
    assert {item.id for item in found.told}.isdisjoint(given)
    assert wrong in given


def test_the_prompt_of_another_reader_is_as_one_that_does_not_exist(world):
    told = world.told(scope=Scope(session="s1"))
    with pytest.raises(NotFound):
        world.mesh.bisect(COMPLAINT, prompt=told.injection_id, judge=right)
    assert world.mesh.bisect(COMPLAINT, judge=right).prompt is None


def test_times_narrow_it(world):
    early = world.add(WRONG)
    world.tick()
    between = world.mesh._now()
    world.more(2)
    late = world.add(WRONG.replace("now", "today"))
    world.told()
    found = world.mesh.bisect(COMPLAINT, judge=lambda pack: "today" not in pack.text)
    assert found.culprit.memory.id == late
    world.tick()
    found = world.mesh.bisect(COMPLAINT, judge=right, wrong_at=between)
    assert found.culprit.memory.id == early


def test_a_language_model_can_judge(tmp_path, clock):
    llm = ScriptedLLM(["wrong", "Right.", "wrong", "right", "wrong", "right"])
    with MemoryMesh(db_dir=tmp_path / "own", clock=clock, custom_llm=llm) as mesh:
        world = World(mesh, clock)
        world.add(RIGHT)
        wrong = world.add(WRONG)
        world.told()
        found = world.mesh.bisect(COMPLAINT)
    assert found.culprit is not None
    assert found.culprit.memory.id == wrong
    assert COMPLAINT in llm.prompts[0]
    assert QUESTION in llm.prompts[0]
    assert WRONG in llm.prompts[0]


def test_without_a_judge_and_without_a_model_it_says_so(world):
    world.told()
    with pytest.raises(InvalidInput, match="nobody can judge"):
        world.mesh.bisect(COMPLAINT)


# Votes of an earlier time.


def test_a_search_of_the_past_counts_the_votes_of_then(world):
    one = world.add("`push central --now` also deploys the app.")
    other = world.add("`push orbital --now` also deploys the app.")
    world.tick()
    then = world.mesh._now()
    first = [hit.id for hit in world.mesh.search("push deploys the app", as_of=then)]
    low = one if first.index(one) > first.index(other) else other
    for _ in range(3):
        world.tick()
        world.mesh.rate(low, helpful=True)
    now = [hit.id for hit in world.mesh.search("push deploys the app")]
    assert now.index(low) == min(first.index(one), first.index(other))
    assert [hit.id for hit in world.mesh.search("push deploys the app", as_of=then)] == first


# Taking back.


def test_what_was_made_of_a_memory_goes_and_what_gave_way_to_it_comes_back(world):
    claim = {"subject": "app", "predicate": "deployed with", "exclusive": True}
    old = world.add("make deploys the app", claim={**claim, "value": "make"})
    wrong = world.add(WRONG, claim={**claim, "value": "ship"})
    lesson = world.add("Deploys go through ship --prod", derived_from=[wrong])
    again = world.add("All ships sail with --prod", derived_from=[lesson])
    world.told()
    assert world.status(old) is Status.SUPERSEDED
    found = world.mesh.bisect(COMPLAINT, judge=lambda pack: WRONG not in pack.text)
    assert {one.id for one in found.culprit.derived} == {lesson, again}
    assert [one.id for one in found.culprit.replaced] == [old]
    changed = world.mesh.review.take_back(found.culprit.block)
    assert {one.id for one in changed} == {old, wrong, lesson, again}
    assert world.status(old) is Status.ACTIVE
    assert {world.status(id_) for id_ in (wrong, lesson, again)} == {Status.DELETED}


def test_a_changed_memory_is_as_before(world):
    id_ = world.add("A deploy of the app takes four minutes", importance=0.4, tags=["ops"])
    world.tick()
    world.mesh.update(id_, WRONG, tags=["prod"])
    world.told()
    found = world.mesh.bisect(COMPLAINT, judge=right)
    assert (found.culprit.what, found.culprit.before.text) == (
        "updated", "A deploy of the app takes four minutes",
    )  # fmt: skip
    (back,) = world.mesh.review.take_back(found.culprit.block)
    assert (back.text, back.tags) == ("A deploy of the app takes four minutes", ("ops",))


def test_a_vote_counts_no_more_and_others_stay(world):
    id_ = world.add(RIGHT + " today")
    for helpful in (True, True, False):
        world.tick()
        world.mesh.rate(id_, helpful=helpful)
    votes = [block for block in world.mesh.explain(id_).blocks if block.what == "vote"]
    (after,) = world.mesh.review.take_back(votes[-1].id)
    assert (after.helpful, after.harmful) == (2, 0)
    assert after.usefulness == pytest.approx(1.21)
    lesson = world.add("Deploys are announced", derived_from=[id_])
    (after,) = world.mesh.review.take_back(votes[0].id)
    assert world.status(lesson) is Status.ACTIVE
    assert (after.helpful, after.usefulness) == (1, pytest.approx(1.1))


def test_a_pin_is_taken_back(world):
    id_ = world.add(WRONG)
    world.tick()
    world.mesh.pin(id_)
    world.mesh.review.take_back(world.block(id_))
    assert not world.mesh.history(id_)[-1].pinned


def test_only_the_user_takes_back_and_only_what_there_is(world):
    id_ = world.add(WRONG)
    with pytest.raises(NotAllowed):
        world.mesh.view(channel=Channel.ASSISTANT).review.take_back(world.block(id_))
    with pytest.raises(NotFound):
        world.mesh.review.take_back("yamo_retain_1_000000")
