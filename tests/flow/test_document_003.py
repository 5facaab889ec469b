"""The examples of document 003, neolata's implementation notes, run as they are written."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from memory_mesh.compat import neolata
from memory_mesh.compat.neolata import (
    json_storage,
    markdown_writethrough,
    memory_graph,
    supabase_storage,
    webhook_writethrough,
)
from memory_mesh.model import Status
from memory_mesh.model.errors import ForbiddenAddress
from memory_mesh.testing import FrozenClock
from tests.receipts import id_of

USER = {"source": "user_explicit"}
NOTE = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu"  # 13 words


@pytest.fixture
def graph(tmp_path: Path, clock: FrozenClock) -> Any:
    with memory_graph.create_memory(db_dir=tmp_path / "graph", clock=clock) as opened:
        yield opened


@pytest.mark.req("R-003-045")
@pytest.mark.req("R-003-064")
def test_option_objects_and_camel_case_names_are_taken_as_written(
    tmp_path: Path, clock: FrozenClock
) -> None:
    named: Any = memory_graph
    graph = named.create_memory(
        {
            "predicateSchemas": {
                "budget": {
                    "cardinality": "single",
                    "conflictPolicy": "supersede",
                    "normalize": "currency",
                    "dedupPolicy": "corroborate",
                },
            },
            "dbDir": tmp_path / "graph",
            "clock": clock,
        }
    )
    claim = {"subject": "project", "predicate": "budget", "value": "$5k"}
    graph.store(
        "kuro", "The budget is 5k", {"category": "fact", "claim": claim, "provenance": USER}
    )
    again = graph.store(
        "kuro",
        "We have five thousand",
        {"claim": claim | {"value": "5,000 USD"}, "onConflict": "keep_active", "provenance": USER},
    )
    assert again.outcome == "merged"
    many = graph.storeMany("kuro", [{"text": "one", "eventTime": "2026-01-01T00:00:00Z"}],
                           {"embeddingBatchSize": 8})  # fmt: skip
    assert len(many) == 1
    found = graph.search(
        "kuro",
        "budget",
        {"limit": 3, "minSimilarity": 0, "rerank": {"relevance": 0.5, "confidence": 0.2},
         "includeSuperseded": True, "explain": True},
    )  # fmt: skip
    assert found[0].memory == "The budget is 5k"
    assert graph.search("kuro", "budget", minSimilarity=0, includeAll=True)
    assert graph.listQuarantined({"agent": "kuro", "limit": 50}) == []
    assert graph.traverse(found[0].id, 2, {"types": ["similar"]}) == []
    assert graph.decay({"dryRun": True}).archived == ()
    assert graph.consolidate({"maxDigests": 2, "minClusterSize": 3, "dryRun": True}).pruned == ()
    assert graph.autoCompress({"maxDigests": 2, "archiveOriginals": False}) == []
    assert graph.explainMemory(found[0].id).memory.id == found[0].id
    with pytest.raises(AttributeError, match="storeAll"):
        graph.storeAll  # noqa: B018
    with pytest.raises(TypeError, match="no option 'min_likeness'"):
        graph.search("kuro", "budget", {"minLikeness": 0})
    graph.close()


@pytest.mark.req("R-003-001")
def test_a_graph_has_every_method_of_the_document(graph: Any) -> None:
    for name in (
        *("store", "search", "context", "storeMany", "searchMany", "ingest"),
        *("links", "traverse", "clusters", "evolve", "reinforce", "dispute"),
        *("listQuarantined", "reviewQuarantine", "explainMemory", "explainSupersession"),
        *("decay", "autoCompress", "consolidate"),
    ):
        assert callable(getattr(graph, name)), name


def test_the_functions_have_the_documents_names(tmp_path: Path, clock: FrozenClock) -> None:
    named: Any = neolata
    storage = named.memoryStorage()

    async def run() -> str | None:
        async with named.createMemory({"storage": storage, "clock": clock}) as graph:
            stored = await graph.storeMany("kuro", ["a lamp"], {"embeddingBatchSize": 1})
            assert (await graph.decay({"dryRun": True})).archived == ()
            return id_of(stored[0])

    assert asyncio.run(run())
    assert named.computeTrust({"source": "user_explicit"}) == 1.0
    assert named.jsonStorage is neolata.json_storage
    with pytest.raises(AttributeError):
        named.storageOfAnotherKind  # noqa: B018
    blocking: Any = memory_graph
    with blocking.createMemory({"storage": storage, "clock": clock}) as graph:
        assert [each.memory for each in graph.search("kuro", "lamp")] == ["a lamp"]


def test_what_the_caller_states_as_importance_stays(graph: Any) -> None:
    plain = graph.store("kuro", "a lamp")
    stated = graph.store("kuro", "a door", importance=0.9, provenance={"source": "inference"})
    shown = {memory.id: memory.importance for memory in graph.search("kuro", "a lamp or a door")}
    assert shown == {id_of(plain): 0.7, id_of(stated): 0.9}
    assert plain.reasons == ("stored",)


@pytest.mark.req("R-003-070")
@pytest.mark.req("R-003-071")
def test_eleven_notes_of_14_words_fit_into_120_tokens(graph: Any) -> None:
    for number in range(14):
        graph.store("kuro", f"note{number} {NOTE}")
    found = graph.context("kuro", "alpha beta gamma", {"maxTokens": 120, "maxMemories": 20})
    assert found.count == 11
    assert found.tokens == neolata.estimate_tokens(found.context) == 116
    lines = found.context.split("\n")
    assert lines == [memory.memory for memory in found.memories]


@pytest.mark.req("R-003-070")
@pytest.mark.parametrize("budget", [1, 10, 11, 12, 30, 119, 120, 121, 400])
def test_a_context_never_has_more_tokens_than_asked_for(graph: Any, budget: int) -> None:
    for number in range(14):
        graph.store("kuro", f"note{number} {NOTE}" * (1 + number % 3))
    found = graph.context("kuro", "alpha beta gamma", {"maxTokens": budget})
    assert found.context == "" or neolata.estimate_tokens(found.context) <= budget


@pytest.mark.req("R-003-016")
def test_evolve_supersedes_every_statement_that_the_new_one_replaces(graph: Any) -> None:
    olds = [graph.store("kuro", text) for text in ("Bob lives in Rome", "Bob lives in Oslo now")]
    other = graph.store("kuro", "Bob works at Acme")
    new = graph.evolve("kuro", "Bob lives in Bern")
    assert {*new.superseded} == {id_of(old) for old in olds}
    found = graph.search("kuro", "Bob", includeAll=True)
    status = {memory.id: memory.status for memory in found}
    assert status[id_of(other)] is Status.ACTIVE
    assert {status[id_of(old)] for old in olds} == {Status.SUPERSEDED}


@pytest.mark.req("R-003-093")
@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.1",
        "http://192.168.1.5:8080",
        "http://127.0.0.1:54321",
        "http://localhost:54321",
        "http://[fd00::1]",
        "http://[fe80::1]",
        "http://169.254.169.254",
        "http://[::ffff:a9fe:a9fe]",
    ],
)
def test_a_storage_at_a_private_address_is_refused_unless_the_user_lists_it(url: str) -> None:
    with pytest.raises(ForbiddenAddress):
        supabase_storage(url=url, key="secret")


def test_a_storage_at_a_listed_address_is_taken() -> None:
    supabase_storage(url="http://127.0.0.1:1", key="secret", near_hosts=["127.0.0.1"])
    supabase_storage(url="https://project.supabase.co", key="secret")


@pytest.mark.req("R-003-078")
@pytest.mark.req("R-003-099")
def test_an_object_of_options_stands_for_the_keywords_of_storages_and_hooks(tmp_path: Path) -> None:
    """Its calls are typed: mypy reads this file."""
    near = {"url": "http://127.0.0.1:1", "nearHosts": ["127.0.0.1"]}
    supabase_storage({**near, "key": "secret"})
    supabase_storage({"url": "http://127.0.0.1:1", "near_hosts": ["127.0.0.1"], "key": "secret"})
    assert webhook_writethrough({**near, "events": ["store", "decay"]}).events == ("store", "decay")
    folders = tmp_path / "log", tmp_path / "kept"
    hook, storage = markdown_writethrough({"dir": folders[0]}), json_storage({"dir": folders[1]})
    options = {"storage": storage, "writethrough": [hook], "agentId": "kuro"}
    with memory_graph.create_memory(options) as graph:
        graph.store("kuro", "The port of staging is 8443", provenance=USER)
    assert [any(folder.iterdir()) for folder in folders] == [True, True]
    with pytest.raises(TypeError, match="folder"):
        json_storage({"dir": folders[1], "folder": "else"})
    with pytest.raises(TypeError, match="key"):
        supabase_storage({"url": "https://project.supabase.co"})
