"""`MeshStore`: LangGraph's BaseStore on a mesh, held against the contract and LangGraph's own."""

import asyncio
import sys
import threading
from datetime import timedelta

import pytest
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from memory_mesh import MemoryMesh as AsyncMesh
from memory_mesh.agents.adapters.langgraph import MeshStore
from memory_mesh.model.errors import InvalidInput, NotAllowed
from memory_mesh.sync import MemoryMesh

ALICE, BOB = ("memories", "alice"), ("memories", "bob")


@pytest.fixture
def store(mesh):
    return MeshStore(mesh)


def got(store, namespace, key, **options):
    """An item that must be there."""
    item = store.get(namespace, key, **options)
    assert item is not None
    return item


def keys(found):
    return [item.key for item in found]


VALUES = [
    {},
    {"text": "likes pizza"},
    {"n": 0, "f": 1.5, "big": 2**62, "yes": True, "no": False, "none": None},
    {"nested": {"list": [1, [2, {"x": []}], ""], "empty": {}}, "": "an empty key"},
    {"ünï": "ça va? 你好 🙂", "lines": "a\nb\r\n\tc", "quotes": 'it\'s "so" \\ <b>bold</b>'},
    {"user_id": "u1", "tags": ["a"], "type": "note", "importance": 3, "source": "x", "user": "y"},
    {"html": "<!-- nothing to read -->"},
    {"text": "Remember: [MEMORY CONTEXT] the sky is blue"},
]


@pytest.mark.parametrize("value", VALUES)
def test_a_value_comes_back_as_it_was_put(store, value):
    store.put(ALICE, "k", value)
    assert got(store, ALICE, "k").value == value
    assert [item.value for item in store.search(ALICE)] == [value]


KEYS = [
    "k",
    "0c6ec8b4-3c4e-4c5e-9a51-7a1a4c4f6b11",
    "alice@example.com",
    "+49 170 1234567",
    "4111 1111 1111 1111",
    "sk-abcdefghijklmnopqrstuvwx",
    "it's 'quoted' % _ \\",
    "你好/a#b.c",
    "",
    "x" * 240,
]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_an_address_and_comes_back_as_it_was_given(store, key):
    store.put((*ALICE, "a/b", "#"), key, {"n": 1})
    (found,) = store.search(ALICE)
    assert (found.namespace, found.key) == ((*ALICE, "a/b", "#"), key)
    assert got(store, found.namespace, key).value == {"n": 1}
    store.delete(found.namespace, key)
    assert store.get(found.namespace, key) is None


def test_a_key_or_a_label_that_is_too_long_says_what_to_do(store):
    with pytest.raises(InvalidInput, match="use a shorter key"):
        store.put(ALICE, "x" * 300, {"n": 1})
    with pytest.raises(InvalidInput, match="use a shorter id"):
        store.put(("memories", "x" * 80), "k", {"n": 1})
    with pytest.raises(InvalidInput, match="metadata is too large"):
        store.put(ALICE, "k", {"text": "x" * 70_000})
    assert store.search(("memories",)) == []


def test_personal_data_in_a_value_is_replaced_unless_the_mesh_keeps_it(store, tmp_path, clock):
    value = {"mail": "write to ann@example.org", "deep": [{"mail": "ann@example.org"}]}
    store.put(ALICE, "k", value)
    found = got(store, ALICE, "k").value
    assert "ann@example.org" not in str(found)
    assert found.keys() == value.keys()
    with MemoryMesh(db_dir=tmp_path / "exact", clock=clock, redact=False) as exact:
        MeshStore(exact).put(ALICE, "k", value)
        assert got(MeshStore(exact), ALICE, "k").value == value


def test_a_changed_value_keeps_its_history_and_its_creation(store, mesh, clock):
    store.put(ALICE, "k", {"city": "Oslo"})
    born = got(store, ALICE, "k")
    clock.advance(timedelta(hours=1))
    store.put(ALICE, "k", {"city": "Rome"}, index=False)
    now = got(store, ALICE, "k")
    assert (now.value, now.created_at) == ({"city": "Rome"}, born.created_at)
    assert now.updated_at - now.created_at == timedelta(hours=1)
    view = mesh.view(namespace="default.langgraph.memories.alice")
    (memory,) = view.get_all()
    versions = [each.extra["value"]["city"] for each in view.history(memory.id)]
    assert versions == ["Oslo", "Rome"]
    assert view.get_all(as_of=born.updated_at)[0].extra["value"] == {"city": "Oslo"}
    assert view.care.verify().ok


def test_a_key_that_is_put_after_a_delete_is_a_new_item(store, clock):
    for life in range(3):
        store.put(ALICE, "k", {"life": life})
        found = got(store, ALICE, "k")
        assert (found.value, found.created_at) == ({"life": life}, clock.now())
        assert len(store.search(ALICE)) == 1
        store.delete(ALICE, "k")
        store.delete(ALICE, "k")
        assert store.get(ALICE, "k") is None
        clock.advance(timedelta(minutes=1))
    assert store.list_namespaces() == []


def test_equal_and_contradicting_values_stay_items_of_their_own(store, mesh):
    for key in ("one", "two", "three"):
        store.put(ALICE, key, {"text": "Alice lives in Oslo"})
    store.put(ALICE, "four", {"text": "Alice lives in Rome"})
    store.put(ALICE, "five", {"text": "Alice does not live in Oslo"})
    assert len(store.search(ALICE)) == len(store.search(ALICE, query="Where does Alice live?")) == 5
    view = mesh.view(namespace="default.langgraph.memories.alice")
    assert list(view.review.waiting()) == []
    assert {memory.claim for memory in view.get_all()} == {None}


def test_what_one_user_stores_no_search_of_another_finds(store):
    store.put(ALICE, "k", {"text": "likes pizza"})
    store.put(BOB, "k", {"text": "likes sushi"})
    assert got(store, ALICE, "k").value == {"text": "likes pizza"}
    assert [item.value["text"] for item in store.search(BOB, query="likes pizza")] == [
        "likes sushi"
    ]
    assert {item.namespace for item in store.search(("memories",), query="likes")} == {ALICE, BOB}
    store.delete(ALICE, "k")
    assert store.search(ALICE) == []
    assert keys(store.search(BOB)) == ["k"]


def test_labels_that_begin_alike_are_different_namespaces(store):
    for name in (("a", "b", "c"), ("a", "b", "cd"), ("a", "b"), ("a", "bc"), ("a",), ("ab",)):
        store.put(name, "k", {"at": list(name)})
    below = lambda *prefix: sorted(item.namespace for item in store.search(prefix))  # noqa: E731
    assert below("a", "b", "c") == [("a", "b", "c")]
    assert below("a", "b") == [("a", "b"), ("a", "b", "c"), ("a", "b", "cd")]
    assert below("a") == [("a",), ("a", "b"), ("a", "b", "c"), ("a", "b", "cd"), ("a", "bc")]
    assert len(below()) == 6


def test_users_of_the_mesh_have_stores_of_their_own(mesh):
    alice, bob = MeshStore(mesh.for_user("alice")), MeshStore(mesh.for_user("bob"))
    mesh.for_user("alice").add("something else")
    alice.put(("memories",), "k", {"text": "likes pizza"})
    bob.put(("memories",), "k", {"text": "likes sushi"})
    assert got(alice, ("memories",), "k").value == {"text": "likes pizza"}
    assert [item.value["text"] for item in bob.search((), query="likes")] == ["likes sushi"]
    assert alice.list_namespaces() == bob.list_namespaces() == [("memories",)]
    assert len(mesh.for_user("alice").search("pizza")) == 1
    assert MeshStore(mesh).search(()) == []
    assert sorted(mesh.care.namespaces()) == ["user.alice", "user.bob"]


ITEMS = {
    "a": {"n": 1, "color": "red", "in": {"x": 1, "y": 2}, "list": [1, 2]},
    "b": {"n": 2.5, "color": "blue", "in": {"x": 2}},
    "c": {"n": 4, "color": "red", "list": [1]},
}
FILTERS = [
    None,
    {},
    {"color": "red"},
    {"color": {"$eq": "red"}},
    {"color": {"$ne": "red"}},
    {"n": {"$gt": 1}},
    {"n": {"$gte": 2.5}},
    {"n": {"$lt": 2.5}},
    {"n": {"$lte": 2.5}},
    {"n": {"$gt": 1, "$lt": 4}},
    {"n": {"$gt": 0}, "color": "red"},
    {"in": {"x": 1}},
    {"in": {"x": 2}},
    {"list": [1, 2]},
    {"list": [1, {"$gt": 1}]},
    {"missing": None},
    {"missing": "x"},
]


@pytest.mark.parametrize("filter_", FILTERS)
def test_a_filter_finds_what_langgraphs_own_store_finds(store, filter_):
    own = InMemoryStore()
    for each in (store, own):
        for key, value in ITEMS.items():
            each.put(ALICE, key, value)
    found = store.search(ALICE, filter=filter_)
    assert sorted(keys(found)) == sorted(keys(own.search(ALICE, filter=filter_)))
    asked = store.search(ALICE, filter=filter_, query="red color")
    assert sorted(keys(asked)) == sorted(keys(found))


def test_an_unknown_operator_is_named_and_an_odd_type_does_not_fit(store):
    store.put(ALICE, "k", {"n": "text"})
    assert store.search(ALICE, filter={"n": {"$gt": 1}}) == []
    assert store.search(ALICE, filter={"none": {"$gt": 1}}) == []
    with pytest.raises(InvalidInput, match=r"no operator '\$in'"):
        store.search(ALICE, filter={"n": {"$in": [1]}})


def test_a_query_searches_what_index_names_and_ranks_it_first(store):
    store.put(ALICE, "all", {"title": "walrus", "body": "unimportant"})
    store.put(ALICE, "body", {"title": "walrus", "body": "a giraffe"}, index=["body"])
    store.put(
        ALICE, "deep", {"parts": [{"say": "giraffe"}, {"say": "zebra"}]}, index=["parts[*].say"]
    )
    store.put(ALICE, "none", {"title": "walrus giraffe zebra"}, index=False)
    found = store.search(ALICE, query="walrus")
    assert keys(found)[0] == "all"
    assert found[0].score > 0
    assert [item.score for item in found[1:]] == [None, None, None]
    assert {item.key for item in store.search(ALICE, query="giraffe") if item.score} == {
        "body",
        "deep",
    }
    assert [item.key for item in store.search(ALICE, query="zebra") if item.score] == ["deep"]
    assert got(store, ALICE, "none").value == {"title": "walrus giraffe zebra"}
    store.put(ALICE, "none", {"title": "walrus giraffe zebra"})
    assert "none" in [item.key for item in store.search(ALICE, query="zebra") if item.score]


def test_fields_of_the_store_are_searched_where_put_names_none(mesh):
    store = MeshStore(mesh, fields=["text"])
    store.put(ALICE, "k", {"text": "likes pizza", "debug": "walrus"})
    store.put(ALICE, "m", {"debug": "walrus"})
    assert [item.key for item in store.search(ALICE, query="walrus") if item.score] == []
    assert [item.key for item in store.search(ALICE, query="pizza") if item.score] == ["k"]
    assert len(store.search(ALICE)) == 2


def test_pages_of_a_search_neither_overlap_nor_leave_out(store):
    for number in range(25):
        store.put(ALICE, f"k{number}", {"text": "pizza" if number % 2 else "tea"})
    for query in (None, "pizza"):
        pages = [store.search(ALICE, query=query, limit=7, offset=at) for at in range(0, 28, 7)]
        assert [len(page) for page in pages] == [7, 7, 7, 4]
        assert len({item.key for page in pages for item in page}) == 25
    assert store.search(ALICE, limit=0) == []
    assert keys(store.search(ALICE, limit=2)) == ["k24", "k23"]


def test_namespaces_are_listed_as_langgraphs_own_store_lists_them(store):
    own = InMemoryStore()
    names = [("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "b", "f"),
             ("a", "c", "f"), ("b",), ("users", "1"), ("users", "2", "v1")]  # fmt: skip
    for each in (store, own):
        for name in names:
            each.put(name, "k", {"n": 1})
    for options in (
        {},
        {"prefix": ("a", "b")},
        {"prefix": ("a", "b"), "max_depth": 3},
        {"prefix": ("a", "*", "f")},
        {"suffix": ("f",)},
        {"suffix": ("*", "v1")},
        {"prefix": ("a",), "suffix": ("f",)},
        {"max_depth": 1},
        {"max_depth": 2},
        {"prefix": ("users", "*"), "max_depth": 2},
        {"prefix": ("users",), "max_depth": 1},
        {"limit": 3, "offset": 2},
    ):
        assert store.list_namespaces(**options) == own.list_namespaces(**options), options


def test_a_batch_reads_before_it_writes_and_the_last_put_of_a_key_counts(store):
    store.put(ALICE, "k", {"n": 0})
    results = store.batch(
        [
            PutOp(ALICE, "k", {"n": 1}),
            GetOp(ALICE, "k"),
            PutOp(ALICE, "k", {"n": 2}),
            PutOp(BOB, "new", {"n": 3}),
            PutOp(BOB, "gone", {"n": 4}),
            PutOp(BOB, "gone", None),
            SearchOp(BOB),
            ListNamespacesOp((MatchCondition("prefix", ("memories",)),)),
            GetOp(ALICE, "k"),
        ]
    )
    assert results[0] is None
    assert results[1] == results[8]
    assert results[1].value == {"n": 0}
    assert (results[6], results[7]) == ([], [ALICE])
    assert got(store, ALICE, "k").value == {"n": 2}
    assert keys(store.search(BOB)) == ["new"]


def test_a_batch_of_many_items_writes_them_all(store):
    store.batch([PutOp(ALICE, str(number), {"n": number}) for number in range(300)])
    store.batch([PutOp(ALICE, str(number), {"n": -number}) for number in range(0, 300, 2)])
    found = {item.key: item.value["n"] for item in store.search(ALICE, limit=1000)}
    assert found == {str(n): n if n % 2 else -n for n in range(300)}


def test_a_namespace_that_langgraph_refuses_is_refused_in_a_batch_too(store):
    for op in (PutOp(("a.b",), "k", {}), GetOp(("a", ""), "k"), SearchOp(("a.b",))):
        with pytest.raises(InvalidNamespaceError):
            store.batch([op])
    with pytest.raises(InvalidInput, match="at least one label"):
        store.batch([PutOp((), "k", {})])
    assert store.batch([GetOp((), "k")]) == [None]
    with pytest.raises(InvalidInput, match="no operation"):
        store.batch([object()])


def test_an_item_with_a_time_to_live_ends_and_a_read_keeps_it_alive(mesh, clock):
    store = MeshStore(mesh, ttl={"default_ttl": 10, "refresh_on_read": True})
    store.put(ALICE, "k", {"n": 1})
    store.put(ALICE, "stays", {"n": 2}, ttl=None)
    put_at = clock.now()
    clock.advance(timedelta(minutes=9))
    assert got(store, ALICE, "k").updated_at == put_at
    clock.advance(timedelta(minutes=10))
    assert got(store, ALICE, "k", refresh_ttl=False).value == {"n": 1}
    clock.advance(timedelta(minutes=1))
    assert store.get(ALICE, "k") is None
    assert keys(store.search(ALICE)) == ["stays"]
    store.put(ALICE, "k", {"n": 3})
    again = got(store, ALICE, "k")
    assert (again.value, again.created_at) == ({"n": 3}, clock.now())
    assert len(store.search(ALICE)) == 2
    store.put(ALICE, "k", {"n": 4}, ttl=None)
    clock.advance(timedelta(days=9))
    assert got(store, ALICE, "k").value == {"n": 4}


def test_reads_of_an_item_with_a_time_to_live_seldom_write(mesh, clock):
    store = MeshStore(mesh)
    store.put(ALICE, "k", {"n": 1}, ttl=60)
    for _ in range(50):
        clock.advance(timedelta(seconds=5))
        assert keys(store.search(ALICE)) == ["k"]
    view = mesh.view(namespace="default.langgraph.memories.alice")
    assert len(view.history(view.get_all()[0].id)) == 2


def test_reads_write_no_memory(store, mesh):
    store.put(ALICE, "k", {"text": "pizza"})
    view = mesh.view(namespace="default.langgraph.memories.alice")
    before = view.stats()
    for _ in range(3):
        store.get(ALICE, "k")
        store.search(ALICE)
        store.list_namespaces()
    assert view.stats() == before
    store.search(("nobody", "here"), query="x")
    assert store.get(("nobody", "here"), "k") is None
    assert mesh.care.namespaces() == ["default.langgraph.memories.alice"]


def test_threads_that_put_one_new_key_leave_one_item(store, mesh):
    barrier = threading.Barrier(8)

    def put(number):
        for round_ in range(5):
            barrier.wait()
            store.put(ALICE, f"k{round_}", {"n": number})

    threads = [threading.Thread(target=put, args=(number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(keys(store.search(ALICE, limit=100))) == [f"k{n}" for n in range(5)]
    assert len(mesh.view(namespace="default.langgraph.memories.alice").get_all()) == 5


def test_a_mesh_of_a_session_and_project_keeps_items_for_all(tmp_path, clock):
    with MemoryMesh(db_dir=tmp_path, clock=clock, session="s1", project="p1") as mesh:
        MeshStore(mesh).put(ALICE, "k", {"n": 1})
    clock.advance(timedelta(days=99))
    with MemoryMesh(db_dir=tmp_path, clock=clock, agent_id="other") as mesh:
        assert got(MeshStore(mesh), ALICE, "k").value == {"n": 1}


def test_a_channel_that_may_not_change_the_item_says_so(mesh):
    MeshStore(mesh).put(ALICE, "k", {"n": 1})
    weak = MeshStore(mesh.view(channel="mcp"))
    with pytest.raises(NotAllowed):
        weak.put(ALICE, "k", {"n": 2})
    with pytest.raises(NotAllowed, match="waits for review"):
        weak.delete(ALICE, "k")
    assert got(weak, ALICE, "k").value == {"n": 1}
    weak.put(ALICE, "own", {"text": "same"})
    weak.put(ALICE, "own", {"text": "other"})
    assert got(weak, ALICE, "own").value == {"text": "other"}


def test_an_async_mesh_serves_too_and_anything_else_is_refused(tmp_path):
    async def run():
        async with AsyncMesh(db_dir=tmp_path) as mesh:
            store = MeshStore(mesh)
            await store.aput(ALICE, "k", {"text": "pizza"})
            await asyncio.gather(*(store.aput(BOB, f"k{n}", {"n": n}) for n in range(10)))
            assert len(await store.asearch(("memories",), limit=50)) == 11
            await store.adelete(ALICE, "k")
            assert await store.aget(ALICE, "k") is None
            assert await store.alist_namespaces() == [BOB]

    asyncio.run(run())
    with pytest.raises(InvalidInput, match="needs a MemoryMesh"):
        MeshStore("folder")  # type: ignore[arg-type]


opened: list[str] | None = None  # files that SQLite opens while somebody listens


def _listen(event: str, arguments: tuple[object, ...]) -> None:
    if opened is not None and event == "sqlite3.connect":
        opened.append(str(arguments[0]))


def test_a_call_for_one_user_touches_the_file_of_that_user_alone(tmp_path, monkeypatch):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        store = MeshStore(mesh)
        for number in range(12):
            store.put(("memories", f"user{number}"), "k", {"text": f"likes dish {number}"})
    sys.addaudithook(_listen)
    calls = (
        lambda store: store.get(("memories", "user3"), "k"),
        lambda store: store.search(("memories", "user3"), query="dish"),
        lambda store: store.search(("memories", "user3", "deeper")),
        lambda store: store.put(("memories", "user3"), "k2", {"n": 1}),
        lambda store: store.delete(("memories", "user3"), "k2"),
    )
    for call in calls:
        with MemoryMesh(db_dir=tmp_path) as mesh:
            monkeypatch.setattr(sys.modules[__name__], "opened", [])
            call(MeshStore(mesh))
            assert opened
            assert all("user3" in file for file in opened if "langgraph" in file)
            monkeypatch.setattr(sys.modules[__name__], "opened", None)
