"""Rerankers over HTTP: what goes over the wire, and that a bad answer never becomes an order."""

import json
import socket

import pytest

from memory_mesh.model.errors import ForbiddenAddress, InvalidInput, RerankError
from memory_mesh.models.rerankers.services import HttpReranker
from tests.rerankers import route, sent, shaped
from tests.servers import Reply, serve
from tests.until import until

KEY = "Zq8Lw0pV7tYb3NmKc5RdHj1Gf"
TEXTS = ["short", "the longest of them", "a longer one"]
LENGTHS = [5.0, 19.0, 12.0]
PROVIDERS = ["cohere", "jina", "tei", "http"]


def reranker(provider, server, **options):
    return HttpReranker(provider, **({"base_url": server.url, "seconds": 60} | options))


@pytest.mark.parametrize("shape", ["results", "rows"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_both_shapes_of_an_answer_are_read_in_the_order_of_the_texts(provider, shape):
    with serve(route(len, shape=shape)) as server:
        assert reranker(provider, server).rank("which?", TEXTS) == LENGTHS


@pytest.mark.parametrize(
    ("provider", "wanted"),
    [
        ("http", {"query": "which?", "documents": TEXTS, "top_n": 3}),
        ("tei", {"query": "which?", "texts": TEXTS, "truncate": True}),
        ("cohere", {"query": "which?", "documents": TEXTS, "top_n": 3, "model": "rerank-v3.5"}),
        (
            "jina",
            {
                "query": "which?",
                "documents": TEXTS,
                "top_n": 3,
                "model": "jina-reranker-v2-base-multilingual",
            },
        ),
    ],
)
def test_each_provider_is_asked_in_its_own_words(provider, wanted):
    with serve(route(len)) as server:
        reranker(provider, server, api_key=KEY).rank("which?", TEXTS)
        reranker(provider, server, model="mine").rank("which?", TEXTS)
    first, second = server.requests
    assert (first.method, first.path) == ("POST", "/rerank")
    assert first.headers["Authorization"] == f"Bearer {KEY}"
    assert json.loads(first.body) == wanted
    assert "Authorization" not in second.headers
    assert json.loads(second.body) == wanted | {"model": "mine"}


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/rerank", "/v1/rerank/"])
def test_the_address_may_end_with_the_route(path):
    with serve(route(len)) as server:
        reranker("http", server, base_url=server.url + path).rank("which?", TEXTS)
    assert [request.path for request in server.requests] == ["/v1/rerank"]


def test_tei_is_asked_32_texts_at_a_time():
    texts = ["x" * count for count in range(1, 71)]
    with serve(route(len, shape="rows")) as server:
        assert reranker("tei", server).rank("which?", texts) == list(range(1, 71))
        reranker("http", server).rank("which?", texts)
    assert [len(sent(request)) for request in server.requests] == [32, 32, 6, 70]


def test_fewer_results_than_texts_leave_the_others_without_a_score():
    body = shaped([(2, 0.5)])
    with serve(lambda _: Reply(json.dumps(body).encode())) as server:
        assert reranker("http", server).rank("which?", TEXTS) == [None, None, 0.5]


@pytest.mark.parametrize("body", [b"[]", b'{"results": []}'])
def test_an_answer_without_results_has_no_score(body):
    with serve(lambda _: Reply(body)) as server:
        assert reranker("http", server).rank("which?", TEXTS) == [None, None, None]


def test_any_script_goes_over_the_wire_and_half_a_character_as_a_question_mark():
    texts = ["お茶は熱い", "чай 🍵", "half \ud83d"]
    with serve(route(len)) as server:
        reranker("http", server).rank("熱い\ud83d", texts)
    (request,) = server.requests
    assert sent(request) == ["お茶は熱い", "чай 🍵", "half ?"]
    assert json.loads(request.body)["query"] == "熱い?"


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(status=500), "answered 500"),
        (Reply(status=429, headers={"Retry-After": "0"}), "answered 429"),
        (Reply(status=401), "answered 401"),
        (Reply(status=422, body=b'{"error": "batch size"}'), "batch size"),
        (Reply(b"{}", wait=60), "in time"),
        (Reply(b'{"results": [', missing=9), "broke off"),
        (Reply(b"<html>"), "not JSON"),
        (Reply(status=302, headers={"Location": "http://169.254.169.254/"}), "not followed"),
    ],
)
def test_whatever_the_service_does_it_is_a_rerank_error(provider, reply, reason):
    with serve(lambda _: reply) as server:
        with pytest.raises(RerankError, match=reason):
            reranker(provider, server, seconds=0.3 if reply.wait else 60).rank("which?", TEXTS)
        until(lambda: server.requests)
    assert len(server.requests) == 1  # somebody waits: nothing is asked twice


@pytest.mark.parametrize(
    "body",
    [
        {},
        3,
        None,
        "results",
        {"results": 3},
        {"results": {"0": 1.0}},
        {"results": [3]},
        {"results": [{"relevance_score": 1.0}]},
        {"results": [{"index": 0}]},
        {"results": [{"index": "0", "relevance_score": 1.0}]},
        {"results": [{"index": True, "relevance_score": 1.0}]},
        {"results": [{"index": 0.0, "relevance_score": 1.0}]},
        {"results": [{"index": 3, "relevance_score": 1.0}]},
        {"results": [{"index": -1, "relevance_score": 1.0}]},
        {"results": [{"index": 0, "relevance_score": "1"}]},
        {"results": [{"index": 0, "relevance_score": None}]},
        {"results": [{"index": 0, "relevance_score": True}]},
        {"results": [{"index": 0, "relevance_score": float("nan")}]},
        {"results": [{"index": 0, "relevance_score": float("inf")}]},
        {"results": [{"index": 0, "relevance_score": 10**400}]},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": 0, "relevance_score": 2}]},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": 7, "relevance_score": 2}]},
    ],
    ids=repr,
)
def test_an_answer_of_another_shape_is_refused(body):
    with (
        serve(lambda _: Reply(json.dumps(body).encode())) as server,
        pytest.raises(RerankError, match="not understood"),
    ):
        reranker("http", server).rank("which?", TEXTS)


def test_a_service_that_is_gone_is_said():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(RerankError, match="is the service running"):
        HttpReranker("http", base_url=f"http://127.0.0.1:{port}").rank("which?", TEXTS)


def test_the_key_is_in_no_error_although_the_service_repeats_it():
    with (
        serve(lambda _: Reply(f'{{"error": "bad key {KEY}"}}'.encode(), status=401)) as server,
        pytest.raises(RerankError) as caught,
    ):
        reranker("cohere", server, api_key=KEY).rank("which?", TEXTS)
    assert KEY not in str(caught.value)
    assert KEY not in repr(reranker("cohere", server, api_key=KEY))


@pytest.mark.parametrize(("provider", "key"), [("cohere", "COHERE_API_KEY"), ("jina", "JINA_API")])
def test_without_a_key_nothing_is_sent_and_the_variable_is_named(provider, key):
    def unreachable(host, port):
        raise AssertionError(host)

    with pytest.raises(RerankError, match=key):
        HttpReranker(provider, resolve=unreachable).rank("which?", TEXTS)


def test_an_address_is_guarded_like_that_of_every_service():
    with pytest.raises(ForbiddenAddress):
        HttpReranker("http", base_url="http://169.254.1.1@localhost")
    led = HttpReranker(
        "http", base_url="https://rerank.example", resolve=lambda host, port: ["169.254.169.254"]
    )
    with pytest.raises(RerankError, match="forbidden address"):
        led.rank("which?", TEXTS)


def test_a_service_without_a_usual_address_needs_one():
    with pytest.raises(InvalidInput, match="MEMORY_MESH_RERANKER_BASE_URL"):
        HttpReranker("http")
