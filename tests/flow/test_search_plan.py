"""What a search costs: how many statements, how many transactions, one analysis of the question."""

import json
import random
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memory_mesh.model import Embedding, Scope, Space
from memory_mesh.search.rank import LONG_TEXT_CHARS
from memory_mesh.search.ranking import words as ranking_words
from memory_mesh.sync import MemoryMesh
from memory_mesh.text import analyzer

GOLDEN = Path(__file__).parent.parent / "golden/search_plan.json"
MOST = 25  # statements of an ordinary search by words and by meaning, with sessions
SPACE = Space("test", "letters", "1", dimension=26, max_tokens=256)
PLACES = "harbour garden kitchen office station library museum market bridge tower"
THINGS = "lamp bicycle umbrella piano ladder carpet camera kettle mirror basket"


class Letters:
    """A vector of how often each letter occurs."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """One window a text."""
        import numpy as np

        del query
        found = []
        for text in texts:
            counts = np.array([1.0 + text.lower().count(chr(97 + at)) for at in range(26)])
            found.append(((counts / np.linalg.norm(counts)).astype("<f4").tobytes(),))
        return Embedding(SPACE, tuple(found))

    def close(self) -> None:
        """Nothing to release."""


class Statements:
    """The top-level statements of every connection that is opened while it is at work."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def take(self) -> list[str]:
        """Those since the last time."""
        taken, self.seen = self.seen, []
        return taken

    def note(self, statement: str) -> None:
        if not statement.startswith("--"):  # what a trigger or a virtual table runs inside
            self.seen.append(statement)


@pytest.fixture
def statements(monkeypatch) -> Statements:
    told, connect = Statements(), sqlite3.connect

    def traced(*args, **named):
        db = connect(*args, **named)
        db.set_trace_callback(told.note)
        return db

    monkeypatch.setattr(sqlite3, "connect", traced)
    return told


@pytest.fixture
def store(tmp_path, statements, clock) -> Iterator[Callable[..., MemoryMesh]]:
    """400 turns of ten sessions in four projects, opened with or without vectors."""
    opened: list[MemoryMesh] = []

    def open_store(*, vectors: bool = False) -> MemoryMesh:
        embedder = {"custom_embedder": Letters()} if vectors else {"embedder": "none"}
        mesh = MemoryMesh(db_dir=tmp_path / "store", clock=clock, **embedder)
        opened.append(mesh)
        mesh.add_many(list(drafts()))
        mesh.search("the station")  # opens the file and prepares
        statements.take()
        return mesh

    yield open_store
    for mesh in opened:
        mesh.close()


def drafts() -> Iterator[dict[str, object]]:
    chance = random.Random(7)
    for number in range(400):
        place, thing = chance.choice(PLACES.split()), chance.choice(THINGS.split())
        extra = "kubernetes" if number % 40 == 0 else f"mark{number}"
        project, session = f"p{number % 4}", f"s{number % 10}"
        yield {
            "content": f"In the {place} stands a {thing}, said note {number} with {extra}.",
            "scope": Scope(project=project if number % 3 else None, session=session),
            "order": number,
            "speaker": ("Ann", "Bob")[number % 2],
        }


ALL = {"across": ["project", "agent", "session"]}
MINE = {"scope": Scope("p1", None, "s1")}
QUESTIONS: dict[str, tuple[str, dict[str, Any], int]] = {
    "rare words": ("mark17 mark23", ALL, 15),
    "common words": ("note harbour lamp mark41", ALL, 17),
    "a misspelt word": ("umbrela in the harbour", ALL, 20),
    "another name": ("k8s in the harbour", ALL, 16),
    "no word that is stored": ("zzyzx", ALL, 22),
    "scoped": ("where is the lamp of Ann", MINE, 16),
    "all words of everybody": ("where did Ann put the piano", ALL, 15),
}


@pytest.mark.parametrize("which", QUESTIONS)
def test_a_search_by_words_takes_one_transaction_and_few_statements(store, statements, which):
    question, options, most = QUESTIONS[which]
    store().search(question, keyword_only=True, **options)
    asked = statements.take()
    assert len(asked) <= most, "\n".join(asked)
    assert asked.count("BEGIN") == 1


@pytest.mark.parametrize("which", QUESTIONS)
def test_a_search_by_meaning_too_takes_a_transaction_before_the_vector_and_one_after(
    store, statements, which
):
    question, options, by_words = QUESTIONS[which]
    store(vectors=True).search(question, **options)
    asked = statements.take()
    guesses = {"a misspelt word", "no word that is stored"}
    assert len(asked) <= (by_words + 8 if which in guesses else MOST), "\n".join(asked)
    assert asked.count("BEGIN") == 2


def test_a_search_without_cache_and_names_takes_one_transaction(store, statements):
    store(vectors=True).search("where is 17", use_cache=False, **ALL)
    assert statements.take().count("BEGIN") == 1


@pytest.mark.parametrize("options", [ALL, {}, MINE])
def test_a_cached_answer_reads_the_head_alone(store, statements, options):
    mesh = store(vectors=True)
    first = mesh.search("where is the lamp of Ann", **options)
    statements.take()
    assert mesh.search("where is the lamp of Ann", **options) == first
    assert [each.split()[0] for each in statements.take()] == ["BEGIN", "SELECT", "COMMIT"]


@pytest.mark.parametrize("profile", ["mesh", "composite", "lane"])
@pytest.mark.parametrize("vectors", [False, True])
def test_a_question_is_analysed_once(store, profile, vectors):
    mesh = store(vectors=vectors)
    mesh.add("A long note on the lamp. " + "It says much of the harbour and its lamps. " * 20)
    question = "where does it say much of the lamp of Ann"
    with calls_of(analyzer.query_terms) as asked:
        hits = mesh.search(question, profile=profile, limit=450, **ALL)
    assert any(len(hit.content) > LONG_TEXT_CHARS for hit in hits)  # its best part is looked for
    assert asked.count(question) == 1


@contextmanager
def calls_of(function) -> Iterator[list[object]]:
    """The first argument of each call of a function."""
    found: list[object] = []
    code = function.__code__

    def note(frame, event, _argument) -> None:
        if event == "call" and frame.f_code is code:
            found.append(frame.f_locals[code.co_varnames[0]])

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)


ASKED: list[tuple[str, dict[str, Any]]] = [
    ("mark17 mark23", ALL),
    ("the harbour", ALL),
    ("the harbour", MINE),
    ("umbrela in the harbour", ALL),
    ("umbrela in the harbour", MINE),
    ("k8s in the garden", ALL),
    ("k8s", {}),
    ("where did Ann put the piano", ALL),
    ("where did Ann put the piano", MINE),
    ("note said stands", ALL),
    ("note said stands kettle", {"filter": "speaker = 'Bob'", **ALL}),
    ("kettle bicycle museum", {"profile": "composite", **ALL}),
    ("kettle bicycle museum", {"profile": "rrf", **ALL}),
    ("kettle bicycle museum", {"profile": "lane", **ALL}),
    ("zzyzx", ALL),
]


@pytest.mark.parametrize("budget", [5_000, 30])
def test_answers_are_those_on_record(store, monkeypatch, golden_answers, budget):
    monkeypatch.setattr(ranking_words, "BUDGET", budget)
    mesh = store()
    for number, (question, options) in enumerate(ASKED):
        hits = mesh.search(question, keyword_only=True, limit=5, **options)
        found = {
            "question": question,
            "dropped": list(hits.explanation.dropped),
            "read_as": {term: list(words) for term, words in hits.explanation.read_as.items()},
            "found_by_keyword": hits.explanation.found_by_keyword,
            "hits": [[hit.memory.order, float(f"{hit.score:.9g}")] for hit in hits],
        }
        assert found == golden_answers[str(budget)][number]


@pytest.fixture
def golden_answers() -> dict[str, list[dict[str, object]]]:
    """What searches answered before their plan was lifted out of the SQLite ledger."""
    answers: dict[str, list[dict[str, object]]] = json.loads(GOLDEN.read_text("utf-8"))
    return answers
