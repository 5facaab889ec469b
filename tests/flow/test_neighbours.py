"""Turns beside a turn: their words and vectors help it, and what is hidden might as well not be.

Questions of one word are asked where two stores are compared: then no number depends on how many
texts hold it, and the answers must be equal to the last digit.
"""

import math
import struct
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from memory_mesh.model import Embedding, Scope, Space, Status
from memory_mesh.sync import MemoryMesh

HERE = Scope(session="s")
HIDDEN = "zebra it was, surely a zebra?"
LATER = timedelta(hours=1)
START = datetime(2025, 6, 1, tzinfo=UTC)


class Spread:
    """An embedder that puts every text somewhere, always at the same place."""

    space = Space("test", "spread", "1", 8, 256)

    def embed(self, texts, *, query=False):
        return Embedding(self.space, tuple((self._vector(text),) for text in texts))

    def close(self):
        pass

    def _vector(self, text):
        random = Random(text)
        values = [random.gauss(0, 1) for _ in range(8)]
        length = math.hypot(*values)
        return struct.pack("<8f", *(value / length for value in values))


@pytest.fixture(params=[None, Spread()], ids=["by words", "by meaning"])
def make(request, tmp_path, clock):
    """New stores, as many as a test compares."""
    opened = list[MemoryMesh]()

    def made():
        folder = tmp_path / f"store{len(opened)}"
        opened.append(MemoryMesh(db_dir=folder, clock=clock, custom_embedder=request.param))
        return opened[-1]

    yield made
    for mesh in opened:
        mesh.close()


def say(mesh, order, text, **details):
    known = {"scope": HERE, "occurred_at": START + timedelta(minutes=order)}
    return mesh.add(text, order=order, **(known | details)).id


def ask(mesh, question="zebra", **options):
    """What is found, likely or not, with every number behind it."""
    hits = mesh.search(question, **({"scope": HERE, "min_relevance": 0} | options))
    return [(hit.content, hit.score, dict(hit.parts)) for hit in hits]


def contents(found):
    return [content for content, _, _ in found]


def conversation(mesh, middle=None, **details):
    """A talk about zebras; who said what in the middle of it is the test's to say."""
    say(mesh, 1, "which animal has stripes?")
    memory = middle and say(mesh, 2, middle, **details)
    say(mesh, 3, "the zebra, I think")
    say(mesh, 40, "a zebra crossed the street")
    mesh.add("zebra finches sing", occurred_at=START)
    return memory


@pytest.fixture
def never(make):
    """The answer where nobody ever said it."""
    mesh = make()
    conversation(mesh)
    return ask(mesh)


@pytest.fixture
def seen(make):
    """The answer where everyone may see it."""
    mesh = make()
    conversation(mesh, HIDDEN)
    return ask(mesh)


def test_an_answer_without_a_word_of_the_question_is_found_by_what_was_asked(mesh):
    for order, text in enumerate(["hello", "where is the umbrella?", "at the station", "thanks"]):
        say(mesh, order, text)
    found = {content: parts for content, _, parts in ask(mesh, "umbrella")}
    assert found["at the station"]["covered_before"] == 1
    assert found["hello"]["covered_around"] == 1
    assert "covered_before" not in found["hello"]
    assert "thanks" not in found


@pytest.mark.parametrize("meaning", [False, True], ids=["by words", "by meaning"])
def test_the_turn_before_decides_between_equals(tmp_path, clock, real_embedder, meaning):
    """By the real model: a made-up one may put the bicycle nearer than the umbrella."""
    embedder = real_embedder if meaning else None
    with MemoryMesh(db_dir=tmp_path, clock=clock, custom_embedder=embedder) as mesh:
        left = _left_at_the_station(mesh)
    assert left == ["b", "a"]


def _left_at_the_station(mesh):
    for session, asked in (("b", "and the umbrella?"), ("a", "and the bicycle?")):
        scope = Scope(session=session)
        say(mesh, 1, asked, scope=scope)
        say(mesh, 2, "I left it at the station", scope=scope)
    hits = mesh.search("umbrella left at which station", across=["session"], limit=4)
    return [hit.memory.scope.session for hit in hits if hit.content.startswith("I left it")]


def test_gaps_in_the_order_part_nobody_and_neither_does_a_turn_without_one(make):
    """Order 3 and 40 are next to each other; a note of the same session stands beside none."""
    mesh = make()
    conversation(mesh)
    before = ask(mesh, keyword_only=True)
    found = {content: parts for content, _, parts in before}
    after_another, alone = found["a zebra crossed the street"], found["zebra finches sing"]
    assert after_another["covered"] == alone["covered"]
    assert after_another["keyword"] > alone["keyword"]
    assert found["which animal has stripes?"]["covered_around"] == 1
    assert "covered_before" not in found["which animal has stripes?"]
    mesh.add("nothing of note", scope=HERE)
    assert ask(mesh, keyword_only=True) == before


@pytest.mark.parametrize("orders", [(-9, 0, 9), (2**62, 2**62 + 1, 2**63 - 1)])
def test_any_whole_number_is_an_order(mesh, orders):
    for order, text in zip(orders, ["where is it?", "the zebra is here", "thanks"], strict=True):
        mesh.add(text, scope=HERE, order=order)
    assert sorted(contents(ask(mesh))) == ["thanks", "the zebra is here", "where is it?"]


HIDDEN_BY_BIRTH = {
    "another session": {"scope": Scope(session="t")},
    "another project": {"scope": Scope(project="q", session="s")},
    "another agent": {"scope": Scope(agent="b", session="s")},
    "quarantined": {"quarantine": "sounds odd"},
    "not yet valid": {"valid_from": "2100-01-01T00:00:00Z"},
    "valid no more": {"valid_until": "2025-01-01T00:00:00Z"},
}
hidden = pytest.mark.parametrize("details", HIDDEN_BY_BIRTH.values(), ids=HIDDEN_BY_BIRTH)


@pytest.mark.req("R-000-010", "R-004-033")
@hidden
def test_what_a_reader_may_not_see_helps_no_turn(make, never, seen, details):
    mesh = make()
    conversation(mesh, HIDDEN, **details)
    assert ask(mesh) == never
    assert never != seen


@hidden
def test_what_is_hidden_takes_nobodys_place(make, details):
    """However close to a turn it stands, and although it is newer."""
    mesh, other = make(), make()
    for each in (mesh, other):
        conversation(each, "a zebra?")
    for order in (1, 2, 3, 39, 40):
        say(mesh, order, f"{HIDDEN} {order}", **details)
    assert ask(mesh) == ask(other)


def test_what_the_filter_leaves_out_helps_no_turn(make, never, seen):
    mesh = make()
    conversation(mesh, HIDDEN)
    assert ask(mesh, filter=f"content != '{HIDDEN}'") == never
    assert ask(mesh, filter="content != 'anything'") == seen


@pytest.mark.req("R-004-034")
def test_what_was_superseded_helps_no_turn(make):
    claim = {"subject": "ann", "predicate": "saw", "value": "zebra"}
    mesh, other = make(), make()
    memory = conversation(mesh, HIDDEN, claim=claim)
    conversation(other)
    for each in (mesh, other):
        each.add("Ann saw a horse", scope=HERE, claim=claim | {"value": "horse"})
    assert mesh.get(memory, scope=HERE, include=["superseded"]).status is Status.SUPERSEDED
    assert ask(mesh) == ask(other)
    assert HIDDEN in contents(ask(mesh, include=["superseded"]))


def moved(mesh, memory):
    mesh.update(memory, scope=Scope(session="t"), reader=HERE)


def deleted(mesh, memory):
    mesh.delete(memory, scope=HERE)


@pytest.mark.parametrize("hide", [deleted, moved])
def test_what_was_hidden_later_helped_then_and_helps_no_more(make, clock, never, seen, hide):
    mesh = make()
    memory = conversation(mesh, HIDDEN)
    then = clock.now() + LATER
    clock.advance(2 * LATER)
    hide(mesh, memory)
    assert ask(mesh) == never
    assert ask(mesh, as_of=then) == seen


def test_a_changed_turn_counts_with_its_words_of_now_and_of_then(make, clock, seen):
    mesh, other = make(), make()
    memory = conversation(mesh, HIDDEN)
    conversation(other, "a horse it was")
    then = clock.now() + LATER
    clock.advance(2 * LATER)
    mesh.update(memory, "a horse it was", reader=HERE)
    assert ask(mesh) == ask(other)
    assert ask(mesh, as_of=then) == seen


def test_what_was_said_since_is_no_neighbour_of_then(make, clock, never):
    mesh = make()
    conversation(mesh)
    then = clock.now() + LATER
    clock.advance(2 * LATER)
    say(mesh, 2, HIDDEN)
    assert HIDDEN in contents(ask(mesh))
    assert ask(mesh, as_of=then) == never


def test_projects_may_call_their_sessions_the_same(make):
    """Each reader gets what he would get alone, and one of both no neighbours across."""
    shared, alone = make(), {"p": make(), "q": make()}
    for order in range(6):
        for project, word in (("p", "zebra"), ("q", "horse")):
            text = f"{word} {order}" if order % 3 == 0 else f"{project} goes on {order}"
            for mesh in (shared, alone[project]):
                say(mesh, order, text, scope=Scope(project=project, session="s"))
    for project, word in (("p", "zebra"), ("q", "horse")):
        reader = {"scope": Scope(project=project, session="s")}
        assert ask(shared, word, **reader) == ask(alone[project], word, **reader)
    both = ask(shared, "horse", across=["project"], keyword_only=True)
    assert sorted(contents(both)) == [
        "horse 0",
        "horse 3",
        "q goes on 1",
        "q goes on 2",
        "q goes on 4",
    ]


def test_dozens_of_others_with_the_sessions_name_part_no_neighbours(mesh):
    say(mesh, 1, "where is the umbrella?")
    for n in range(60):
        say(mesh, 2 + n, f"noise {n}", scope=Scope(project=f"p{n}", session="s"))
    say(mesh, 200, "at the station")
    assert contents(ask(mesh, "umbrella")) == ["where is the umbrella?", "at the station"]


@pytest.fixture
def friends(mesh):
    say(mesh, 1, "Ann, do you play the cello these days?", speaker="Bob Hall")
    say(mesh, 2, "I play the cello every day", speaker="Ann Lee")
    say(mesh, 3, "Ann, I play the cello too", speaker="Bob Hall")
    return mesh


@pytest.mark.parametrize("question", ["what does Ann play?", "what does ann play", "ANN'S cello"])
def test_a_question_about_somebody_prefers_his_own_words(friends, question):
    first, *others = ask(friends, question)
    assert first[0] == "I play the cello every day"
    assert first[2]["speaker"] == 1
    assert all(parts["other_speaker"] == 1 for _, _, parts in others)


def test_a_question_that_is_only_a_name_is_still_asked(friends):
    assert "Ann, I play the cello too" in contents(ask(friends, "Ann?"))


def test_a_speaker_whom_only_others_hear_changes_nothing(make):
    """The stores differ in the name of somebody whom this reader never hears, and in no more."""
    found = []
    for name in ("Ann", "Dan"):
        mesh = make()
        say(mesh, 1, "Ann, do you play the cello?", speaker="Bob")
        say(mesh, 2, "the cello is Ann's", speaker="Bob")
        say(mesh, 3, "I do", speaker=name, scope=Scope(project="q", session="s"))
        found.append(ask(mesh, "what does Ann play?"))
    assert found[0] == found[1]
    assert all("other_speaker" not in parts for _, _, parts in found[0])


@pytest.mark.parametrize("details", [{"scope": Scope(project="q")}, {"quarantine": "odd"}])
def test_namesakes_whom_nobody_hears_do_not_drown_a_speaker(mesh, details):
    mesh.add_many(
        {"content": f"noise {n}", "speaker": "Ann", "scope": HERE} | details for n in range(200)
    )
    say(mesh, 1, "I play the cello", speaker="Ann")
    mesh.add_many(
        {"content": f"more noise {n}", "speaker": "Ann", "scope": HERE} | details
        for n in range(200)
    )
    ((content, _, parts), *_) = ask(mesh, "what does Ann play?")
    assert (content, parts["speaker"]) == ("I play the cello", 1)


def test_the_vector_of_a_question_is_without_the_speakers_name(tmp_path, clock, real_embedder):
    with MemoryMesh(db_dir=tmp_path, clock=clock, custom_embedder=real_embedder) as mesh:
        say(mesh, 1, "Ann, how is Ann, what are your hobbies Ann?", speaker="Bob")
        say(mesh, 2, "mostly painting landscapes", speaker="Ann")
        say(mesh, 3, "the invoice is due", speaker="Bob")
        first, *_ = ask(mesh, "what art does Ann make?")
    assert first[0] == "mostly painting landscapes"
