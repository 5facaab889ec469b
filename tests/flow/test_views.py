"""A process opens a store once; views of it are cheap, share its engines and keep users apart."""

import gc
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memory_mesh import MemoryMesh as AsyncMesh
from memory_mesh.model import Channel, Scope, SourceKind
from memory_mesh.model.errors import Closed, InvalidInput
from memory_mesh.sync import MemoryMesh

MEGABYTE = 1024 * 1024
MANY_VIEWS = """
import sys
from memory_mesh.model import Scope
from memory_mesh.sync import MemoryMesh


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


with MemoryMesh(db_dir=sys.argv[1], embedder="none") as mesh:
    mesh.add("the user prefers dark themes")
    views = [mesh.view(scope=Scope(session="warm"))]
    for _ in range(600):  # the search cache and the recall buffer reach their bounds
        views[0].search("dark", use_cache=False)
    before = resident()
    views += [mesh.view(scope=Scope(session=f"s{number}")) for number in range(1_000)]
    for view in views:
        assert view.search("dark themes", use_cache=False)
    print(resident() - before)
"""


@pytest.fixture
def mesh(tmp_path):
    with MemoryMesh(db_dir=tmp_path / "store", embedder="none") as opened:
        yield opened


def test_a_view_reads_and_writes_its_own_namespace_scope_and_channel(mesh):
    alice = mesh.view(namespace="alice", scope=Scope(project="p", session="s"))
    receipt = alice.add("I live in Oslo")
    assert (alice.config.namespace, alice.config.project) == ("alice", "p")
    assert [hit.content for hit in alice.search("live")] == ["I live in Oslo"]
    assert mesh.search("live") == []
    assert mesh.view(namespace="alice", scope=Scope(project="q")).get(receipt.id) is None
    page = mesh.view(channel=Channel.WEB).add("the page says so").id
    assert mesh.get(page).source.kind is SourceKind.DOCUMENT
    with pytest.raises(InvalidInput, match="only the user"):
        mesh.view(channel=Channel.MCP).review(page, approve=True)


def test_a_channel_may_be_given_by_its_word(mesh):
    page = mesh.view(channel="web").add("the page says so").id
    assert mesh.get(page).source.channel is Channel.WEB
    assert mesh.get(page).source.kind is SourceKind.DOCUMENT


@pytest.mark.parametrize("channel", ["", "webb", 3, SourceKind.DOCUMENT])
def test_an_unknown_channel_is_refused_with_the_words_there_are(mesh, channel):
    with pytest.raises(InvalidInput, match=r"channel must be one of: library, cli, .*extraction"):
        mesh.view(channel=channel)
    with pytest.raises(InvalidInput, match=r"channel must be one of: library, cli, .*extraction"):
        MemoryMesh(channel=channel)


def test_closing_a_view_leaves_the_store_open_and_closing_the_store_ends_its_views(mesh):
    view = mesh.view()
    with view:
        view.add("tea")
    with pytest.raises(Closed):
        view.search("tea")
    other = mesh.view()
    assert len(other.search("tea")) == 1
    mesh.close()
    with pytest.raises(Closed):
        other.search("tea")


def test_views_share_one_embedder_one_matrix_and_one_cache(tmp_path, real_embedder):
    with MemoryMesh(db_dir=tmp_path, custom_embedder=real_embedder) as mesh:
        mesh.add_many([f"note {number}" for number in range(20)])
        views = [mesh.view(scope=Scope(session=str(number))) for number in range(50)]
        for view in views:
            assert view.search("note 7")
        opened = mesh._opened()
        assert all(view._opened() is opened for view in views)
        assert {id(view._access().embedder) for view in views} == {id(opened.embedder())}
        assert len(opened.ledger._tails._held) == 1  # type: ignore[attr-defined]


def test_views_of_100_namespaces_keep_at_most_64_open(mesh, tmp_path):
    for number in range(100):
        mesh.view(namespace=f"user-{number}").add(f"number {number}")
    held = {file.readlink() for file in Path("/proc/self/fd").iterdir() if file.is_symlink()}
    mine = [file for file in held if file.suffix == ".db" and file.is_relative_to(tmp_path)]
    assert 0 < len(mine) <= 64
    for number in range(100):
        assert len(mesh.view(namespace=f"user-{number}").search("number")) == 1
    assert len(mesh.care.namespaces()) == 100


def test_1_000_views_of_one_namespace_cost_no_more_than_5_megabytes(tmp_path):
    gc.collect()
    ran = subprocess.run(
        [sys.executable, "-c", MANY_VIEWS, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(ran.stdout) <= 5 * MEGABYTE


def test_views_of_many_threads_lose_nothing(mesh):
    def write(number: int) -> None:
        view = mesh.view(namespace=f"n{number % 4}", scope=Scope(session=str(number)))
        for each in range(20):
            view.add(f"thread {number} wrote {each}")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(mesh.view(namespace=f"n{number}").stats().memories for number in range(4)) == 160
    assert all(mesh.view(namespace=f"n{number}").care.verify().ok for number in range(4))


def test_configured_predicates_are_known_in_every_namespace_of_a_store(tmp_path):
    predicates = {"port": {"cardinality": "single"}}
    with MemoryMesh(db_dir=tmp_path, embedder="none", predicates=predicates) as mesh:
        assert "port" in mesh.review.predicates()
        assert "port" in mesh.view(namespace="other").review.predicates()


def test_the_sinks_hear_of_every_namespace_when_the_store_closes(tmp_path):
    heard = []

    class Listening:
        name = "listening"

        def deliver(self, namespace, blocks):
            heard.append((namespace, len(blocks)))

    with MemoryMesh(db_dir=tmp_path, embedder="none", sinks=[Listening()]) as mesh:
        mesh.add("one")
        mesh.view(namespace="other").add("two")
    assert sorted(heard) == [("default", 1), ("other", 1)]


def test_a_copied_namespace_never_gets_the_answers_of_the_original(tmp_path):
    with MemoryMesh(db_dir=tmp_path, embedder="none", namespace="alice") as mesh:
        memory = mesh.add("the code is red").id or ""
        folder = mesh.folder / "namespaces"
    shutil.copy(folder / "alice.db", folder / "bob.db")
    with MemoryMesh(db_dir=tmp_path, embedder="none", namespace="alice") as alice:
        bob = alice.view(namespace="bob")
        alice.update(memory, "the code is green")
        bob.update(memory, "the code is blue")
        assert alice.stats().seq == bob.stats().seq
        assert [hit.content for hit in alice.search("code")] == ["the code is green"]
        assert [hit.content for hit in bob.search("code")] == ["the code is blue"]


@pytest.mark.parametrize("namespace", ["", 5])
def test_a_view_of_no_namespace_is_refused(mesh, namespace):
    with pytest.raises(InvalidInput, match="namespace"):
        mesh.view(namespace=namespace)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_does_not_remove_the_folder_of_a_temporary_store():
    mesh = MemoryMesh(enable_memory=False, embedder="none")
    mesh.add("tea")
    folder = mesh.folder
    child = os.fork()
    if child == 0:
        mesh.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert len(mesh.search("tea")) == 1
    mesh.close()
    assert not folder.exists()


def test_predicates_named_after_the_first_use_are_registered_too(mesh):
    mesh.add("tea")
    mesh._add_predicates({"port": {"cardinality": "single"}})
    assert "port" in mesh.review.predicates()


def test_an_async_view_shares_the_threads_of_its_mesh(tmp_path):
    import asyncio

    async def story():
        async with AsyncMesh(db_dir=tmp_path, embedder="none") as mesh:
            await mesh.add("tea for one")
            view = mesh.view(namespace="other")
            await view.add("tea for two")
            await view.close()
            with pytest.raises(Closed):
                await view.search("tea")
            found = [hit.content for hit in await mesh.search("tea")]
            return found, mesh._threads.running

    assert asyncio.run(story()) == (["tea for one"], True)
