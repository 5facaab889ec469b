"""neolata's tables and functions as views of a PostgreSQL store show what `MemoryGraph` shows."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from memory_mesh.base.digests import keyed_digest
from memory_mesh.compat.neolata import GraphMemory, keeper, rows
from memory_mesh.compat.neolata.memory_graph import MemoryGraph, create_memory
from memory_mesh.ledgers.postgres.setup import opening_key
from memory_mesh.model import Scope
from memory_mesh.models.embedders.onnx import OnnxEmbedder
from memory_mesh.testing import FrozenClock
from tests.postgres import APP, SECRET, Server
from tests.receipts import id_of

COLUMNS = [
    "id", "agent_id", "content", "category", "tags", "embedding", "importance", "access_count",
    "created_at", "updated_at", "claim", "provenance", "confidence", "status", "quarantine",
    "reinforcements", "disputes", "superseded_by", "supersedes",
]  # fmt: skip
VIEWS = (
    "memories", "memory_links", "memory_archive", "pending_conflicts", "episodes",
    "memory_clusters",
)  # fmt: skip
SESSION, OUTDATED = "the ferry of this session", "the ferry of another year"
USER = {"source": "user_explicit"}
SCHEMAS = {"owner": {"conflictPolicy": "require_review"}}
NEAR = (
    "SELECT * FROM neolata.search_memories_semantic(query_embedding => %s::vector, "
    "agent_filter => %s, match_count => %s, similarity_threshold => %s)"
)
NEAR_ALL = (
    "SELECT * FROM neolata.search_memories_global("
    "query_embedding => %s::vector, match_count => %s, similarity_threshold => %s)"
)
Row = dict[str, Any]


@dataclass
class Filled:
    """A store with memories of two agents, and the same as a graph shows it."""

    url: str
    graph: MemoryGraph
    embedder: OnnxEmbedder

    def rows(self, question: str, *values: object, namespace: str | None = "default") -> list[Row]:
        """The answer of the database to whoever has entered a namespace, or none."""
        with entered(self.url, namespace) as db:
            return db.execute(question, values).fetchall()

    def vector(self, text: str) -> str:
        """A question as a vector, as SQL writes it."""
        (made,) = self.embedder.embed([text], query=True).vectors
        return str(list(memoryview(made[0]).cast("f")))


@contextmanager
def entered(url: str, namespace: str | None) -> Iterator[psycopg.Connection[Row]]:
    with psycopg.connect(url, row_factory=dict_row) as db:
        if namespace is not None:
            capability = keyed_digest(opening_key(SECRET), f"namespace {namespace}".encode())
            db.execute("SELECT memory_mesh.enter(%s, %s)", (namespace, capability))
        yield db


@pytest.fixture(scope="module")
def filled(postgres: Server, real_embedder: OnnxEmbedder) -> Iterator[Filled]:
    """Memories of 100 days ago, read now: trust has aged, and the clocks of both agree."""
    now = datetime.now(UTC)
    clock = FrozenClock(now - timedelta(days=100))
    name = postgres.database()
    url = postgres.url(name, APP)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MEMORY_MESH_KEY", SECRET.hex())
        patched.setenv("MEMORY_MESH_OWN_NAMES", "off")
        with create_memory(
            store=url, namespace="other", clock=clock, custom_embedder=real_embedder
        ) as other:
            other.store("zoe", "another tenant's words")
        with create_memory(
            store=url, clock=clock, predicate_schemas=SCHEMAS, custom_embedder=real_embedder
        ) as graph:
            fill(graph, clock)
            clock.set(now)
            graph._mesh.add(SESSION, scope=Scope(agent="mira", session="s1"))
            yield Filled(url, graph, real_embedder)
    postgres.drop(name)


def claim(predicate: str, value: str) -> Row:
    return {"subject": "project x", "predicate": predicate, "value": value}


def fill(graph: MemoryGraph, clock: FrozenClock) -> None:
    graph.store(
        "kuro", "The budget is 5k", claim=claim("budget", "5k"), provenance=USER,
        category="decision", tags=["money", "Überblick"], importance=0.9,
        event_time="2025-12-01T09:00:00.000123Z",
    )  # fmt: skip
    clock.advance(timedelta(days=3))
    graph.store("kuro", "The budget is 6k", claim=claim("budget", "6k"), provenance=USER)
    graph.store("kuro", "The owner is Ada", claim=claim("owner", "Ada"))
    graph.store("kuro", "The owner is Bob", claim=claim("owner", "Bob"))
    graph.store("kuro", "The tool says 7", provenance=USER, claim=claim("tool", "7"))
    graph.store("kuro", "The tool says 8", claim=claim("tool", "8"))
    rejected = graph.store("kuro", "The owner is Eve", claim=claim("owner", "Eve"))
    graph.review_quarantine(id_of(rejected), action="reject")
    graph.store("kuro", "wait for me", quarantine="we must ask")
    lamp = graph.store(
        "kuro", "a green lamp", category="odd sort",
        provenance={"source": "tool_output", "sourceId": "scan 7"},
    )  # fmt: skip
    graph.store("kuro", "a green lamp", provenance={"source": "tool_output", "sourceId": "scan 8"})
    for _ in range(2):
        graph.reinforce(id_of(lamp))
    graph.dispute(id_of(lamp))
    doubted = graph.store("mira", "the moon is a cheese")
    for _ in range(3):
        graph.dispute(id_of(doubted))
    ferry = list[str]()
    for hour in ("six", "seven", "eight"):
        ferry.append(id_of(graph.store("mira", f"The harbour ferry leaves at {hour}")))
        clock.advance(timedelta(hours=1))
    graph.create_episode("mira", "a day at sea", ids=ferry[:2])
    graph._mesh.add("plain words without an importance")
    graph._mesh.delete(id_of(graph._mesh.add("nobody may see this")))
    graph._mesh.add(OUTDATED, scope=Scope(agent="mira"), valid_until=clock.now())
    graph.search("mira", "harbour")  # counts as a use


def aged(trust: float) -> object:
    """A trust that may be some minutes older: the clock of the database goes on."""
    return pytest.approx(trust, abs=1e-5)


def shown_by(memory: GraphMemory) -> Row:
    """What a graph shows of a memory, as a row of the view without the vector."""
    said, told = memory.provenance, memory.claim
    return {
        "id": memory.id,
        "agent_id": memory.agent,
        "content": memory.memory,
        "category": memory.category,
        "tags": list(memory.tags),
        "importance": memory.importance,
        "access_count": memory.access_count,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "claim": None if told is None else rows._claim_row(told),
        "provenance": {
            "source": said.source.value, "source_id": said.source_id,
            "corroboration": said.corroboration, "trust": aged(said.trust),
        },
        "confidence": aged(memory.confidence),
        "status": memory.status.value,
        "quarantine": memory.quarantine,
        "reinforcements": memory.reinforcements,
        "disputes": memory.disputes,
        "superseded_by": memory.superseded_by,
        "supersedes": list(memory.supersedes),
    }  # fmt: skip


@pytest.mark.req("R-003-102", "R-003-104")
def test_the_view_shows_what_the_graph_shows_column_by_column(filled: Filled) -> None:
    graph = filled.graph
    ids = [row["id"] for row in filled.rows("SELECT id FROM neolata.every_memory")]
    expected = {each.id: shown_by(each) for each in graph._shown(graph._found(ids, as_owner=True))}
    assert len(expected) == 17
    found = filled.rows("SELECT * FROM neolata.memories")
    archived = filled.rows("SELECT * FROM neolata.memory_archive")
    assert [row["content"] for row in archived] == ["The owner is Eve"]
    for row in (*found, *archived):
        assert list(row) == COLUMNS
        assert row.pop("embedding") is not None
        assert row == expected.pop(row["id"])
    assert expected == {}
    reasons = {row["content"]: row["quarantine"] for row in found if row["quarantine"]}
    assert reasons == {
        "The owner is Bob": "predicate_requires_review",
        "The tool says 8": "trust_insufficient",
        "wait for me": "we must ask",
        "the moon is a cheese": "disputed",
    }
    by_text = {row["content"]: row for row in found}
    old, new = by_text["The budget is 5k"], by_text["The budget is 6k"]
    assert old["superseded_by"] == new["id"]
    assert new["supersedes"] == [old["id"]]
    assert by_text["a green lamp"]["provenance"]["corroboration"] == 2
    assert by_text["plain words without an importance"]["importance"] == 0.7


@pytest.mark.req("R-003-103")
def test_links_are_those_of_the_graph(filled: Filled) -> None:
    filled.graph._mesh.care.upkeep()  # makes the links that wait, and a digest
    filled.graph._mesh.care.upkeep()  # and the links of the digest
    found = filled.rows("SELECT * FROM neolata.memory_links")
    assert {tuple(row) for row in found} == {("source_id", "target_id", "similarity", "created_at")}
    ids = {row[end] for row in found for end in ("source_id", "target_id")}
    expected = {
        (link.source_id, link.target_id, link.similarity, link.created_at)
        for id_ in ids
        for link in filled.graph.links(id_)
    }
    assert {tuple(row.values()) for row in found} == expected
    assert any(row["similarity"] is None for row in found)
    assert any(row["similarity"] is not None for row in found)


@pytest.mark.req("R-003-105")
def test_conflicts_that_wait_are_those_of_the_graph(filled: Filled) -> None:
    mesh = filled.graph._mesh
    held = [each for agent in ("kuro", "mira") for each in mesh._whole_of(agent).memories]
    claims = {memory.id: memory.claim for memory in held}
    agents = {memory.id: memory.scope.agent for memory in held}
    expected = [
        rows.conflict_row(each, claims) | {"agent_id": agents[each.new]}
        for each in filled.graph.pending_conflicts()
    ]
    found = filled.rows("SELECT * FROM neolata.pending_conflicts")
    for row in found:
        row["created_at"] = row["created_at"].astimezone(UTC).isoformat()
    assert {row["agent_id"] for row in found} >= {"kuro"}
    assert len(found) == len(expected)
    assert {row["id"]: row for row in found} == {row["id"]: row for row in expected}


@pytest.mark.req("R-003-106")
def test_episodes_are_those_of_the_graph(filled: Filled) -> None:
    (made,) = filled.graph.episodes("mira")
    (row,) = filled.rows("SELECT * FROM neolata.episodes")
    created = row.pop("created_at")
    assert row == {
        "id": made.id,
        "agent_id": "mira",
        "title": "a day at sea",
        "started": made.started,
        "ended": made.ended,
        "memory_ids": [each.id for each in made.memories],
    }
    first, last = made.memories
    assert (row["started"], row["ended"]) == (first.created_at, last.created_at)
    assert row["started"] < row["ended"]
    whole = filled.graph._mesh._whole_of("mira")
    (kept,) = keeper.episode_rows(whole.memories, whole.links, "mira")
    assert kept["created_at"] == created.astimezone(UTC).isoformat()
    assert kept["memory_ids"] == row["memory_ids"]


@pytest.mark.req("R-003-107")
def test_clusters_have_the_members_of_those_of_the_graph_and_a_label(filled: Filled) -> None:
    found = filled.rows("SELECT * FROM neolata.memory_clusters ORDER BY size DESC")
    made = filled.graph.clusters()
    assert {frozenset(row["memory_ids"]) for row in found} == {
        frozenset(each.memory_ids) for each in made
    }
    for row in found:
        assert row["id"] == f"cluster_{min(row['memory_ids'])}"
        assert row["size"] == len(row["memory_ids"])
        assert row["label"] == ", ".join(row["terms"])
    sea = next(row for row in found if row["agent_id"] == "mira")
    assert "ferri" in sea["terms"]


@pytest.mark.req("R-003-108", "R-003-109")
def test_functions_find_the_nearest_active_memories_of_one_agent_or_of_all(filled: Filled) -> None:
    asked = filled.vector("when does the ferry leave?")
    found = filled.rows(NEAR, asked, "mira", 3, 0.0)
    assert list(found[0]) == [*COLUMNS, "similarity"]
    assert {row["agent_id"] for row in found} == {"mira"}
    best = filled.graph.search("mira", "when does the ferry leave?", limit=3, rerank=False)
    assert {row["id"] for row in found} == {hit.id for hit in best}
    scores = [row["similarity"] for row in found]
    assert scores == sorted(scores, reverse=True)
    kept = filled.rows("SELECT * FROM neolata.memories WHERE id = %s", found[0]["id"])
    assert {**kept[0], "similarity": scores[0]} == found[0]
    assert len(filled.rows(NEAR, asked, "mira", 10, scores[1])) == 2
    assert filled.rows(NEAR, asked, "nobody", 10, 0.0) == []
    everywhere = filled.rows(NEAR_ALL, asked, 100, -1.0)
    assert {"mira", "kuro"} < {row["agent_id"] for row in everywhere}
    assert {row["status"] for row in everywhere} == {"active"}
    assert everywhere == filled.rows(NEAR, asked, None, 100, -1.0)
    assert filled.rows(NEAR_ALL, "[1,0]", 10, -1.0) == []  # no vectors are as short
    assert filled.rows(NEAR_ALL, str([0] * asked.count(",") + [0]), 10, -1.0) == []


@pytest.mark.req("R-003-110")
@pytest.mark.parametrize("who", [None, "other"])
def test_no_other_namespace_is_seen_through_views_and_functions(
    filled: Filled, who: str | None
) -> None:
    asked = filled.vector("ferry")
    for view in (*VIEWS, "every_memory"):
        seen = filled.rows(f"SELECT * FROM neolata.{view}", namespace=who)
        words = [row for row in seen if row.get("content") == "another tenant's words"]
        assert seen == (words if who else []), view
        assert len(words) == (1 if who and view in {"memories", "every_memory"} else 0)
        kept = filled.rows(f"SELECT * FROM neolata.{view}")
        assert kept
        assert not any(row.get("agent_id") == "zoe" for row in kept)
    own = ["zoe"] if who else []
    near = filled.rows(NEAR, asked, None, 100, -1.0, namespace=who)
    everywhere = filled.rows(NEAR_ALL, asked, 100, -1.0, namespace=who)
    assert [row["agent_id"] for row in near] == own
    assert [row["agent_id"] for row in everywhere] == own
    assert filled.rows(NEAR, asked, "mira", 100, -1.0, namespace=who) == []
    assert filled.rows("SELECT * FROM neolata.linked_groups()", namespace=who) == []
    assert filled.graph._mesh.care.verify().ok


@pytest.mark.req("R-003-110")
def test_views_read_with_the_rights_of_the_reader_and_are_never_written(filled: Filled) -> None:
    found = filled.rows(
        "SELECT c.relname, c.reloptions FROM pg_class c "
        "WHERE c.relnamespace = 'neolata'::regnamespace AND c.relkind = 'v'"
    )
    assert {row["relname"] for row in found} == {*VIEWS, "every_memory"}
    assert all(row["reloptions"] == ["security_invoker=true"] for row in found)
    raised = filled.rows(
        "SELECT proname FROM pg_proc WHERE pronamespace = 'neolata'::regnamespace "
        "AND (prosecdef OR provolatile = 'v')"
    )
    assert raised == []
    for view in VIEWS:
        with pytest.raises(psycopg.Error, match=r"permission denied|cannot"):
            filled.rows(f"DELETE FROM neolata.{view}")


@pytest.mark.req("R-003-108")
def test_memories_of_a_session_and_outdated_ones_are_no_answer(filled: Filled) -> None:
    found = filled.rows(NEAR, filled.vector("ferry"), "mira", 100, -1.0)
    texts = {row["content"] for row in found}
    assert "The harbour ferry leaves at six" in texts
    assert not texts & {SESSION, OUTDATED}
    listed = {row["content"] for row in filled.rows("SELECT content FROM neolata.memories")}
    assert {SESSION, OUTDATED} <= listed
