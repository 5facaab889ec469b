"""The short, stable part of what is known: whose words count, what it costs, where it stands."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

import memory_mesh
from memory_mesh.model import Channel, Scope
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.pack import ProfileKind, Section, StandingProfile
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.postgres import SECRET
from tests.stores import CROWDS, counted, crowd

DAY = timedelta(days=1)
TABS = "I prefer tabs over spaces."


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


def _told(profile: StandingProfile) -> list[str]:
    return [line.text for line in profile]


def _count(text: str) -> int:
    return len(text.split())


def test_lines_are_memories_by_their_kind(mesh):
    known: tuple[tuple[str, dict[str, Any], str, str], ...] = (
        ("I work for Feedzai.", {}, "role", "user"),
        ("I'm allergic to peanuts.", {}, "role", "user"),
        ("Ana is the owner of the ledger.", {"kind": "role"}, "role", "user"),
        (TABS, {}, "preference", "user"),
        ("Keine Besprechungen vor zehn.", {"kind": "preference"}, "preference", "user"),
        ("The ledger is PostgreSQL.", {"kind": "decision"}, "decision", "project"),
        ("We use pnpm instead of npm.", {}, "convention", "project"),
        ("We deploy on Fridays.", {}, "convention", "project"),
        ("Columns are in snake_case.", {"kind": "convention"}, "convention", "project"),
    )
    ids = {text: mesh.add(text, **details).id for text, details, _, _ in known}
    mesh.add_many(["It rained on Monday.", "I had a sandwich.", "We are tired."])
    found = mesh.profile()
    assert {(line.id, line.text, line.kind, line.of) for line in found} == {
        (ids[text], text, kind, of) for text, _, kind, of in known
    }
    kinds = [line.kind for line in found]
    assert kinds == sorted(kinds, key=list(ProfileKind).index)
    assert found.left_out == 0
    assert found.tokens <= found.max_tokens == 200
    assert {line.of for line in mesh.profile(of="project")} == {"project"}
    assert len(mesh.profile(of="user")) + len(mesh.profile(of="project")) == len(found)


def test_it_changes_with_its_sources_and_with_nothing_else(mesh, clock):
    mesh.add(TABS)
    id_ = mesh.add("I work for Feedzai.").id
    first = mesh.profile()
    clock.advance(DAY)
    mesh.add_many(["It rained.", "The printer is blue."])
    mesh.search("printer")
    mesh.care.upkeep()
    assert str(mesh.profile()) == str(first) == f"role: I work for Feedzai.\npreference: {TABS}"
    mesh.delete(id_)
    assert _told(mesh.profile()) == [TABS]
    mesh.restore(id_)
    assert str(mesh.profile()) == str(first)


def test_a_newer_statement_takes_the_place_of_the_older(mesh, clock):
    mesh.add("I live in Porto.")
    clock.advance(DAY)
    mesh.add("I moved to Lisbon.")
    assert _told(mesh.profile()) == ["I moved to Lisbon."]


def test_an_update_and_a_supersession_count_at_once(mesh):
    id_ = mesh.add("The ledger is SQLite.", kind="decision").id
    mesh.update(id_, "The ledger is PostgreSQL.")
    mesh.add("The deploy day is Friday.", kind="decision")
    assert mesh.evolve("The deploy day is Monday.", kind="decision").superseded
    assert set(_told(mesh.profile())) == {"The ledger is PostgreSQL.", "The deploy day is Monday."}
    mesh.update(id_, valid_until="2020-01-01")
    assert _told(mesh.profile()) == ["The deploy day is Monday."]


def test_who_the_user_is_is_no_preference(mesh):
    mesh.add_many(
        [
            {"content": text, "kind": "preference"}
            for text in ("My name is Dana.", "I live in Porto.", "My favourite editor is Helix.")
        ]
    )
    assert {(line.text, line.kind) for line in mesh.profile()} == {
        ("My name is Dana.", "role"),
        ("I live in Porto.", "role"),
        ("My favourite editor is Helix.", "preference"),
    }


def test_a_preference_gives_way_to_its_reverse(mesh, clock):
    mesh.view(channel=Channel.ASSISTANT).add("I prefer spaces over tabs!", kind="preference")
    mesh.add(TABS, pinned=True)
    mesh.add("I prefer vim.")
    assert set(_told(mesh.profile())) >= {TABS, "I prefer vim."}
    clock.advance(DAY)
    mesh.add("I prefer spaces over tabs.")
    assert set(_told(mesh.profile())) == {"I prefer spaces over tabs.", "I prefer vim."}
    mesh.view(channel=Channel.ASSISTANT).add("The user prefers tabs over spaces.")
    assert set(_told(mesh.profile())) == {"I prefer spaces over tabs.", "I prefer vim."}


def test_a_denial_is_no_role_and_may_be_a_preference(mesh, clock):
    mesh.add_many(["I work for Initech.", "I like coffee."])
    clock.advance(DAY)
    mesh.add_many(["I no longer work for Initech.", "I do not like coffee.", "I don't eat meat."])
    assert set(_told(mesh.profile())) == {"I do not like coffee.", "I don't eat meat."}
    mesh.add("I do not live in Porto.", pinned=True)
    assert str(mesh.profile()).startswith("pinned: I do not live in Porto.")


def test_what_the_user_has_one_of_follows_what_lasts(mesh, clock):
    mesh.add("I work for Feedzai.")
    mesh.add("My favourite editor is vim.")
    clock.advance(DAY)
    mesh.add("My favourite editor is Helix.")
    mesh.add("My favourite sport is not golf.")
    mesh.add("My favourite food is ramen.", scope=Scope(session="s1"))
    mesh.view(channel=Channel.ASSISTANT).add("My favourite drink is green tea.")
    assert _told(mesh.profile()) == ["I work for Feedzai.", "My favourite editor is Helix."]
    room = _count("role: I work for Feedzai.")
    assert _told(mesh.profile(max_tokens=room, count_tokens=_count)) == ["I work for Feedzai."]


def test_what_is_of_one_session_is_not_standing(mesh):
    session = Scope(session="s1")
    mesh.add(TABS, scope=session)
    assert not mesh.profile(scope=session)


def test_pinned_comes_first_then_the_users_own_words(mesh):
    guesses = mesh.view(channel=Channel.ASSISTANT)
    guesses.add("The user may like emacs.", kind="preference")
    mesh.add(TABS)
    mesh.add("The store is in Rua 1.", pinned=True)
    assert _told(mesh.profile()) == [
        "The store is in Rua 1.", TABS, "The user may like emacs.",
    ]  # fmt: skip
    assert str(mesh.profile()).count("(trust: inference)") == 1
    room = _count(f"pinned: The store is in Rua 1. preference: {TABS}")
    assert _told(mesh.profile(max_tokens=room, count_tokens=_count)) == [
        "The store is in Rua 1.", TABS,
    ]  # fmt: skip


def test_no_number_of_guesses_displaces_what_the_user_said(mesh):
    mesh.add(TABS)
    mesh.add("I live in Porto.")
    before = _told(mesh.profile(max_tokens=40))
    guesses = mesh.view(channel=Channel.EXTRACTION)
    guesses.add_many([f"The user prefers spaces of width {number}." for number in range(120)])
    guesses.add_many([f"The user lives in town {number}." for number in range(3)])
    found = mesh.profile(max_tokens=40)
    assert set(before) <= set(_told(found))
    assert found.left_out


def test_nothing_of_others_is_in_it(mesh):
    mesh.add(TABS)
    expected = mesh.profile()
    others = Scope("theirs", "their agent")
    mesh.add("I prefer emacs.", scope=others, pinned=True)
    mesh.add("I live in Rome.", scope=others)
    mesh.add("The ledger is a file.", kind="decision", scope=Scope("theirs"))
    mesh.for_user("somebody").add("I prefer ed.")
    assert mesh.profile() == expected
    assert "The ledger is a file." in _told(mesh.profile(scope=Scope("theirs")))
    assert _told(mesh.for_user("somebody").profile()) == ["I prefer ed."]


def test_the_same_is_said_once_and_a_long_line_is_cut(mesh):
    mesh.add(TABS)
    mesh.add(TABS, scope=Scope("shop"))
    mesh.add("a very long wish " * 40, kind="preference", scope=Scope("shop"))
    found = mesh.profile(scope=Scope("shop"))
    assert sorted(map(len, _told(found))) == [len(TABS), 240]


def test_a_session_begins_with_it_and_nothing_comes_twice(mesh, clock):
    mesh.add("The store is in Rua 1.", pinned=True)
    mesh.add(TABS)
    mesh.add("The ledger is PostgreSQL.", kind="decision")
    clock.advance(DAY)
    mesh.add_many([f"Note {number} about the till." for number in range(5)])
    pack = mesh.context()
    assert [item.section for item in pack][:3] == [
        Section.PINNED, Section.PROFILE, Section.PROFILE,
    ]  # fmt: skip
    assert len({item.id for item in pack}) == len(pack) == 8
    assert sum(item.tokens for item in pack if item.section is Section.PROFILE) <= 200
    profiled = next(item for item in pack if item.section is Section.PROFILE)
    entered = mesh.explain(profiled.id).injections
    assert [one.id for one in entered] == [pack.injection_id]
    assert entered[0].memories[0].section == "profile"


def test_the_past_begins_with_no_profile_of_the_present(mesh, clock):
    mesh.add(TABS)
    clock.advance(DAY)
    pack = mesh.context(as_of=clock.now(), record=False)
    assert Section.PROFILE not in {item.section for item in pack}


@given(
    texts=st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1),
            st.sampled_from(["preference", "decision", "role", "convention"]),
        ),
        max_size=12,
    ),
    budget=st.integers(1, 300),
    own=st.booleans(),
)
def test_a_budget_is_never_exceeded(tmp_path_factory, texts, budget, own):
    count = _count if own else None
    folder = tmp_path_factory.mktemp("budget")
    with MemoryMesh(folder, embedder="none") as mesh:
        mesh.add_many([{"content": text, "kind": kind} for text, kind in texts if text.strip()])
        found = mesh.profile(max_tokens=budget, count_tokens=count)
        pack = mesh.context(max_tokens=budget, count_tokens=count, record=False)
        assert found.tokens <= budget
        assert pack.tokens <= budget
        assert found == mesh.profile(max_tokens=budget, count_tokens=count)
        profiled = [item.tokens for item in pack if item.section is Section.PROFILE]
        assert sum(profiled) <= min(200, budget)


def test_the_cost_does_not_grow_with_the_namespace(tmp_path, clock):
    costs = []
    for others in CROWDS:
        with MemoryMesh(tmp_path / str(others), clock=clock, embedder="none") as mesh:
            mesh.add(TABS)
            crowd(mesh, others)
            guesses = [
                {"content": f"Hat {at} suits them.", "kind": "preference"}
                for at in range(others // 4)
            ]
            mesh.view(channel=Channel.MCP).add_many(guesses)
            costs.append(counted(mesh, mesh.profile))
            assert mesh.profile().lines[0].text == TABS
    (few, steps), (many, more) = costs
    assert many == few <= 20
    assert more <= 1.3 * steps


def test_arguments_are_checked_and_the_async_mesh_has_it(mesh, tmp_path):
    for wrong in ({"of": "team"}, {"max_tokens": 0}):
        with pytest.raises(InvalidInput):
            mesh.profile(**wrong)

    async def ask() -> StandingProfile:
        async with memory_mesh.MemoryMesh(tmp_path / "async", embedder="none") as awaited:
            await awaited.add(TABS)
            return await awaited.profile()

    assert _told(asyncio.run(ask())) == [TABS]
