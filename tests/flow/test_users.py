"""Users of one store have memories of their own."""

import asyncio
from typing import Any

import pytest

from memory_mesh import MemoryMesh as AsyncMesh
from memory_mesh.model import Outcome, Scope
from memory_mesh.model.errors import InvalidInput
from memory_mesh.sync import MemoryMesh


def contents(found):
    return sorted(each.content for each in found)


def test_two_users_keep_their_own_answer_to_the_same_question(mesh):
    alice, bob = mesh.for_user("alice"), mesh.for_user("bob")
    alice.add("I live in Oslo")
    said = bob.add("I live in Rome")
    assert (said.outcome, said.superseded, said.conflicts) == (Outcome.STORED, (), ())
    assert contents(alice.search("where do I live")) == ["I live in Oslo"]
    assert contents(bob.search("where do I live")) == ["I live in Rome"]
    assert mesh.search("live") == []
    assert alice.get(said.id) is None
    assert alice.history(said.id) == []


def test_users_are_listed_readably_and_opened_again(mesh):
    ids = ["alice@example.com", "Alice", "alice", "a/b", "😀", "CON", "x" * 128]
    for user_id in ids:
        mesh.for_user(user_id).add(f"I am {len(user_id)}")
    mesh.add("tea")
    assert mesh.users() == sorted(ids)
    assert mesh.users(limit=3) == sorted(ids)[:3]
    assert mesh.users(after=sorted(ids)[2], limit=3) == sorted(ids)[3:6]
    assert mesh.users(after=max(ids)) == []
    assert mesh.care.namespaces() == sorted(["default", *(f"user.{user_id}" for user_id in ids)])
    for user_id in mesh.users():
        assert contents(mesh.for_user(user_id).get_all()) == [f"I am {len(user_id)}"]


def test_a_users_namespace_is_made_at_the_first_write(mesh):
    nobody = mesh.for_user("nobody")
    assert nobody.search("anything") == []
    assert mesh.users() == []


def test_a_user_composes_with_scope_and_channel(mesh):
    alice = mesh.view(scope=Scope(project="p", session="s")).for_user("alice")
    assert (alice.config.project, alice.config.session) == ("p", "s")
    alice.add("the build is green")
    other = mesh.for_user("alice").view(scope=Scope(project="q"))
    assert other.config.namespace == alice.config.namespace
    assert other.get_all() == []
    assert contents(other.view(scope=Scope(project="p", session="s")).get_all()) == [
        "the build is green"
    ]
    assert alice.for_user("bob").get_all() == []


@pytest.mark.parametrize("name", ["user.alice", "user.Alice", "user."])
def test_a_plain_namespace_cannot_be_a_users(mesh, tmp_path, monkeypatch, name):
    with pytest.raises(InvalidInput, match=r"mesh\.for_user\("):
        mesh.view(namespace=name)
    with pytest.raises(InvalidInput, match=r"option, namespace: .*mesh\.for_user\("):
        MemoryMesh(db_dir=tmp_path, namespace=name)
    monkeypatch.setenv("MEMORY_MESH_NAMESPACE", name)
    with pytest.raises(InvalidInput, match="environment MEMORY_MESH_NAMESPACE"):
        MemoryMesh(db_dir=tmp_path)


def test_the_async_mesh_has_users_too(tmp_path):
    async def story():
        async with AsyncMesh(db_dir=tmp_path, embedder="none") as mesh:
            await mesh.for_user("alice").add("I live in Oslo")
            await mesh.for_user("bob").add("I live in Rome")
            found = await mesh.for_user("alice").search("live")
            return await mesh.users(), contents(found)

    assert asyncio.run(story()) == (["alice", "bob"], ["I live in Oslo"])


@pytest.mark.parametrize("word", ["user_id", "userId", "user"])
def test_a_user_given_as_an_option_is_refused_with_the_call_to_use(mesh, word):
    calls = [
        lambda given: mesh.add("I live in Oslo", **given),
        lambda given: mesh.ingest("I live in Oslo", {"note": 1}, **given),
        lambda given: mesh.add_many(["I live in Oslo"], **given),
        lambda given: mesh.add_many([{"content": "I live in Oslo", **given}]),
        lambda given: mesh.search("Oslo", **given),
        lambda given: mesh.get_all(**given),
    ]
    for call in calls:
        with pytest.raises(InvalidInput, match=r'mesh\.for_user\("alice"\)') as caught:
            call({word: "alice"})
        assert word in str(caught.value)
    assert mesh.get_all() == []


def test_a_user_given_to_the_async_mesh_is_refused_when_awaited(tmp_path):
    given: dict[str, Any] = {"user_id": "alice"}

    async def story():
        async with AsyncMesh(db_dir=tmp_path, embedder="none") as mesh:
            calls = [
                mesh.add("tea", **given),
                mesh.add_many(["tea"], **given),
                mesh.add_many([{"content": "tea", **given}]),
                mesh.search("tea", **given),
                mesh.get_all(**given),
            ]
            for call in calls:
                with pytest.raises(InvalidInput, match=r'mesh\.for_user\("alice"\)'):
                    await call
            return await mesh.get_all()

    assert asyncio.run(story()) == []
    assert asyncio.iscoroutinefunction(AsyncMesh.add)


@pytest.mark.req("R-000-030")
def test_a_user_in_metadata_is_kept(mesh):
    given = {"user_id": "alice", "userId": 7, "user": {"name": "Alice"}}
    stored = mesh.get(mesh.add("I live in Oslo", given).id)
    assert stored.metadata == given
    item = {"content": "I live in Rome", "metadata": {"user": "bob"}}
    assert mesh.get(mesh.add_many([item])[0].id).metadata == {"user": "bob"}
