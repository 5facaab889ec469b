"""What is known of an entity: by all its names, over time, and nothing a reader may not see."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import memory_mesh
from memory_mesh.model import Channel, Outcome, Scope
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.graph import KnownEntity
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.postgres import SECRET
from tests.stores import CROWDS, counted, crowd

DAY = timedelta(days=1)


@pytest.fixture(params=["sqlite", "postgres"])
def mesh(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    clock: FrozenClock,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[MemoryMesh]:
    """Each test runs on both ledgers."""
    store: str | Path = tmp_path / "store"
    if request.param == "postgres":
        monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())
        store = request.getfixturevalue("database")
    with MemoryMesh(store, clock=clock, embedder="none") as opened:
        yield opened


def _told(entity: KnownEntity, *, current: bool | None = None) -> list[str]:
    return [line.text for line in entity.lines if current in {None, line.current}]


def test_lines_are_those_about_the_name_and_those_that_say_it_oldest_first(mesh, clock):
    ids = []
    for text in ("Alice lives in Lisbon.", "Rain fell.", "We hired Alice.", "Malice aforethought."):
        ids.append(mesh.add(text).id)
        clock.advance(DAY)
    found = mesh.graph.entity("alice")
    assert [(line.id, line.text) for line in found.lines] == [
        (ids[0], "Alice lives in Lisbon."),
        (ids[2], "We hired Alice."),
    ]
    assert all(line.current and line.until is None for line in found.lines)
    assert found.lines[0].source.channel is Channel.LIBRARY
    assert str(found).splitlines()[1].endswith(f"Alice lives in Lisbon.  [{ids[0]}]")


def test_a_claim_counts_whose_text_does_not_say_the_name(mesh):
    claim = {"subject": "Head  Office", "predicate": "closes at", "value": "18:00"}
    mesh.add("The doors are locked at six.", claim=claim)
    assert _told(mesh.graph.entity("head office")) == ["The doors are locked at six."]
    assert _told(mesh.graph.entity("the Head-Office")) == ["The doors are locked at six."]


def test_a_newer_statement_ends_an_older_one(mesh, clock):
    mesh.add("Alice lives in Lisbon.")
    clock.advance(DAY)
    moved = clock.now()
    mesh.add("Alice moved to Berlin.")
    first, second = mesh.graph.entity("Alice").lines
    assert (first.until, first.current) == (moved, False)
    assert (second.until, second.current) == (None, True)


def test_a_later_value_under_another_name_ends_the_earlier(mesh, clock):
    mesh.add("Priya Raman lives in Dublin.")
    mesh.add("Priya likes tea.")
    clock.advance(DAY)
    mesh.view(channel=Channel.WEB).add("Priya lives in Rome.")
    assert "Priya Raman lives in Dublin." in _told(mesh.graph.entity("Priya"), current=True)
    mesh.add("Priya lives in Cork.")
    found = mesh.graph.entity("Priya")
    assert "Priya Raman lives in Dublin." in _told(found, current=False)
    assert {"Priya likes tea.", "Priya lives in Cork."} <= set(_told(found, current=True))


def test_a_superseded_memory_is_a_former_line_and_comes_back_when_that_is_undone(mesh, clock):
    claim = {"subject": "Alice", "predicate": "team"}
    first = mesh.add("Alice is in team red.", claim=claim | {"value": "red"}, role="user")
    clock.advance(DAY)
    second = mesh.add("Alice is in team blue.", claim=claim | {"value": "blue"}, role="user")
    assert second.superseded == (first.id,)
    found = mesh.graph.entity("Alice")
    assert _told(found, current=False) == ["Alice is in team red."]
    assert found.lines[0].until == clock.now()
    mesh.review.undo(second.id)
    assert "Alice is in team red." in _told(mesh.graph.entity("Alice"), current=True)


def test_an_update_leaves_the_earlier_wording_with_its_end(mesh, clock):
    id_ = mesh.add("Alice has the key.").id
    clock.advance(DAY)
    mesh.update(id_, tags=["door"])
    clock.advance(DAY)
    mesh.update(id_, "Alice has no key.")
    before, now = mesh.graph.entity("Alice").lines
    assert (before.id, before.text, before.current) == (id_, "Alice has the key.", False)
    assert (now.text, now.current, now.since) == ("Alice has no key.", True, clock.now())
    assert before.until == now.since == before.since + 2 * DAY


def test_what_waits_for_review_is_no_line(mesh):
    claim = {"subject": "Alice", "predicate": "team"}
    mesh.add("Alice is in team red.", claim=claim | {"value": "red"}, role="user")
    web = mesh.view(channel=Channel.WEB)
    waiting = web.add("Alice is in team blue.", claim=claim | {"value": "blue"})
    assert waiting.outcome is Outcome.QUARANTINED
    assert _told(mesh.graph.entity("Alice")) == ["Alice is in team red."]


def test_what_is_forgotten_is_no_line_and_comes_back_restored(mesh):
    id_ = mesh.add("Alice has the key.").id
    mesh.delete(id_)
    assert not mesh.graph.entity("Alice")
    mesh.restore(id_)
    assert _told(mesh.graph.entity("Alice"), current=True) == ["Alice has the key."]


def test_what_is_no_longer_valid_or_not_yet_is_not_current(mesh, clock):
    now = clock.now()
    mesh.add("Alice was on leave.", valid_from=now - 9 * DAY, valid_until=now - DAY)
    mesh.add("Alice will be the lead.", valid_from=now + DAY)
    mesh.add("Alice is on call.", valid_from=now - DAY, valid_until=now + DAY)
    found = mesh.graph.entity("Alice")
    assert _told(found, current=True) == ["Alice is on call."]
    assert found.lines[0].until == now - DAY
    assert found.lines[1].until == now + DAY


def test_the_only_longer_name_is_the_same_and_two_are_ambiguous(mesh):
    mesh.add("Alice lives in Lisbon.")
    mesh.add("Alice Smith works at Globex.")
    found = mesh.graph.entity("Alice")
    assert found.aliases == ("Alice Smith",)
    assert not found.ambiguous
    assert _told(mesh.graph.entity("Alice Smith")) == _told(found)
    mesh.add("Alice Jones lives in Rome.")
    found = mesh.graph.entity("Alice")
    assert (found.aliases, found.ambiguous) == ((), ("Alice Jones", "Alice Smith"))
    assert _told(found) == ["Alice lives in Lisbon."]
    assert _told(mesh.graph.entity("Alice Smith")) == ["Alice Smith works at Globex."]


def test_what_is_only_named_after_somebody_is_no_other_name(mesh):
    mesh.add("Alice lives in Lisbon.")
    mesh.add("Bob works for Alice Consulting.")
    assert not mesh.graph.entity("Alice").aliases


def test_a_longer_phrase_that_is_no_name_is_no_other_name(mesh):
    mesh.add("The garden is large.")
    mesh.add("The garden gate is green.")
    assert not mesh.graph.entity("garden").aliases
    assert not mesh.graph.entity("garden gate").aliases


def test_stated_names_lead_both_ways(mesh):
    mesh.add("My name is Miguel Santos.")
    mesh.add("I live in Porto.")
    known = {"subject": "Miguel Santos", "predicate": "alias", "value": "Mike", "exclusive": False}
    mesh.add("Everybody calls me Mike.", claim=known)
    for name in ("Miguel Santos", "user", "Mike", "Miguel"):
        found = mesh.graph.entity(name)
        assert "I live in Porto." in _told(found)
        assert {found.name.casefold(), *map(str.casefold, found.aliases)} >= {
            "user", "miguel santos", "mike",
        }  # fmt: skip


def test_a_name_of_two_is_ambiguous(mesh):
    mesh.add("My sister's name is Ana.")
    mesh.add("My boss's name is Ana.")
    found = mesh.graph.entity("Ana")
    assert found.ambiguous == ("user boss", "user sister")
    assert not found.lines


def _names(found: KnownEntity) -> set[str]:
    return {found.name, *found.aliases}


RENAMED = "Alice Jones is now called Alice Smith."
MARRIED = "Alice Jones married and is Alice Smith now."


@pytest.mark.parametrize(
    ("text", "predicate"), [(RENAMED, None), (MARRIED, "name"), (MARRIED, "alias")]
)
def test_a_new_name_makes_no_second_person(mesh, clock, text, predicate):
    told = {"subject": "Alice Jones", "predicate": predicate, "value": "Alice Smith"}
    mesh.add("Alice Jones lives in Lisbon.")
    clock.advance(DAY)
    mesh.add(text, claim=None if predicate is None else told)
    mesh.add("Alice likes tea.")
    for name in ("Alice", "Alice Jones", "Alice Smith"):
        found = mesh.graph.entity(name)
        assert (_names(found), found.ambiguous) == ({"Alice", "Alice Jones", "Alice Smith"}, ())
        assert _told(found, current=True) == [
            "Alice Jones lives in Lisbon.", text, "Alice likes tea.",
        ]  # fmt: skip
    mesh.add("Alice Brown lives in Rome.")
    found = mesh.graph.entity("Alice")
    assert (found.aliases, found.lines[0].text) == ((), "Alice likes tea.")
    assert found.ambiguous == ("Alice Brown", "Alice Jones", "Alice Smith")
    assert _names(mesh.graph.entity("Alice Smith")) == {"Alice Jones", "Alice Smith"}


def test_a_rename_ends_the_former_name_and_no_later_value(mesh, clock):
    mesh.add("Alice Jones lives in Lisbon.")
    mesh.add("Alice Jones is called Alice Brown.")
    clock.advance(DAY)
    mesh.add(RENAMED)
    clock.advance(DAY)
    moved = clock.now()
    mesh.add("Alice Smith lives in Rome.")
    home, before, now, later = mesh.graph.entity("Alice").lines
    assert (home.text, home.until) == ("Alice Jones lives in Lisbon.", moved)
    assert (before.until, before.current) == (moved - DAY, False)
    assert now.current
    assert later.current
    mesh.add("Alice Jones lives in Cork.")
    assert mesh.graph.entity("Alice").lines[0].until == moved


def test_each_line_ends_with_the_next(mesh, clock):
    begun = []
    for town in ("Lisbon", "Porto", "Rome"):
        begun.append(clock.now())
        mesh.add(f"Alice lives in {town}.")
        clock.advance(DAY)
    assert [line.until for line in mesh.graph.entity("Alice").lines] == [*begun[1:], None]


def test_a_move_told_in_other_words_is_an_end(mesh, clock):
    mesh.add("The shop office is in Berlin.")
    clock.advance(DAY)
    mesh.add("The shop office was moved to Rome.")
    assert _told(mesh.graph.entity("shop office"), current=False) == [
        "The shop office is in Berlin."
    ]


def test_a_shared_name_joins_nobody(mesh):
    mesh.add("My sister's name is Ana.")
    mesh.add("My boss's name is Ana.")
    found = mesh.graph.entity("user sister")
    assert (found.aliases, found.ambiguous) == (("Ana",), ("user boss",))
    assert _told(found) == ["My sister's name is Ana."]


@pytest.mark.parametrize(
    ("later", "ends"),
    [
        ("Bob works at Globex.", True),
        ("Bob left Initech for Globex.", True),
        ("Bob no longer works at Initech.", True),
        ("Bob Ray no longer works at Initech.", True),
        ("Bob Ray does not work at Globex.", False),
        ("Bob left Initech.", False),  # nothing is read from it
    ],
)
def test_a_job_ends_with_another_or_a_denial(mesh, clock, later, ends):
    mesh.add("Bob works at Initech.")
    mesh.add("Bob Ray likes tea.")
    clock.advance(DAY)
    mesh.add(later)
    found = mesh.graph.entity("Bob")
    assert _told(found, current=False) == (["Bob works at Initech."] if ends else [])
    assert later in _told(found, current=True)


def test_the_newest_lines_are_listed_and_more_says_that_there_are_others(mesh, clock):
    for number in range(5):
        mesh.add(f"Alice saw {number} birds.")
        clock.advance(DAY)
    found = mesh.graph.entity("Alice", limit=2)
    assert found.more
    assert _told(found) == ["Alice saw 3 birds.", "Alice saw 4 birds."]
    assert not mesh.graph.entity("Alice", limit=5).more


def test_others_memories_neither_add_lines_nor_make_a_name_ambiguous(mesh):
    theirs = Scope("theirs", "their agent", "their session")
    mesh.add("Alice lives in Lisbon.")
    expected = mesh.graph.entity("Alice")
    for text in ("Alice Smith likes tea.", "Alice Jones likes tea.", "Alice moved to Rome."):
        mesh.add(text, scope=theirs)
    mesh.for_user("somebody").add("Alice is ill.")
    assert mesh.graph.entity("Alice") == expected
    moved = mesh.add("Alice is in Rome.", scope=Scope("theirs")).id
    assert moved in {line.id for line in mesh.graph.entity("Alice", scope=Scope("theirs")).lines}


def test_a_wording_from_when_a_memory_was_for_others_is_not_shown(mesh):
    id_ = mesh.add("Alice is about to resign.", scope=Scope("board")).id
    mesh.update(id_, "Alice has resigned.", reader=Scope("board"), scope=Scope())
    assert _told(mesh.graph.entity("Alice")) == ["Alice has resigned."]
    assert len(mesh.graph.entity("Alice", scope=Scope("board")).lines) == 2


def test_a_long_text_is_cut_to_the_sentences_that_say_the_name(mesh):
    filler = "The weather was fine on that day and nothing else of note happened at all. "
    mesh.add(f"{filler * 5}Alice found the key. {filler * 5}")
    assert _told(mesh.graph.entity("Alice")) == ["Alice found the key."]


def test_a_name_is_needed(mesh):
    with pytest.raises(InvalidInput, match="needs a name"):
        mesh.graph.entity("  ")
    assert not mesh.graph.entity("?!").lines


def test_the_cost_does_not_grow_with_the_namespace(tmp_path, clock):
    names = ("Alice", "user", "Crowd")
    costs: list[list[tuple[int, int]]] = []
    for others in CROWDS:
        with MemoryMesh(tmp_path / str(others), clock=clock, embedder="none") as mesh:
            crowd(mesh, others)
            mesh.add_many(["Alice lives in Lisbon.", "Alice Smith works at Globex."])
            asked = (lambda name=name: mesh.graph.entity(name, limit=20) for name in names)
            costs.append([counted(mesh, each) for each in asked])
    for (few, steps), (many, more) in zip(*costs, strict=True):
        assert many == few <= 40
        assert more <= 1.3 * steps


def test_the_async_mesh_has_it(tmp_path):
    async def ask() -> KnownEntity:
        async with memory_mesh.MemoryMesh(tmp_path, embedder="none") as mesh:
            await mesh.add("Alice has the key.")
            return await mesh.graph.entity("Alice")

    assert _told(asyncio.run(ask())) == ["Alice has the key."]
