"""Memories of other tools move in: their files are recognised, and mem0's calls answer as mem0's.

`tests/corpora/other_tools` holds small files that the tools made themselves: mem0 2.2.1 (its
Qdrant, its history, and its answers to the calls of bench/peers/mem0_calls.py), server-memory and
langgraph-checkpoint-sqlite. Those of ChatGPT and Claude.ai are written as documented.
"""

import asyncio
import json
import os
import pickle
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bench.peers import mem0_calls
from memory_mesh.agents.mcp.aliases.server_memory import Graph
from memory_mesh.cli.main import run
from memory_mesh.compat.mem0 import AsyncMemory, Memory
from memory_mesh.model import InvalidInput, SourceKind, Status
from memory_mesh.sync import MemoryMesh

WORD = {SourceKind.DOCUMENT, SourceKind.INFERENCE}  # never the user's
MADE = Path(__file__).parents[1] / "corpora" / "other_tools"
CHATGPT = [
    {
        "title": "Trip",
        "create_time": 1_700_000_000.0,
        "mapping": {
            "root": {"id": "root", "message": None},
            "a": {
                "message": {
                    "author": {"role": "user"},
                    "content": {
                        "content_type": "text",
                        "parts": ["I always prefer window seats on flights. What's the weather?"],
                    },
                }
            },
            "b": {
                "message": {
                    "author": {"role": "assistant"},
                    "content": {"content_type": "text", "parts": ["You always prefer the aisle."]},
                }
            },
        },
    },
    "junk",
]
CLAUDE = [
    {
        "uuid": "u",
        "name": "Work",
        "created_at": "2024-05-01T10:00:00Z",
        "chat_messages": [
            {"sender": "human", "text": "Remember that our deploy server is called atlas-7."},
            {"sender": "assistant", "text": "I always deploy on Fridays."},
        ],
    }
]
MEM0 = {
    "results": [
        {"id": "1", "memory": "Likes sushi", "user_id": "carol", "hash": "x"},
        {"id": "2", "memory": "Speaks Greek", "user_id": "dora", "metadata": {"sort": "skill"}},
    ]
}


@pytest.fixture
def mesh(tmp_path: Path) -> Iterator[MemoryMesh]:
    with MemoryMesh(db_dir=tmp_path / "store", embedder="none") as opened:
        yield opened


def texts(mesh: MemoryMesh, **named: Any) -> list[str]:
    return sorted(memory.text for memory in mesh.get_all(**named))


def written(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def qdrant(tmp_path: Path) -> Path:
    folder = tmp_path / "qdrant" / "collection" / "mem0"
    folder.mkdir(parents=True)
    shutil.copy(MADE / "mem0_qdrant.sqlite", folder / "storage.sqlite")
    return tmp_path / "qdrant"


def basic_memory(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "memory.db")) as made, made:
        made.execute("CREATE TABLE entity (id INTEGER, title TEXT, created_at TEXT)")
        made.execute(
            "CREATE TABLE observation (id INTEGER, entity_id INTEGER, content TEXT, category TEXT, "
            "context TEXT)"
        )
        made.execute("INSERT INTO entity VALUES (7, 'Coffee', '2025-03-01T08:00:00')")
        made.execute("INSERT INTO observation VALUES (1, 7, 'bloom 30 seconds', 'method', NULL)")
    return tmp_path / "memory.db"


def zipped(tmp_path: Path) -> Path:
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as made:
        made.writestr("conversations.json", json.dumps(CLAUDE))
        made.writestr("user.json", "{}")
    return tmp_path / "export.zip"


FILES: dict[str, tuple[Callable[[Path], Path], str, dict[str | None, list[str]]]] = {
    "server-memory": (
        lambda _: MADE / "server_memory.jsonl",
        "a knowledge graph of server-memory",
        {
            None: [
                "Ada (person)",
                "Ada works at Heron",
                "Ada: lives in Turin",
                "Ada: plays chess",
                "Heron (company)",
            ]
        },
    ),
    "mem0's Qdrant": (
        qdrant,
        "the memories of mem0 in its local Qdrant",
        {
            None: [],
            "alice": ["Alice prefers tea over coffee", "I moved to Lisbon", "Noted: Lisbon"],
            "bob": ["Bob is allergic to peanuts"],
        },
    ),
    "mem0's history": (
        lambda _: MADE / "mem0_history.db",
        "the history of mem0, which names no users",
        {
            None: [
                "Alice prefers tea over coffee",
                "Bob is allergic to peanuts",
                "I moved to Lisbon",
                "Noted: Lisbon",
            ]
        },
    ),
    "an export of mem0": (
        lambda folder: written(folder / "mem0.json", MEM0),
        "an export of mem0",
        {None: [], "carol": ["Likes sushi"], "dora": ["Speaks Greek"]},
    ),
    "LangGraph": (
        lambda _: MADE / "langgraph_store.db",
        "a store of LangGraph",
        {None: ["The user likes green tea", '{"title":"x","y":[1,2]}']},
    ),
    "basic-memory": (
        basic_memory,
        "the index of basic-memory",
        {None: ["Coffee: bloom 30 seconds"]},
    ),
    "a list in JSON": (
        lambda folder: written(folder / "plain.json", ["The sky is blue", {"text": "Tea is hot"}]),
        "a list in JSON",
        {None: ["Tea is hot", "The sky is blue"]},
    ),
}


@pytest.mark.parametrize("tool", FILES)
def test_a_file_of_another_tool_is_recognised_and_taken_in_once(
    mesh: MemoryMesh, tmp_path: Path, tool: str
) -> None:
    make, name, expected = FILES[tool]
    path = make(tmp_path)
    first, again = mesh.import_(path), mesh.import_(path)
    count = sum(map(len, expected.values()))
    assert (first.format, first.outcomes) == (name, {"refused": 0, "stored": count})
    assert again.outcomes == {"refused": 0, "merged": count}
    for user, kept in expected.items():
        view = mesh if user is None else mesh.for_user(user)
        assert texts(view) == kept
        assert {one.source.kind for one in view.get_all()} <= WORD


@pytest.mark.parametrize(
    ("make", "name", "stated"),
    [
        (
            lambda folder: written(folder / "conversations.json", CHATGPT),
            "an export of ChatGPT",
            ["I always prefer window seats on flights."],
        ),
        (
            lambda folder: written(folder / "conversations.json", CLAUDE),
            "an export of Claude.ai",
            ["our deploy server is called atlas-7."],
        ),
        (zipped, "an export of Claude.ai", ["our deploy server is called atlas-7."]),
    ],
)
def test_what_a_user_stated_in_a_chat_waits_for_review(
    mesh: MemoryMesh, tmp_path: Path, make: Callable[[Path], Path], name: str, stated: list[str]
) -> None:
    done = mesh.import_(make(tmp_path))
    assert done.format == name
    assert texts(mesh) == []
    waiting = mesh.get_all(include=[Status.QUARANTINED])
    assert [memory.text for memory in waiting] == stated
    if "ChatGPT" in name:
        assert done.outcomes == {"refused": 1, "quarantined": 1}
        assert done.reasons == ("item 2: it is no conversation",)


def test_an_interrupted_import_ends_whole_and_without_doubles(
    mesh: MemoryMesh, tmp_path: Path
) -> None:
    count, most = 1_300, 300
    rows = [{"memory": f"Note {n} is about topic {n % 7}", "user_id": "u"} for n in range(count)]
    path = written(tmp_path / "mem0.json", rows)

    def cut(done: int) -> None:
        if done >= most:
            raise KeyboardInterrupt

    for most in (300, 900):  # noqa: B007  # read by `cut`
        with pytest.raises(KeyboardInterrupt):
            mesh.import_(path, progress=cut)
    done = mesh.import_(path)
    assert done.outcomes["stored"] + done.outcomes["merged"] == count
    with_cursor = mesh.for_user("u").get_all(limit=1_000)
    rest = mesh.for_user("u").get_all(limit=1_000, cursor=with_cursor.cursor)
    assert len({memory.text for memory in [*with_cursor, *rest]}) == count
    assert len([*with_cursor, *rest]) == count


def test_the_tools_of_server_memory_find_an_imported_graph(mesh: MemoryMesh) -> None:
    mesh.import_(MADE / "server_memory.jsonl")
    graph = Graph(mesh)
    assert [one.as_json() for one in graph.entities.values()] == [
        {"name": "Ada", "entityType": "person", "observations": ["plays chess", "lives in Turin"]},
        {"name": "Heron", "entityType": "company", "observations": []},
    ]
    assert [one.as_json()["relationType"] for one in graph.relations.values()] == ["works_at"]


def test_one_user_takes_in_what_another_tool_kept_for_several(
    mesh: MemoryMesh, tmp_path: Path
) -> None:
    own = mesh.for_user("erin")
    own.import_(written(tmp_path / "mem0.json", MEM0))
    assert texts(own) == ["Likes sushi", "Speaks Greek"]
    assert mesh.users() == ["erin"]


class Runs:
    """What a hostile pickle has in it: a call that unpickling would make."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return os.mkdir, (str(self.marker),)


def test_a_pickled_point_runs_nothing(mesh: MemoryMesh, tmp_path: Path) -> None:
    folder, marker = qdrant(tmp_path), tmp_path / "ran"
    nested: list[object] = []
    for _ in range(60):
        nested = [nested, nested]  # written out it would fill the memory
    hostile = [pickle.dumps(Runs(marker)), b"\x80\x05.", pickle.dumps({"__dict__": nested})]
    deep = {"__dict__": {"payload": {"data": "A deep point", "user_id": "bob", "more": nested}}}
    with closing(sqlite3.connect(next(folder.rglob("storage.sqlite")))) as made, made:
        for number, blob in enumerate([*hostile, pickle.dumps(deep)]):
            made.execute("INSERT INTO points VALUES (?, ?)", (f"h{number}", blob))
    done = mesh.import_(folder)
    assert not marker.exists()
    assert done.outcomes == {"refused": 3, "stored": 5}
    assert "A deep point" in texts(mesh.for_user("bob"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("chat.json", [{"mapping": 1}, {"mapping": {"x": []}}, {"mapping": {}, "title": 5}, None]),
        ("claude.json", [{"chat_messages": [5, {"sender": [], "text": {}}], "created_at": "x"}]),
        (
            "mem0.json",
            {"results": [{"memory": 5, "user_id": 9}, {"memory": "x", "user_id": "a" * 999}]},
        ),
        ("unended.json", '[{"memory": "kept", "user_id": "u"}, {"memory": "x'),
        ("cut.db", "SQLite format 3\0 and then nothing"),
    ],
)
def test_a_broken_file_is_refused_in_words(
    mesh: MemoryMesh, tmp_path: Path, name: str, said: object
) -> None:
    path = tmp_path / name
    path.write_text(said if isinstance(said, str) else json.dumps(said), encoding="utf-8")
    refused = None
    try:
        done = mesh.import_(path)
    except InvalidInput as error:
        refused = str(error)
    if refused is None:
        assert not done.outcomes.get("stored")
        assert bool(done.outcomes["refused"]) == bool(done.reasons)
    else:
        assert "no end" in refused or str(path) in refused


def test_the_user_is_told_what_a_file_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "dump.json", MEM0)
    place = ["--store", str(tmp_path / "store")]
    assert run(["import", str(file), *place]) == 0
    said = capsys.readouterr()
    assert f"This is an export of mem0: {file}" in said.err
    assert "2 stored" in said.out


def test_calls_of_mem0_answer_as_mem0_did(tmp_path: Path) -> None:
    told = json.loads((MADE / "mem0_calls.json").read_text(encoding="utf-8"))
    with Memory({"store": str(tmp_path)}) as memory:
        ours = mem0_calls.answers(memory)
    assert len(told) >= 24
    assert ours == told


def test_mem0_infers_without_a_model_by_keeping_what_the_user_wrote(tmp_path: Path) -> None:
    turns = [
        {"role": "user", "content": "I am allergic to nuts"},
        {"role": "assistant", "content": "I will never suggest nuts"},
    ]
    with Memory({"store": str(tmp_path)}, embedder="none") as memory:
        memory.add(turns, user_id="alice")
        (kept,) = memory.get_all(filters={"user_id": "alice"})["results"]
        assert kept["memory"] == "I am allergic to nuts"
        memory.reset()
        assert memory.get_all(filters={"user_id": "alice"}) == {"results": []}


def test_mem0_asynchronously(tmp_path: Path) -> None:
    async def used() -> list[str]:
        async with AsyncMemory({"store": str(tmp_path)}, embedder="none") as memory:
            await memory.add("Tea is at four", user_id="alice")
            found = await memory.search("tea", filters={"user_id": "alice"})
            return [one["memory"] for one in found["results"]]

    assert asyncio.run(used()) == ["Tea is at four"]
