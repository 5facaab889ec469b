"""The chain: who answers, who is spared, what is remembered and what is said about it."""

import logging
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from memory_mesh.model import Embedding, Space
from memory_mesh.model.errors import EmbeddingError
from memory_mesh.models.embedders.chain import ENTRIES, Chain

MINUTE = timedelta(seconds=60)


class Scripted:
    """An embedder that is up or down as told, and counts what it is asked."""

    def __init__(self, name: str, dimension: int = 2, *, windows: int = 1) -> None:
        self.space = Space("scripted", name, "1", dimension, 256)
        self.asked = list[tuple[str, ...]]()
        self.failure: str | None = None
        self.windows, self.closed = windows, False

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        self.asked.append(tuple(texts))
        if self.failure is not None:
            raise EmbeddingError(self.failure)
        data = b"\0\0\x80?" * self.space.dimension
        return Embedding(self.space, tuple((data,) * self.windows for _ in texts))

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def primary() -> Scripted:
    return Scripted("one")


@pytest.fixture
def fallback() -> Scripted:
    return Scripted("two", 3)


@pytest.fixture
def chain(primary, fallback, clock) -> Chain:
    return Chain({"openai one": primary, "local two": fallback}, clock)


@pytest.mark.req("R-000-192")
def test_the_primary_is_asked_first(chain, primary, fallback):
    assert chain.embed(["a"]) == Embedding(primary.space, ((b"\0\0\x80?" * 2,),), None)
    assert fallback.asked == []


@pytest.mark.req("R-000-193", "R-000-194")
def test_a_fallback_answers_with_a_warning_and_a_note(chain, primary, fallback, caplog):
    primary.failure = "the service refuses the connection"
    found = chain.embed(["a"])
    assert found.space == fallback.space
    assert found.note == (
        "the primary embedder openai one is down: the service refuses the connection; "
        "answered by local two"
    )
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert caplog.records[0].name == "memory_mesh"
    assert caplog.records[0].getMessage() == found.note


@pytest.mark.req("R-000-193")
def test_fallbacks_are_asked_in_order(primary, fallback, clock):
    third = Scripted("three")
    chain = Chain({"one": primary, "two": fallback, "three": third}, clock)
    primary.failure = fallback.failure = "down"
    assert chain.embed(["a"]).space == third.space
    assert primary.asked == fallback.asked == third.asked == [("a",)]


@pytest.mark.req("R-000-194")
def test_a_switch_is_logged_once_each_way(chain, primary, clock, caplog):
    caplog.set_level(logging.INFO, "memory_mesh")
    for step in range(5):
        primary.failure = "down"
        chain.embed([f"a{step}"])
        clock.advance(MINUTE)
    primary.failure = None
    assert chain.embed(["b"]).note is None
    chain.embed(["c"])
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


@pytest.mark.req("R-000-195")
def test_when_all_fail_the_error_says_why_and_what_to_do(chain, primary, fallback):
    primary.failure, fallback.failure = "no route", "no model"
    with pytest.raises(EmbeddingError, match="memory-mesh models pull") as caught:
        chain.embed(["a"])
    assert "openai one: no route; local two: no model" in str(caught.value)


def test_a_failed_embedder_is_spared_for_a_minute(chain, primary, clock):
    primary.failure = "down"
    chain.embed(["a"])
    primary.failure = None
    clock.advance(MINUTE - timedelta(milliseconds=1))
    assert chain.embed(["b"]).note is not None
    assert primary.asked == [("a",)]
    clock.advance(timedelta(milliseconds=1))
    assert chain.embed(["c"]).note is None


def test_a_cool_down_starts_after_the_attempt(chain, primary: Scripted, clock):
    slow = primary.embed

    def embed(texts: Sequence[str], *, query: bool = False) -> Embedding:
        clock.advance(MINUTE)
        return slow(texts, query=query)

    primary.embed = embed  # type: ignore[method-assign]  # as slow as a time-out
    primary.failure = "did not answer in time"
    chain.embed(["a"])
    chain.embed(["b"])
    assert primary.asked == [("a",)]


def test_a_clock_that_goes_back_does_not_prolong_the_pause(chain, primary, clock):
    primary.failure = "down"
    chain.embed(["a"])
    primary.failure = None
    clock.advance(-timedelta(days=1))
    assert chain.embed(["b"]).note is None


@pytest.mark.req("R-000-196")
def test_a_text_is_asked_for_once(chain, primary, clock):
    chain.embed(["a", "b", "a"])
    clock.advance(timedelta(days=3650))
    chain.embed(["b", "c", "a"])
    chain.embed(["a"], query=True)
    assert primary.asked == [("a", "b"), ("c",), ("a",)]


@pytest.mark.req("R-000-196")
def test_a_thousand_texts_are_remembered_and_the_least_used_goes(chain, primary):
    chain.embed([f"text {number}" for number in range(ENTRIES)])
    chain.embed(["text 0"])
    chain.embed(["one more"])
    primary.asked.clear()
    chain.embed(["text 0", "text 2", "text 1"])
    assert primary.asked == [("text 1",)]


@pytest.mark.req("R-000-196")
def test_each_embedder_has_its_own_memory(chain, primary, fallback, clock):
    chain.embed(["a"])
    primary.failure = "down"
    assert chain.embed(["a", "b"]).space == fallback.space
    assert fallback.asked == [("a", "b")]
    assert chain.embed(["a"]).space == primary.space, "what is remembered is answered while down"
    primary.failure = None
    clock.advance(MINUTE)
    chain.embed(["a", "b"])
    assert primary.asked[-1] == ("b",)


@pytest.mark.req("R-000-260")
def test_nothing_remembered_is_written_or_kept_after_close(chain, primary, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chain.embed(["a secret text"])
    assert list(tmp_path.rglob("*")) == []
    assert b"a secret text" not in repr(vars(chain._services[0].cache)).encode()
    chain.close()
    chain.embed(["a secret text"])
    assert len(primary.asked) == 2
    assert primary.closed


def test_texts_of_many_windows_do_not_fill_the_memory(clock):
    endless = Scripted("one", windows=9)
    chain = Chain({"one": endless}, clock)
    chain.embed(["a"])
    chain.embed(["a"])
    assert len(endless.asked) == 2


def test_a_replaced_model_gets_none_of_the_old_vectors(chain, primary):
    chain.embed(["a"])
    primary.space = Space("scripted", "one", "2", 5, 256)
    found = chain.embed(["a", "b"])
    assert found.space == primary.space
    assert {len(vector) for (vector,) in found.vectors} == {20}
    assert chain.embed(["a"]).space == primary.space


def test_an_hour_of_random_failures_never_mixes_spaces(chain, primary, fallback, clock):
    chance = random.Random(7)
    answered = failed = 0
    for _ in range(3600):
        primary.failure = "down" if chance.random() < 0.4 else None
        fallback.failure = "down" if chance.random() < 0.2 else None
        if chance.random() < 0.01:
            primary.space = Space("scripted", "one", "1", chance.randint(2, 9), 256)
        texts = [f"text {chance.randrange(300)}" for _ in range(chance.randint(1, 5))]
        try:
            found = chain.embed(texts)
        except EmbeddingError:
            failed += 1
        else:
            answered += 1
            assert len(found.vectors) == len(texts)
            assert {len(vector) for (vector,) in found.vectors} == {4 * found.space.dimension}
        clock.advance(timedelta(seconds=1))
    assert answered > 1500
    assert failed > 10


def test_threads_share_one_chain(chain, primary):
    def ask(number: int) -> int:
        return len(chain.embed([f"text {number % 50}", f"text {number % 7}"]).vectors)

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(ask, range(500))) == {2}


def test_no_texts_ask_for_the_space(chain, primary):
    assert chain.embed([]) == Embedding(primary.space, ())
