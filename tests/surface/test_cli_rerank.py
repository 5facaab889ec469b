"""`memory-mesh search --rerank`: by settings, by option, and with a reranker that is down."""

import json
from dataclasses import replace

from tests.rerankers import route
from tests.servers import Reply, serve
from tests.surface.command import CommandLine

TEAS = ("green tea is hot", "tea", "black tea with milk")


def test_a_configured_reranker_orders_the_hits_unless_it_is_switched_off(cli: CommandLine) -> None:
    for tea in TEAS:
        cli.stored(tea)
    with serve(route(len)) as server:
        variables = {"MEMORY_MESH_RERANKER": "http", "MEMORY_MESH_RERANKER_BASE_URL": server.url}
        configured = replace(cli, variables=variables | {"MEMORY_MESH_RERANKER_TIMEOUT": "30"})
        found = json.loads(configured("search", "tea", "--keyword", "--json", "--rerank").out)[
            "items"
        ]
        assert [hit["content"] for hit in found] == sorted(TEAS, key=len, reverse=True)
        told = configured("search", "tea", "--keyword", "--explain")
        assert "Reranked: 3" in told.out
        assert "rerank 19" in told.out
        assert len(server.requests) == 2
        plain = configured("search", "tea", "--keyword", "--no-rerank", "--explain")
        assert "rerank" not in plain.out.lower()
        assert len(server.requests) == 2


def test_one_that_is_down_leaves_the_hits_and_warns(cli: CommandLine) -> None:
    for tea in TEAS:
        cli.stored(tea)
    with serve(lambda _: Reply(status=500)) as server:
        variables = {"MEMORY_MESH_RERANKER": "tei", "MEMORY_MESH_RERANKER_BASE_URL": server.url}
        done = replace(cli, variables=variables)("search", "tea", "--keyword")
    plain = cli("search", "tea", "--keyword")
    assert (done.code, done.out) == (0, plain.out)
    assert "the reranker fails" in done.err


def test_asking_for_one_that_is_not_set_says_what_to_set(cli: CommandLine) -> None:
    cli.stored("tea")
    done = cli("search", "tea", "--rerank")
    assert done.code == 1
    assert "MEMORY_MESH_RERANKER" in done.err


def test_help_and_config_show_it_and_the_key_is_hidden(cli: CommandLine) -> None:
    assert "--rerank, --no-rerank" in cli("search", "--help").out
    key = "Zq8Lw0pV7tYb3NmKc5RdHj1Gf"
    variables = {"MEMORY_MESH_RERANKER": "jina", "JINA_API_KEY": key}
    shown = replace(cli, variables=variables)("config").out
    assert "jina  (environment MEMORY_MESH_RERANKER)" in shown
    assert "***  (environment JINA_API_KEY)" in shown
    assert key not in shown


def test_several_views_are_not_reranked_and_asking_for_both_is_refused(cli: CommandLine) -> None:
    cli.stored("tea")
    cli.stored("tea of the team", "--namespace", "team")
    with serve(route(len)) as server:
        variables = {"MEMORY_MESH_RERANKER": "http", "MEMORY_MESH_RERANKER_BASE_URL": server.url}
        configured = replace(cli, variables=variables)
        asked = ("search", "tea", "--keyword", "--also-namespace", "team")
        told = configured(*asked, "--explain")
        assert "Note: hits of several views are merged by score, without a reranker" in told.out
        refused = configured(*asked, "--rerank")
        assert server.requests == []
    assert refused.code == 1
    assert "rerank and also cannot be combined" in refused.err
