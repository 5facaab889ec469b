"""Embedders over HTTP: what goes over the wire, and that a bad answer never becomes a vector."""

import json
import socket

import pytest

from memory_mesh.model.errors import EmbeddingError, ForbiddenAddress
from memory_mesh.models.embedders.services import HttpEmbedder
from memory_mesh.models.http.client import Limits
from memory_mesh.testing.embedder_contract import numbers
from tests.embedding import BASES, PATHS, shaped
from tests.servers import Reply, serve

PATIENT = Limits(connect_seconds=60, read_seconds=60, total_seconds=300, attempts=1)
HASTY = Limits(read_seconds=0.3, total_seconds=1, attempts=1)
PROVIDERS = ["openai", "ollama", "cohere"]
KEY = "Zq8Lw0pV7tYb3NmKc5RdHj1Gf"


def answers(provider: str, *vectors: list[float]):
    return Reply(json.dumps(shaped(provider, vectors)).encode())


def embedder(provider: str, server, **options) -> HttpEmbedder:
    url = server.url + BASES[provider]
    return HttpEmbedder(
        provider, **({"base_url": url, "limits": PATIENT, "api_key": KEY} | options)
    )


@pytest.mark.parametrize(
    ("provider", "query", "wanted"),
    [
        (
            "openai",
            False,
            {
                "model": "m",
                "input": ["a", "."],
                "encoding_format": "float",
                "dimensions": 2,
            },
        ),
        ("ollama", True, {"model": "m", "input": ["a", "."], "dimensions": 2}),
        (
            "cohere",
            False,
            {
                "model": "m",
                "texts": ["a", "."],
                "input_type": "search_document",
                "embedding_types": ["float"],
                "output_dimension": 2,
            },
        ),
        (
            "cohere",
            True,
            {
                "model": "m",
                "texts": ["a", "."],
                "input_type": "search_query",
                "embedding_types": ["float"],
                "output_dimension": 2,
            },
        ),
    ],
)
def test_each_provider_is_asked_in_its_own_words(provider, query, wanted):
    with serve(lambda _: answers(provider, [3.0, 4.0], [0.0, 1.0])) as server:
        asked = embedder(provider, server, model="m", dimension=2)
        found = asked.embed(["a", " "], query=query)
    (request,) = server.requests
    assert request.path == PATHS[provider]
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert json.loads(request.body) == wanted
    assert [numbers(vector) for (vector,) in found.vectors] == [
        pytest.approx([0.6, 0.8]),
        [0.0, 1.0],
    ]
    assert found.space.name.startswith(f"{provider}/m/http://127.0.0.1:")  # where, too


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(status=500), "answered 500"),
        (Reply(status=429, headers={"Retry-After": "0"}), "answered 429"),
        (Reply(status=401), "answered 401"),
        (Reply(b"{}", wait=60), "in time"),
        (Reply(b'{"data": [', missing=9), "broke off"),
        (Reply(b"<html>"), "not JSON"),
        (Reply(b"{}"), "form that is not understood"),
        (Reply(b"[]"), "form that is not understood"),
        (Reply(b'{"data": 3, "embeddings": 3}'), "form that is not understood"),
        (Reply(status=302, headers={"Location": "http://169.254.169.254/"}), "not followed"),
    ],
)
def test_whatever_the_service_does_it_is_an_embedding_error(provider, reply, reason):
    limits = HASTY if reply.wait else PATIENT
    with serve(lambda _: reply) as server, pytest.raises(EmbeddingError, match=reason):
        embedder(provider, server, limits=limits).embed(["a"])


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("vectors", "reason"),
    [
        ([[1.0, 2.0, 3.0]], "vectors of 3 numbers where 2 are expected"),
        ([[]], "vectors of 0 numbers"),
        ([[float("nan"), 1.0]], "zero or not a number"),
        ([[float("inf"), 1.0]], "zero or not a number"),
        ([[0.0, 0.0]], "zero or not a number"),
        ([[10**400, 1]], "zero or not a number"),
        ([["1", "2"]], "no vector"),
        ([[True, False]], "no vector"),
        ([None], "no vector"),
        ([[1.0, 2.0], [1.0, 2.0]], "2 vectors for 1 texts"),
        ([], "0 vectors for 1 texts"),
    ],
)
def test_a_bad_vector_is_an_error_and_never_mended(provider, vectors, reason):
    with (
        serve(lambda _: answers(provider, *vectors)) as server,
        pytest.raises(EmbeddingError, match=reason),
    ):
        embedder(provider, server, dimension=2).embed(["a"])


def test_the_dimension_is_learned_once_and_then_kept():
    replies = iter([answers("ollama", [1.0, 0.0]), answers("ollama", [1.0, 0.0, 0.0])])
    with serve(lambda _: next(replies)) as server:
        asked = embedder("ollama", server)
        assert asked.embed(["a"]).space.dimension == 2
        with pytest.raises(EmbeddingError, match="where 2 are expected"):
            asked.embed(["b"])


def test_an_answer_with_one_text_twice_is_refused():
    body = {"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}
    with serve(lambda _: Reply(json.dumps(body).encode())) as server:
        asked = embedder("openai", server)
        with pytest.raises(EmbeddingError, match="not understood"):
            asked.embed(["a", "b"])


def test_many_texts_go_in_batches():
    def answer(request):
        texts = json.loads(request.body)["input"]
        return answers("ollama", *([float(text), 1.0] for text in texts))

    with serve(answer) as server:
        found = embedder("ollama", server).embed([str(number) for number in range(150)])
    assert [len(json.loads(request.body)["input"]) for request in server.requests] == [64, 64, 22]
    ratios = [a / b for a, b in (numbers(vector) for (vector,) in found.vectors)]
    assert ratios == pytest.approx(list(range(150)), rel=1e-5)


def test_a_service_that_is_not_there_is_named():
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(EmbeddingError, match=f"{url}.* refuses the connection"):
        HttpEmbedder("ollama", base_url=url, limits=PATIENT).embed(["a"])


@pytest.mark.parametrize(("provider", "key"), [("openai", "OPENAI"), ("cohere", "COHERE")])
def test_a_missing_key_is_said_before_anything_is_sent(provider, key):
    with pytest.raises(EmbeddingError, match=f"set {key}_API_KEY"):
        HttpEmbedder(provider).embed(["a"])


def test_a_name_that_leads_to_metadata_is_not_asked():
    asked = HttpEmbedder(
        "openai", api_key=KEY, resolve=lambda *_: ["169.254.169.254"], limits=PATIENT
    )
    with pytest.raises(EmbeddingError, match="forbidden address"):
        asked.embed(["a"])


@pytest.mark.parametrize(
    "url", ["http://me:pass@localhost:1", "file:///etc/passwd", "http://0x7f.1", "localhost:11434"]
)
def test_an_address_that_is_none_is_refused_at_once(url):
    with pytest.raises(ForbiddenAddress) as caught:
        HttpEmbedder("ollama", base_url=url)
    assert "pass@" not in str(caught.value)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_error_and_no_representation_holds_the_key(provider):
    said = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}).encode()
    with serve(lambda _: Reply(said, status=401)) as server:
        asked = embedder(provider, server)
        with pytest.raises(EmbeddingError) as caught:
            asked.embed(["a"])
    shown = f"{caught.value} {caught.value!r} {asked!r} {caught.value.__cause__!r}"
    assert "Incorrect" in shown
    assert not any(KEY[at : at + 8] in shown for at in range(len(KEY) - 7))


def test_a_query_does_not_wait_long():
    with serve(lambda _: Reply(b"{}", wait=60)) as server:
        asked = embedder("ollama", server, limits=Limits(read_seconds=0.2, attempts=1))
        with pytest.raises(EmbeddingError):
            asked.embed(["a"], query=True)
        assert server.answered == []  # the one minute is not over
