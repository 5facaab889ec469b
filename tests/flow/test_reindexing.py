"""Terms that an earlier analyzer wrote: told of by every read, and written anew by upkeep."""

import json
import re
import sqlite3
from contextlib import closing

import pytest

from memory_mesh.learn import upkeep
from memory_mesh.ledgers.shared import sums
from memory_mesh.model import Commit, Status, Terms, Wanted
from memory_mesh.model.errors import StoreIsNewer
from memory_mesh.model.stats import Health
from memory_mesh.sync import MemoryContextManager, MemoryMesh
from memory_mesh.text.analyzer import ANALYZER
from memory_mesh.write.prepare import terms_of
from tests.faults.crashpoints import watch
from tests.faults.processes import call
from tests.stores import FOUND, held

TABLES = ("live", "rest", "skill_live")


@pytest.fixture
def store(mesh, tmp_path):
    """A store with texts and skills in every keyword table; its file."""
    mesh.add_many({"content": text, "tags": ["台灣", "Scripts"]} for text in FOUND.values())
    first = mesh.add("**Tee** für Frau Müller", tags=["Getränke"])
    mesh.update(first.id, "# Kaffee\n\nfür **Frau Müller**\n\n- كتاب\n- книга")
    mesh.update(first.id, tags=["門禁"])
    mesh.delete(mesh.add("старые пароли", tags=["склад"]).id)
    mesh.ingest_skill("---\nname: 資料備份\nintent: keep records\n---\n1. Copy")
    mesh.ingest_skill("---\nname: Очистка\nintent: remove records\n---\n1. Delete")
    mesh.close()
    return tmp_path / "store" / "namespaces" / "default.db"


def test_terms_written_anew_are_those_of_a_new_write(store, tmp_path):
    before = _contents(store)
    _age(store)
    assert _contents(store) != before
    with MemoryMesh(db_dir=tmp_path / "store") as mesh:
        assert mesh.care.upkeep().reindexed == before["texts"] + before["skills"]
        assert mesh.care.upkeep().reindexed == 0
        assert mesh.care.verify().findings == ()
    assert _contents(store) == before


def test_every_read_tells_how_many_texts_wait(store, tmp_path):
    texts = _contents(store)["texts"]
    _age(store)
    with MemoryMesh(db_dir=tmp_path / "store") as mesh:
        assert mesh.search("kaffee").explanation.to_reindex == texts
        assert mesh.stats().to_reindex == texts
        details = [finding.detail for finding in mesh.care.verify().findings]
        assert details == [
            f"{texts} texts have terms of an earlier version; run `memory-mesh upkeep`",
            "2 skills have terms of an earlier version; run `memory-mesh upkeep`",
        ]
        mesh.care.upkeep()
        assert mesh.search("kaffee").explanation.to_reindex == 0


def test_a_slice_at_a_time_and_writes_in_between(store, tmp_path):
    texts = _contents(store)["texts"]
    _age(store)
    with MemoryMesh(db_dir=tmp_path / "store") as mesh:
        new = mesh.add("臺中的倉庫", tags=["склады"])  # by today's analyzer, above the mark
        assert mesh.search("仓库")[0].id == new.id
        ledger = mesh._opened().ledger
        with ledger.read("default") as snapshot:
            assert (snapshot.head().analyzer, snapshot.head().old_texts) == (ANALYZER, texts)
            newest = snapshot.indexed("text", texts, 4)
        _reindexed_slice(ledger, newest)
        assert mesh.search("x").explanation.to_reindex == texts - 4
        _reindexed_slice(ledger, newest)  # another process at the same work changes nothing
        assert mesh.search("x").explanation.to_reindex == texts - 4
        old = mesh.search("twice")[0]
        mesh.delete(old.id)  # its old terms move as they are
        mesh.update(new.id, tags=["склады", "臺中"])
        assert upkeep.reindex(ledger, "default", at_once=3) == texts - 4 + 2
        assert mesh.care.verify().findings == ()
        assert mesh.search("getusername", include=[Status.DELETED])
        assert len(mesh.search("仓库")) == 1


def test_a_store_of_a_later_analyzer_is_read_and_not_written(store, tmp_path):
    _run(store, f"UPDATE store SET analyzer = {ANALYZER + 1}")
    with MemoryMesh(db_dir=tmp_path / "store") as mesh:
        assert mesh.search("kaffee").explanation.to_reindex
        with pytest.raises(StoreIsNewer):
            mesh.add("tea")
        with pytest.raises(StoreIsNewer):
            mesh.care.upkeep()


def test_verify_finds_terms_that_are_not_what_a_text_gives(store, tmp_path):
    _age(store)
    _run(store, f"UPDATE store SET analyzer = {ANALYZER}")
    with MemoryMesh(db_dir=tmp_path / "store") as mesh:
        (detail, *_) = [finding.detail for finding in mesh.care.verify().findings]
        assert detail.endswith("run `memory-mesh upkeep --rebuild-terms`")
        assert mesh.care.upkeep().reindexed == 0
        texts = _contents(store)["texts"]
        assert mesh.care.rebuild_terms() == texts + 2
        assert mesh.care.verify().findings == ()


def test_verify_finds_a_text_that_its_terms_do_not_find(store, tmp_path):
    _run(store, "UPDATE text SET terms = terms || ' zq' WHERE number = 1")
    with MemoryMesh(db_dir=tmp_path / "store") as mesh:
        checks = {finding.check for finding in mesh.care.verify().findings}
    assert checks == {"checksums", "keyword tables"}


def test_a_search_runs_no_statement_more_for_it(store, tmp_path):
    before, none = call(_asked, tmp_path / "store")
    _run(store, "UPDATE store SET old_texts = 7")
    after, seven = call(_asked, tmp_path / "store")
    assert (none, seven) == (0, 7)
    assert before == after
    assert [line for line in before if "old_texts" in line and "identity" not in line] == []


def test_a_check_of_health_says_what_to_do(store, tmp_path):
    _age(store)
    with MemoryMesh(db_dir=tmp_path / "store") as mesh:
        status = MemoryContextManager(mesh=mesh).health_check()
    (search,) = [check for check in status.checks if check.name == "search"]
    assert search.health is Health.DEGRADED
    assert "memory-mesh upkeep" in search.detail


def _reindexed_slice(ledger, entries):
    fields = {entry.number: terms_of(entry) for entry in entries}
    anew = Terms("text", entries[-1].number, entries[0].number, fields)
    ledger.commit("default", Wanted(), lambda _: Commit(terms=anew))


def _asked(folder):
    """What one search asks of the database and of files, and how many texts it says wait."""
    with MemoryMesh(db_dir=folder, enable_yamo=False) as mesh:
        events = watch(lambda _number: None)
        hits = mesh.search("pool of words", use_cache=False)
        return [re.sub(r"[0-9]+", "N", event) for event in events], hits.explanation.to_reindex


def _contents(path):
    """All that the keyword tables hold, and the terms that are kept beside them."""
    with closing(sqlite3.connect(path)) as db:
        texts = db.execute("SELECT number, terms FROM text").fetchall()
        skills = db.execute("SELECT number, terms FROM skill").fetchall()
    tables = {table: held(path, table) for table in TABLES}
    return {"texts": len(texts), "skills": len(skills), "terms": [texts, skills], **tables}


def _age(path):
    """Terms that a simpler analyzer gives, in a store that does not say which wrote them."""
    with closing(sqlite3.connect(path)) as db, db:
        for number, content, old in db.execute(
            "SELECT number, content, terms FROM text"
        ).fetchall():
            new = " ".join(word for word in content.lower().split() if word.isalpha())
            live = db.execute("SELECT 1 FROM live_docsize WHERE id = ?", (number,)).fetchone()
            _replace(db, "live" if live else "rest", number, {"terms": (old, new)})
            db.execute("UPDATE text SET terms = ? WHERE number = ?", (new, number))
        for number, old in db.execute("SELECT number, terms FROM skill").fetchall():
            pairs = zip(("name", "intent", "tags", "description"), json.loads(old), strict=True)
            columns = {name: (terms, "older") for name, terms in pairs}
            _replace(db, "skill_live", number, columns)
            aged = json.dumps(["older"] * 4)
            db.execute("UPDATE skill SET terms = ? WHERE number = ?", (aged, number))
        sums.fill(db, ("text", "skill"))
        db.execute("UPDATE store SET analyzer = 0, old_texts = 0, old_skills = 0")


def _replace(db, table, number, columns):
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    old, new = zip(*columns.values(), strict=True)
    db.execute(
        f"INSERT INTO {table} ({table}, rowid, {names}) VALUES ('delete', ?, {marks})",
        (number, *old),
    )
    db.execute(f"INSERT INTO {table} (rowid, {names}) VALUES (?, {marks})", (number, *new))


def _run(path, statement):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement)
