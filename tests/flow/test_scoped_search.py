"""A reader of little pays for little: counts per audience, exact answers, no look at the rest."""

import random
import sqlite3
from contextlib import closing
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, strategies as st

from memory_mesh import care
from memory_mesh.base.typed import replace
from memory_mesh.learn import upkeep
from memory_mesh.ledgers.shared import visibility
from memory_mesh.ledgers.shared.snapshot import SqlSnapshot
from memory_mesh.ledgers.sqlite import open_file, schema
from memory_mesh.ledgers.sqlite.ledger import SqliteLedger
from memory_mesh.model import Body, Lens, Question, Scope, Space, SpaceState
from memory_mesh.rules.trust import seen_through
from memory_mesh.search import nearest
from memory_mesh.search.ranking import words
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing.doubles import FrozenClock
from tests.faults import scoped_search
from tests.faults.sample import is_whole
from tests.faults.scoped_search import NOW, SPACE
from tests.flow.angles import Angles

NAMES = st.sampled_from([None, "a", "b", "c"])
SCOPES = st.builds(
    Scope, NAMES, NAMES, NAMES, names=st.lists(st.sampled_from(["a", "b", "d"])).map(tuple)
)
ACROSS = st.frozensets(st.sampled_from(["project", "agent", "session"]))


def test_questions_and_lenses(tmp_path):
    scoped_search.questions_and_lenses(tmp_path, memories=3_000, questions=200, seed=1).holds()


@given(st.lists(SCOPES, max_size=30), SCOPES, ACROSS)
def test_a_lens_has_the_audiences_whose_memories_it_sees(stored, reader, across):
    lens = Lens(NOW, reader, across)
    with open_file.empty("default") as db:
        audiences = visibility.Audiences(db)
        numbers = {scope: audiences.number(scope) for scope in stored}
        condition, values = visibility.audience(lens, "a")
        expected = db.execute(f"SELECT number FROM audience a WHERE {condition}", values)
        found = visibility.seen_by(db, lens)
        assert found is not None
        assert set(found) == {number for (number,) in expected}
    assert set(found) == {numbers[scope] for scope in stored if seen_through(lens, scope)}


def test_the_look_for_audiences_uses_their_index(tmp_path):
    (tmp_path / "a.db").touch()
    with closing(open_file.connect(tmp_path / "a.db")) as db:
        schema.make(db, "default")
        schema.make_indexes(db)
        asked: list[str] = []
        db.set_trace_callback(asked.append)
        visibility.seen_by(db, Lens(NOW, Scope("a", "b", "c")))
        db.set_trace_callback(None)
        plan = db.execute(f"EXPLAIN QUERY PLAN {asked[-1]}").fetchall()
        assert any("audience_parts (project=? AND agent=? AND session=?)" in row[3] for row in plan)


def counts(mesh):
    """Memories by audience as the ledger counts them, and as its versions say."""
    with mesh._opened().ledger.read("default") as snapshot:
        counted = snapshot._db.execute(
            "SELECT project, agent, session, memories FROM audience WHERE memories"
        ).fetchall()
        stored = snapshot._db.execute(
            "SELECT project, agent, session, count(*) FROM version WHERE recorded_until IS NULL "
            "AND status = 'active' GROUP BY project, agent, session"
        ).fetchall()
    return sorted(counted, key=str), sorted(stored, key=str)


PLACES = [Scope(), Scope("shop"), Scope("blog"), Scope("shop", session="monday"), Scope(agent="me")]


def _step(mesh, ids, chance, number):
    """One write of a random kind."""
    owner, old = {"scope": chance.choice(PLACES)}, chance.choice(ids) if ids else None
    kind = chance.choice(("add", "many", "claim", "move", "word", "delete", "restore", "again"))
    if old is None or kind in {"add", "many", "claim"}:
        texts = [f"thing {number} number {n}" for n in range(3 if kind == "many" else 1)]
        value = {"subject": "door", "predicate": "colour", "value": f"shade {number}"}
        claim = {"claim": value} if kind == "claim" else {}
        found = mesh.add_many([{"content": text, **owner, **claim} for text in texts])
        ids += [receipt.id for receipt in found if receipt.id is not None]
        return
    memory = next(iter(reversed(_history(mesh, old))))
    reader = mesh.view(scope=memory.scope)
    if memory.status == "deleted":
        reader.restore(old) if kind == "restore" else None
    elif memory.status != "active":
        return
    elif kind == "move":
        reader.update(old, scope=chance.choice(PLACES))
    elif kind == "word":
        reader.update(old, f"changed {number}", scope=chance.choice(PLACES))
    elif kind == "delete":
        reader.delete(old)
    elif kind == "again":
        reader.add(memory.text, scope=memory.scope)


def _history(mesh, id_):
    with mesh._opened().ledger.read("default") as snapshot:
        return snapshot.history(id_)


@pytest.mark.parametrize("seed", [1, 2])
def test_counts_are_right_after_any_writes_and_in_every_copy(tmp_path, seed):
    chance, store = random.Random(seed), tmp_path / "store"
    ids: list[str] = []
    with MemoryMesh(db_dir=store, custom_embedder=Angles()) as mesh:
        for number in range(50):
            _step(mesh, ids, chance, number)
        counted, stored = counts(mesh)
        assert counted == stored
        assert len(counted) > 2
        assert mesh.care.verify().ok
    care.export_archive(store, "default", tmp_path / "a.tar.gz", with_vectors=True)
    care.import_archive(tmp_path / "imported", tmp_path / "a.tar.gz")
    care.salvage(store, tmp_path / "salvaged")
    path = store / "namespaces" / "default.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE audience SET memories = 77, project = 'other' WHERE number = 1")
        db.execute("UPDATE version SET audience = 2 WHERE number = 3")
    care.repair(store, "default")
    for folder in (store, tmp_path / "imported", tmp_path / "salvaged"):
        with MemoryMesh(db_dir=folder, custom_embedder=Angles()) as mesh:
            assert counts(mesh) == (counted, stored)
            assert mesh.care.verify().ok
            mesh.add("one more thing at 7", scope=Scope("shop"))
            assert mesh.care.verify().ok


def _drawn(mesh):
    return [row for block in mesh._opened().ledger.vectors("default", Angles().embed([]).space, 0)
            for row in block]  # fmt: skip


def test_another_audience_gets_a_new_number_of_the_same_vector(tmp_path):
    with MemoryMesh(db_dir=tmp_path, custom_embedder=Angles()) as mesh:
        kept, moved = (str(mesh.add(f"text at {angle}").id) for angle in (10, 20))
        (_, first, ours), (old, second, _) = _drawn(mesh)
        mesh.update(kept, metadata={"read": True})
        mesh.update(moved, scope=Scope("shop"))
        (_, same, still), (new, again, theirs) = _drawn(mesh)
        assert (first, second, ours) == (same, again, still)
        assert new > old
        assert theirs != ours
        assert mesh.search("at 20", scope=Scope("shop"))[0].id == moved
        assert [hit.id for hit in mesh.search("at 20")] == [kept]


def test_a_move_of_many_memories_makes_an_index_worth_while_again():
    space = Space("test", "angles", "1", 2, 256)
    state = SpaceState(space, 100_000, 0, Body(1, 100_000, 100_000), 60_000)
    assert upkeep.worth_an_index(state)
    assert upkeep.worn(state)
    assert not upkeep.worn(replace(state, tail=100))


def _steps(tmp_path, foreign):
    """What a question of a small reader costs in a store: steps of SQLite, candidates looked at."""
    ledger = SqliteLedger(tmp_path / str(foreign), FrozenClock(NOW))
    chance = random.Random(3)
    with closing(ledger):
        scopes = [Scope("ours")] * 100 + [Scope("theirs")] * foreign
        chance.shuffle(scopes)
        for start in range(0, len(scopes), 1_000):
            scoped_search.put_batch(ledger, scopes[start : start + 1_000], chance)
        vector = np.random.default_rng(5).normal(size=32).astype("<f4").tobytes()
        question, lens = Question(SPACE, vector, 10), Lens(NOW + timedelta(hours=1), Scope("ours"))
        with ledger.read("default") as snapshot:
            assert isinstance(snapshot, SqlSnapshot)
            db = snapshot._db
            assert isinstance(db, sqlite3.Connection)
            steps = [0]
            nearest.nearest(snapshot, question, lens)
            snapshot._scan = None
            db.set_progress_handler(lambda: steps.append(0), 100)
            found = nearest.nearest(snapshot, question, lens).found
            db.set_progress_handler(None, 0)
        expected = scoped_search.brute_force(ledger, question, lens)
        assert scoped_search.is_equal(expected, list(found))
        return len(steps)


def test_what_others_store_does_not_make_a_search_cost_more(tmp_path):
    few, many = (_steps(tmp_path, foreign) for foreign in (1_500, 10_000 if is_whole() else 5_000))
    assert many <= 1.2 * few


def test_a_reader_of_little_finds_a_word_by_its_names_behind_many_texts_of_others(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(words, "BUDGET", 400)
    others = [f"db {number} error" for number in range(260)]
    others += [f"error {number}" for number in range(300)]
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        mesh.add_many([{"content": text, "scope": Scope("other")} for text in others])
        own = mesh.add(
            "the database, which everybody here calls db, stands in the cellar of the old mill "
            "behind the garden, next to the piano, the ladder and the kettle of the harbour office",
            scope=Scope("shop"),
        )
        found = mesh.search("db error", scope=Scope("shop"), use_cache=False)
        assert [hit.id for hit in found] == [own.id]
