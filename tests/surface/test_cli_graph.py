"""`memory-mesh links`, `clusters` and `episode` as a person runs them."""

import json
from itertools import pairwise

import pytest

from memory_mesh.sync import MemoryMesh
from tests.surface.command import CommandLine

_NONE = "mem_1_000000"


@pytest.fixture
def ids(cli: CommandLine) -> list[str]:
    with MemoryMesh(db_dir=cli.store) as mesh:
        texts = ("Tea is hot.", "Green tea is bitter.", "Milk is cold.", "Sand is dry.")
        made = [str(mesh.add(text).id) for text in texts]
        mesh.graph.link(made[0], made[1])
        mesh.graph.link(made[1], made[2], type="follows")
    return made


def test_links_are_shown_with_the_texts_they_lead_to(cli: CommandLine, ids: list[str]) -> None:
    lines = cli("links", ids[1]).out.splitlines()
    assert lines == [f"<- related  {ids[0]}  Tea is hot.", f"-> follows  {ids[2]}  Milk is cold."]
    only = json.loads(cli("links", ids[1], "--type", "follows", "--json").out)["items"]
    assert [(link["source"], link["target"], link["type"]) for link in only] == [
        (ids[1], ids[2], "follows")
    ]
    assert "no links" in cli("links", ids[3]).out
    with MemoryMesh(db_dir=cli.store) as mesh:
        assert mesh.history(ids[2])[-1].uses == 0  # a look at links is no use


def test_links_are_followed_for_some_steps_and_to_another_memory(
    cli: CommandLine, ids: list[str]
) -> None:
    walked = cli("links", ids[0], "--hops", "2").out.splitlines()
    assert [line.split()[0] for line in walked] == ["1", "2"]
    way = cli("links", ids[0], "--to", ids[2]).out
    assert way.splitlines()[1] == f"  related -> {ids[1]}  Green tea is bitter."
    assert "no way of up to 10 steps" in cli("links", ids[0], "--to", ids[3]).out


def test_a_way_is_found_that_is_as_long_as_the_command_says(cli: CommandLine) -> None:
    with MemoryMesh(db_dir=cli.store, embedder="none") as mesh:
        made = [str(mesh.add(f"Stop {number}").id) for number in range(11)]
        for one, other in pairwise(made):
            mesh.graph.link(one, other)
    assert made[10] in cli("links", made[0], "--to", made[10]).out


def test_an_unknown_memory_is_named(cli: CommandLine, ids: list[str]) -> None:
    for words in (("links", "mem_1_000000"), ("links", ids[0], "--to", "mem_1_000000")):
        done = cli(*words)
        assert done.code != 0
        assert done.out == ""
        assert "there is no memory mem_1_000000" in done.err
    assert "--hops" in cli("links", ids[0], "--to", ids[1], "--hops", "2").err


def test_clusters_are_shown_with_their_words(cli: CommandLine, ids: list[str]) -> None:
    shown = cli("clusters").out
    assert shown.splitlines()[0].split()[0] == "3"
    (cluster,) = json.loads(cli("clusters", "--json").out)["items"]
    assert set(cluster["ids"]) == set(ids[:3])
    assert "tea" in cluster["terms"]
    assert "no clusters" in cli("clusters", "--min-size", "9").out


def test_an_episode_is_made_shown_changed_and_summarised(cli: CommandLine, ids: list[str]) -> None:
    made = json.loads(cli("episode", "create", "Tea time", *ids[:2], "--json").out)
    assert made["ids"] == ids[:2]
    assert "Tea time  (2 memories" in cli("episode").out
    assert "Milk is cold." in cli("episode", "add", made["id"], ids[2]).out
    assert "Milk" not in cli("episode", "remove", made["id"], ids[2]).out
    assert ids[0] in cli("episode", "show", made["id"]).out
    assert cli("episode", "summary", made["id"], "--sentences", "1").out.count("\n") == 2
    assert "no episodes" in cli("episode", "list", "--namespace", "other").out
    assert "name a title" in cli("episode", "create").err
    assert "there is no memory mem_1_000000" in cli("episode", "show", "mem_1_000000").err
    assert f"there is no memory {_NONE}." in cli("episode", "add", made["id"], ids[0], _NONE).err
    assert f"there is no memory {_NONE}." in cli("episode", "create", "New", ids[0], _NONE).err
    assert "memory-mesh episode" in cli("episode", "show", ids[0]).err


def test_an_episode_without_memories_says_so(cli: CommandLine, ids: list[str]) -> None:
    made = cli("episode", "create", "Long ago", "--since", "1999-01-01", "--until", "1999-02-01")
    assert "(0 memories)" in made.out
    assert "the episode has no memories" in made.err.lower()
    assert len(ids) == 4
