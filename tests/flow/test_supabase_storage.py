"""Memories in a Supabase project: kept whole, sent again when limited, errors without secrets."""

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from memory_mesh.compat.neolata import supabase_storage
from memory_mesh.compat.neolata.memory_graph import MemoryGraph, create_memory
from memory_mesh.compat.neolata.supabase_storage import Rest, SupabaseStorage
from memory_mesh.model import Status
from memory_mesh.model.errors import ForbiddenAddress, InvalidInput, StorageFailed
from memory_mesh.models.embedders.onnx import OnnxEmbedder
from memory_mesh.testing import FrozenClock
from tests.fake_supabase import KEY, FakeSupabase, fake_supabase
from tests.postgres import Server
from tests.receipts import id_of
from tests.servers import Reply

USER = {"source": "user_explicit"}
SCHEMAS = {"owner": {"conflictPolicy": "require_review"}}
LIMITED = Reply(b'{"message": "slow down"}', 429, headers={"Retry-After": "0"})
SECRETS = {
    "key": KEY,
    "part of the key": KEY[:60],
    "key as bearer": f"Bearer {KEY}",
    "other JWT": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJzb21lYm9keSBlbHNlIn0.abc123",
    "other bearer": "Bearer abcdefghijklmnop",
    "new sort of key": "sb_secret_0123456789abcdef",
}
SHOWN = (
    "memory", "agent", "category", "importance", "tags", "created_at", "updated_at", "event_time",
    "session_id", "claim", "status", "quarantine", "reinforcements", "disputes", "superseded_by",
    "supersedes", "provenance", "access_count",
)  # fmt: skip


@pytest.fixture
def project(postgres: Server) -> Iterator[FakeSupabase]:
    with fake_supabase(postgres) as fake:
        yield fake


def opened(project: FakeSupabase, clock: FrozenClock, **more: Any) -> MemoryGraph:
    storage = supabase_storage(url=project.url, key=KEY, near_hosts=["127.0.0.1"], **more)
    return create_memory(storage=storage, clock=clock, predicate_schemas=SCHEMAS)


def claim(predicate: str, value: str) -> dict[str, str]:
    return {"subject": "project x", "predicate": predicate, "value": value}


def fill(graph: MemoryGraph, clock: FrozenClock) -> dict[str, str]:
    said: dict[str, Any] = {"provenance": USER, "importance": 0.9, "tags": ["money"]}
    when = "2025-12-01T09:00:00.000123Z"
    old = graph.store("kuro", "The budget is 5k", claim=claim("budget", "5k"), event_time=when,
                      **said)  # fmt: skip
    clock.advance(timedelta(days=3))
    new = graph.store("kuro", "The budget is 6k", claim=claim("budget", "6k"), provenance=USER)
    graph.store("kuro", "The owner is Ada", claim=claim("owner", "Ada"))
    waiting = graph.store("kuro", "The owner is Bob", claim=claim("owner", "Bob"))
    eve = graph.store("kuro", "The owner is Eve", claim=claim("owner", "Eve"))
    lamp = graph.store("kuro", 'a green "lamp", (old)', category="odd sort")
    graph.reinforce(id_of(lamp))
    graph.create_episode("kuro", "a day", ids=[id_of(lamp), id_of(new)])
    graph.store("mira o.neil", "a lamp of another agent")
    found = {"old": old, "new": new, "waiting": waiting, "eve": eve, "lamp": lamp}
    return {name: id_of(receipt) for name, receipt in found.items()}


def everything(graph: MemoryGraph) -> dict[str, dict[str, Any]]:
    ids = [memory.id for memory in graph._mesh._whole_of("kuro").memories]
    shown = graph._shown(graph._found(ids, as_owner=True))
    return {each.id: {name: getattr(each, name) for name in SHOWN} for each in shown}


def links(graph: MemoryGraph) -> set[tuple[object, ...]]:
    found = graph._mesh._whole_of("kuro").links
    return {(each.source, each.target, each.type, each.similarity, each.at) for each in found}


@pytest.mark.req("R-003-079", "R-003-105")
def test_a_second_graph_finds_everything_as_the_first_left_it(
    project: FakeSupabase, clock: FrozenClock
) -> None:
    with opened(project, clock) as graph:
        ids = fill(graph, clock)
        graph.review_quarantine(ids["eve"], action="reject")
        before, joined, pending = everything(graph), links(graph), graph.pending_conflicts()
        assert len(pending) == 1
        assert before.pop(ids["eve"])["status"] is Status.ARCHIVED
    stored = project.rows("SELECT agent_id, count(*) FROM memories GROUP BY 1 ORDER BY 1")
    assert stored == [("kuro", 6), ("mira o.neil", 1)]
    assert project.rows("SELECT id, status FROM memory_archive") == [(ids["eve"], "archived")]
    assert project.rows("SELECT id, agent_id FROM pending_conflicts") == [(pending[0].id, "kuro")]
    assert project.rows("SELECT title, cardinality(memory_ids) FROM episodes") == [("a day", 2)]
    clock.advance(timedelta(seconds=1))
    with opened(project, clock) as graph:
        assert [each.title for each in graph.episodes("kuro")] == ["a day"]
        after = everything(graph)
        for id_, shown in before.items():
            assert after.pop(id_) == shown
        assert after == {}
        assert [hit.memory for hit in graph.search("kuro", "lamp")] == ['a green "lamp", (old)']
        assert {"part_of"} <= {each[2] for each in links(graph)}
        assert links(graph) == {each for each in joined if ids["eve"] not in each}
        assert [each.id for each in graph.pending_conflicts()] == [pending[0].id]
        assert len(graph.search(None, "lamp")) == 2
        graph.review_quarantine(ids["waiting"], action="activate")
        assert [hit.memory for hit in graph.search("kuro", "owner")] == ["The owner is Bob"]
        (cluster,) = graph.clusters()
        assert graph._mesh.care.verify().findings == ()
    assert project.rows("SELECT id FROM pending_conflicts") == []
    assert project.rows("SELECT label FROM memory_clusters") == [(cluster.label,)]


@pytest.mark.req("R-003-105")
def test_a_conflict_that_waits_is_a_row_until_it_is_decided(
    project: FakeSupabase, clock: FrozenClock
) -> None:
    rows = "SELECT id, new_id, resolution FROM pending_conflicts"
    with opened(project, clock) as graph:
        graph.store("kuro", "The owner is Ada", claim=claim("owner", "Ada"))
        bob = id_of(graph.store("kuro", "The owner is Bob", claim=claim("owner", "Bob")))
        (waits,) = graph.pending_conflicts()
        assert project.rows(rows) == [(waits.id, bob, None)]
    storage = SupabaseStorage(Rest(project.url, KEY))
    assert [row["id"] for row in storage.load_pending_conflicts("kuro")] == [waits.id]
    with opened(project, clock) as graph:
        graph.search("kuro", "owner")
        graph.resolve_conflict(waits.id, "supersede")
    assert project.rows(rows) == []


@pytest.mark.req("R-003-079")
def test_only_what_changed_is_sent_and_what_is_gone_is_removed(
    project: FakeSupabase, clock: FrozenClock
) -> None:
    with opened(project, clock) as graph:
        ids = fill(graph, clock)
        project.asked.clear()
        graph.store("kuro", "one more lamp")
        sent = [
            row["content"]
            for each in project.asked
            if each.method == "POST" and each.path.startswith("/rest/v1/memories")
            for row in json.loads(each.body)
        ]
        assert sent == ["one more lamp"]
        (episode,) = graph.episodes("kuro")
        graph.remove_from_episode(episode.id, [ids["new"]])
        assert project.rows("SELECT cardinality(memory_ids) FROM episodes") == [(1,)]
    question = "SELECT count(*) FROM memory_links WHERE source_id = '{}' AND target_id = '{}'"
    assert project.rows(question.format(ids["new"], episode.id)) == [(0,)]
    assert project.rows(question.format(ids["lamp"], episode.id)) == [(1,)]


@pytest.mark.req("R-003-079")
def test_rows_of_neolata_itself_are_read(project: FakeSupabase, clock: FrozenClock) -> None:
    project.rows(
        "INSERT INTO memories (id, agent_id, content, created_at, provenance) VALUES "
        "('a', 'kuro', 'one', now(), '{\"source\": \"user_explicit\"}'), "
        "('b', 'kuro', 'two', now(), NULL) RETURNING id"
    )
    project.rows("INSERT INTO memory_links VALUES ('a', 'b', 0.8, now()) RETURNING source_id")
    with opened(project, clock) as graph:
        assert {hit.id for hit in graph.search("kuro", "one two")} == {"a", "b"}
        (link,) = graph.links("a")
        assert (link.type, link.similarity) == ("similar", 0.8)


@pytest.mark.req("R-003-080")
def test_the_project_itself_searches_by_meaning(
    project: FakeSupabase, clock: FrozenClock, real_embedder: OnnxEmbedder
) -> None:
    storage = supabase_storage(
        url=project.url, key=KEY, embedder=real_embedder, near_hosts=["127.0.0.1"]
    )
    with create_memory(storage=storage, clock=clock) as graph:
        graph.store("kuro", "The ferry leaves at six")
        graph.store("kuro", "Cats sleep all day")
        graph.store("mira", "A boat goes to the island")
    project.asked.clear()
    (best,) = storage.search("kuro", "when does the ship sail?", limit=1)
    assert best["content"] == "The ferry leaves at six"
    everywhere = storage.search(None, "when does the ship sail?", limit=10)
    assert len(everywhere) == 3
    assert everywhere[-1]["content"] == "Cats sleep all day"
    (vector,) = real_embedder.embed(["when does the ship sail?"], query=True).vectors
    near = memoryview(vector[0]).cast("f").tolist()
    least = float(str(best["similarity"]))
    assert storage.search("kuro", near, min_similarity=least - 1e-6) == [best]
    paths = [request.path for request in project.asked]
    assert set(paths) == {
        "/rest/v1/rpc/search_memories_semantic", "/rest/v1/rpc/search_memories_global"
    }  # fmt: skip
    with pytest.raises(InvalidInput, match="by a vector"):
        supabase_storage(url=project.url, key=KEY, near_hosts=["127.0.0.1"]).search("kuro", "words")


def fetch(
    method: str, url: str, headers: Mapping[str, str], body: bytes | None
) -> tuple[int, Mapping[str, str], bytes]:
    """A client of the caller's own."""
    parts = urlsplit(url)
    with closing(http.client.HTTPConnection(parts.hostname or "", parts.port)) as connection:
        connection.request(method, f"{parts.path}?{parts.query}", body, dict(headers))
        answer = connection.getresponse()
        return answer.status, dict(answer.headers), answer.read()


@pytest.mark.req("R-003-079")
def test_the_callers_fetch_carries_every_request(project: FakeSupabase, clock: FrozenClock) -> None:
    address = "https://project.supabase.example"  # nothing else leads there

    def carried(
        method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> tuple[int, Mapping[str, str], bytes]:
        return fetch(method, url.replace(address, project.url), headers, body)

    storage = supabase_storage(url=address, key=KEY, fetch=carried)
    with create_memory(storage=storage, clock=clock) as graph:
        graph.store("kuro", "a lamp")
    assert project.rows("SELECT content FROM memories") == [("a lamp",)]


@pytest.mark.req("R-003-110")
def test_whoever_has_no_policy_sees_no_row_of_any_table(
    project: FakeSupabase, clock: FrozenClock
) -> None:
    with opened(project, clock) as graph:
        graph.review_quarantine(fill(graph, clock)["eve"], action="reject")
        graph.clusters()
    tables = [name for (name,) in project.rows("SELECT relname FROM pg_stat_user_tables")]
    assert len(tables) == 6
    project.db.execute("CREATE ROLE reader; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    try:
        for table in tables:
            assert project.rows(f"SELECT * FROM {table}"), table
            with project.db.transaction():
                project.db.execute("SET LOCAL ROLE reader")
                assert project.rows(f"SELECT * FROM {table}") == [], table
    finally:
        project.db.execute("DROP OWNED BY reader; DROP ROLE reader")


@pytest.mark.req("R-003-082")
@pytest.mark.parametrize("way", [None, fetch])
def test_a_limited_request_is_sent_again_and_not_for_ever(
    project: FakeSupabase, clock: FrozenClock, way: Any
) -> None:
    with opened(project, clock, fetch=way) as graph:
        project.next = [LIMITED, LIMITED]
        graph.store("kuro", "a lamp")
        assert project.rows("SELECT content FROM memories") == [("a lamp",)]
        project.next = [LIMITED] * 4
        with pytest.raises(StorageFailed, match=r"429.*slow down.*saved with the agent's next"):
            graph.store("kuro", "a harbour")
        assert project.next == []
        graph.save()
        assert len(project.rows("SELECT content FROM memories")) == 2
        project.next = [Reply(status=429, headers={"Retry-After": "3600"})]
        with pytest.raises(StorageFailed, match="429"):
            graph.store("kuro", "a ship")
        assert project.next == []


@pytest.mark.req("R-003-082")
def test_the_server_says_how_long_to_wait(project: FakeSupabase) -> None:
    waited = list[float]()
    for way in (None, fetch):
        project.next = [Reply(status=429, headers={"Retry-After": "7"}), Reply(status=503)]
        assert SupabaseStorage(Rest(project.url, KEY, way, waited.append)).agents() == []
    assert waited == [7.0, 0.5, 7.0, 0.5]


@pytest.mark.req("R-003-081", "R-003-096")
@pytest.mark.parametrize("way", [None, fetch])
@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_no_error_shows_a_token(
    project: FakeSupabase, clock: FrozenClock, secret: str, way: Any
) -> None:
    echo = json.dumps({"message": f"this is not allowed: {secret} was used"}).encode()
    with opened(project, clock, fetch=way) as graph:
        project.next = [Reply(echo, 403)]
        with pytest.raises(StorageFailed) as raised:
            graph.store("kuro", "a lamp")
    told = f"{raised.value}{raised.value.__cause__}{raised.value!r}"
    assert "this is not allowed" in told
    for part in secret.removeprefix("Bearer ").split("."):
        assert part not in told
    assert KEY not in repr(Rest(project.url, KEY))


@pytest.mark.req("R-003-081")
def test_a_wrong_key_or_address_is_told_without_the_key(
    project: FakeSupabase, clock: FrozenClock
) -> None:
    wrong = "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoiYW5vbiJ9.d3Jvbmc"
    storage = supabase_storage(url=project.url, key=wrong, near_hosts=["127.0.0.1"])
    with (
        create_memory(storage=storage, clock=clock) as graph,
        pytest.raises(StorageFailed, match="401") as raised,
    ):
        graph.search("kuro", "lamp")
    assert wrong not in str(raised.value)
    with pytest.raises(InvalidInput, match="key"):
        supabase_storage(url=project.url, key="", near_hosts=["127.0.0.1"])
    with pytest.raises(ForbiddenAddress):
        supabase_storage(url="http://169.254.169.254", key=KEY).load("kuro")
