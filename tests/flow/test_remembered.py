"""What a connection remembers between searches holds only until somebody writes."""

import pytest

from memory_mesh.ledgers.shared import visibility
from memory_mesh.ledgers.shared.snapshot import has_any
from memory_mesh.model import Commit, Lens, Scope, Wanted
from memory_mesh.sync import MemoryMesh

SHOP = Scope("shop")


@pytest.fixture
def two(tmp_path):
    with (
        MemoryMesh(db_dir=tmp_path, embedder="none") as one,
        MemoryMesh(db_dir=tmp_path, embedder="none") as other,
    ):
        one.add("the harbour opens at nine")
        yield one, other


@pytest.mark.parametrize("own", [True, False])
def test_counts_of_audiences_are_read_anew_after_a_write_of_any_connection(two, own):
    one, other = two

    def counted():
        with one._read() as snapshot:
            return visibility.seen_by(snapshot._db, Lens(one._now(), SHOP))

    assert sum(counted().values()) == sum(counted().values()) == 1
    (one if own else other).add("the shop opens at ten", scope=SHOP)
    assert sum(counted().values()) == 2


def test_a_trigger_of_another_process_is_heard_at_once(two):
    one, other = two
    assert not _has_trigger(one)
    kept = other.add("bring the long ladder", triggers=["harbour"])
    assert _has_trigger(one)
    assert kept.id in {hit.id for hit in one.search("ladder", use_cache=False)}
    one.delete(kept.id)
    assert not _has_trigger(one)


def test_a_guess_of_another_process_orders_hits_at_once(two):
    one, other = two
    old = one.add("The default branch is master")
    assert [hit.newer for hit in one.search("default branch", use_cache=False)] == [None]
    new = other.add("The default branch is now main")
    newer = {hit.id: hit.newer for hit in one.search("default branch", use_cache=False)}
    assert newer == {new.id: None, old.id: new.id}


def test_small_values_are_read_anew_after_a_write_of_any_connection(two):
    one, other = two

    def value():
        with one._read() as snapshot:
            return snapshot.states("test.").get("test.value")

    assert value() is None
    for writer, new in ((other, "1"), (one, "2"), (other, None)):
        _state(writer, new)
        assert value() == value() == new


def _has_trigger(mesh):
    with mesh._read() as snapshot:
        return has_any(snapshot._db)[0]


def _state(mesh, value):
    ledger = mesh._opened().ledger
    ledger.commit("default", Wanted(), lambda _: Commit(states={"test.value": value}))
