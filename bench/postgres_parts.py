"""What is measured on PostgreSQL: each part beside what it is compared with, in turns."""

import os
import random
import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from bench import bars_writing, corpus, measure, memories, postgres_quality as quality, prepared
from bench.measure import Figures, Skipped, rounded
from bench.postgres_bare import Record, Watched, bare, recording
from bench.postgres_server import SMALL, Databases
from bench.postgres_stores import SECRET, on_postgres, on_sqlite
from memory_mesh.evaluation import load_records, records
from memory_mesh.model import Lens
from memory_mesh.sync import MemoryMesh
from memory_mesh.text import analyzer

READER: dict[str, Any] = {"across": prepared.EVERYTHING, "use_cache": False, "limit": 10}
_WARM = 10
_BASE, _ADDS = 1_000, 100
_LOADED = 1_024


def quality_part(databases: Databases, questions: int, data: Path | None) -> Figures:
    """The same conversations on both ledgers, and whether they answer alike."""
    folder = data or Path(os.environ.get("MEMORY_MESH_EVAL_DATA", ""))
    if not (folder / "locomo").is_dir():
        raise Skipped("LoCoMo is not here: set MEMORY_MESH_EVAL_DATA")
    found = records.read(folder / "locomo")
    every = {question.tenant for question in found.questions}
    turns = [each for _, listed in found.tenants(every) for each in listed]
    asked = random.Random(corpus.SEED).sample([each.text for each in found.questions], questions)
    name = databases.holding(SMALL)
    with ExitStack() as stack:
        work = databases.work / "quality"
        one = stack.enter_context(on_sqlite(work / "files", namespace="talks"))
        url = databases.login(databases.copy(name))
        two = stack.enter_context(on_postgres(url, work / "keys", namespace="talks"))
        for mesh in (one, two):
            if not mesh.stats().memories:
                load_records.store(mesh, turns)
        lens = Lens(datetime.now(UTC), across=frozenset(quality.ACROSS))
        alike = quality.compare(one, two, asked, memories.Made(), lens)
    for line in alike.different[:5]:
        measure.say(f"  not alike: {line}")
    return {"memories": len(turns), **alike.figures()}


def commit_part(databases: Databases, adds: int = _ADDS) -> Figures:
    """A commit beside its own statements, and a whole add beside one on SQLite."""
    name = databases.holding(_BASE)
    items = list(memories.items(_BASE, _BASE + adds + _WARM))
    source, ours, again = (databases.copy(name) for _ in range(3))
    with ExitStack() as stack:
        record = stack.enter_context(recording())
        mesh, ledger = stack.enter_context(_watched(databases, source, record))
        sent = []
        for item in items:
            bars_writing.put(mesh, item)
            sent.append(record.taken())
        mesh, ledger = stack.enter_context(_watched(databases, ours, record))
        send = stack.enter_context(bare(databases.login(again)))
        files = prepared.scratch(
            databases.work, prepared.plain(databases.work, _BASE), "postgres-adds"
        )
        small = stack.enter_context(on_sqlite(files))
        commits, whole, bares, sqlite = (list[float]() for _ in range(4))
        for number, item in enumerate(items):
            whole.append(measure.seconds(partial(bars_writing.put, mesh, item)))
            commits.append(ledger.seconds)
            bares.append(measure.seconds(partial(send, sent[number])))
            sqlite.append(measure.seconds(partial(bars_writing.put, small, item)))
    sides = [times[_WARM:] for times in (commits, bares, whole, sqlite)]
    return {
        "commit_over_bare": measure.ratio_of_medians(sides[0], sides[1]),
        "commit_ms": measure.median_ms(sides[0]),
        "bare_ms": measure.median_ms(sides[1]),
        "statements": statistics.median(len(each) for each in sent),
        "add_ms": measure.median_ms(sides[2]),
        "add_sqlite_ms": measure.median_ms(sides[3]),
        "add_over_sqlite": measure.ratio_of_medians(sides[2], sides[3]),
    }


def hybrid_part(databases: Databases, memories_: int, namespaces: int) -> Figures:
    """A hybrid search of a namespace among others, beside its own statements."""
    name = databases.holding(memories_, namespaces)
    questions = corpus.queries()[:50]
    with ExitStack() as stack:
        mesh = stack.enter_context(on_postgres(databases.login(name), databases.work / "keys"))
        with recording() as record:
            sent = []
            for question in questions:
                record.taken()
                mesh.search(question, **READER)
                sent.append(record.taken())
        send = stack.enter_context(bare(databases.login(name)))
        for statements in sent[:_WARM]:
            send(statements)
        ours, theirs = measure.alternate(
            len(questions),
            lambda number: mesh.search(questions[number], **READER),
            lambda number: send(sent[number]),
        )
    return {
        "search_over_bare": measure.ratio_of_medians(ours.wall, theirs.wall),
        "search_ms": measure.median_ms(ours.wall),
        "search_cpu_ms": measure.median_ms(ours.cpu),
        "bare_ms": measure.median_ms(theirs.wall),
        "statements": statistics.median(len(each) for each in sent),
    }


def namespaces_part(
    databases: Databases, few: int, many: tuple[int, int], searches: int = 150
) -> Figures:
    """Searches in namespaces of a thousand memories, in a database of few and of many.

    `many` says how many memories the database has in `default`, and how many namespaces beside it.
    """
    chance = random.Random(f"{corpus.SEED} postgres namespaces")
    questions = corpus.queries()
    with ExitStack() as stack:
        sides = [
            _any_namespace(stack, databases, databases.holding(memories_, count), count)
            for memories_, count in ((SMALL, few), many)
        ]
        asked = [(chance.random(), chance.choice(questions)) for _ in range(searches + 2 * _WARM)]
        for place, question in asked[searches:]:
            for side in sides:
                side(place, question)
        less, more = measure.alternate(
            searches, lambda n: sides[0](*asked[n]), lambda n: sides[1](*asked[n])
        )
    return {
        "many_over_few": measure.ratio_of_medians(more.wall, less.wall),
        "few_ms": measure.median_ms(less.wall),
        "many_ms": measure.median_ms(more.wall),
    }


def words_part(databases: Databases, size: int) -> Figures:
    """Keyword searches for common words, and for rare ones, beside SQLite's."""
    files = prepared.plain(databases.work, size)
    common = [" ".join(words) for words in _common()]
    rare = memories.rare_questions(40, size)
    found: Figures = {}
    with ExitStack() as stack:
        one = stack.enter_context(on_sqlite(files))
        url = databases.login(databases.holding(size))
        two = stack.enter_context(on_postgres(url, databases.work / "keys"))
        lens = Lens(datetime.now(UTC), across=frozenset(quality.ACROSS))
        for kind, questions in (("common", common), ("rare", rare)):
            alike = sum(
                quality.by_words(one, each, lens).found == quality.by_words(two, each, lens).found
                for each in questions[:_WARM]
            )
            ours, theirs = measure.alternate(
                len(questions),
                partial(_by_words, two, questions, lens),
                partial(_by_words, one, questions, lens),
            )
            found |= {
                f"{kind}_over_sqlite": measure.ratio_of_medians(ours.wall, theirs.wall),
                f"{kind}_ms": measure.median_ms(ours.wall),
                f"{kind}_sqlite_ms": measure.median_ms(theirs.wall),
                f"{kind}_identical_of_{_WARM}": alike,
            }
    return found


def sizes_part(databases: Databases, sizes: list[int]) -> Figures:
    """A hybrid search on both ledgers at each size, and how quickly memories are loaded."""
    found: Figures = {}
    questions = corpus.queries()[:30]
    for size in sizes:
        files = prepared.plain(databases.work, size)
        with ExitStack() as stack:
            one = stack.enter_context(on_sqlite(files))
            url = databases.login(databases.holding(size))
            two = stack.enter_context(on_postgres(url, databases.work / "keys"))
            for question in questions[:_WARM]:
                one.search(question, **READER)
                two.search(question, **READER)
            ours, theirs = measure.alternate(
                len(questions),
                partial(_search, two, questions),
                partial(_search, one, questions),
            )
        found |= {
            f"bytes_a_memory_{size}": rounded(databases.bytes(databases.holding(size)) / size),
            f"bytes_a_memory_{size}_sqlite": rounded(prepared.file_of(files).stat().st_size / size),
            f"search_{size}_ms": measure.median_ms(ours.wall),
            f"search_{size}_sqlite_ms": measure.median_ms(theirs.wall),
            f"search_{size}_over_sqlite": measure.ratio_of_medians(ours.wall, theirs.wall),
        }
    return found | _loading(databases)


def _loading(databases: Databases) -> Figures:
    """Memories with vectors a second, stored by `add_many` on both, batch by batch in turns."""
    items = list(memories.items(_BASE, _BASE + _LOADED))
    step = _LOADED // 4
    with ExitStack() as stack:
        files = prepared.scratch(
            databases.work, prepared.plain(databases.work, _BASE), "postgres-load"
        )
        one = stack.enter_context(on_sqlite(files))
        url = databases.login(databases.copy(databases.holding(_BASE)))
        two = stack.enter_context(on_postgres(url, databases.work / "keys"))
        batches = [items[at : at + step] for at in range(0, _LOADED, step)]
        ours, theirs = measure.alternate(
            len(batches), lambda n: two.add_many(batches[n]), lambda n: one.add_many(batches[n])
        )
    return {
        "loaded_a_second": rounded(step / statistics.median(ours.wall)),
        "loaded_a_second_sqlite": rounded(step / statistics.median(theirs.wall)),
    }


@contextmanager
def _watched(
    databases: Databases, name: str, record: Record
) -> Iterator[tuple[MemoryMesh, Watched]]:
    """A mesh whose commits are timed."""
    with on_postgres(databases.login(name), databases.work / "keys") as mesh:
        store = mesh._opened()  # noqa: SLF001  # its commits are watched
        store.ledger.close()
        ledger = Watched(databases.login(name), store.clock, secret=SECRET)
        ledger.record, store.ledger = record, ledger
        yield mesh, ledger


def _any_namespace(
    stack: ExitStack, databases: Databases, name: str, count: int
) -> Callable[[float, str], object]:
    """What searches one of so many namespaces, named by a share of one."""
    mesh = stack.enter_context(on_postgres(databases.login(name), databases.work / "keys"))
    views: dict[int, MemoryMesh] = {}

    def search(place: float, question: str) -> object:
        number = int(place * count)
        if number not in views:
            views[number] = mesh.view(namespace=f"team-{number:05}")
        return views[number].search(question, **READER)

    return search


def _by_words(mesh: MemoryMesh, questions: list[str], lens: Lens, number: int) -> object:
    return quality.by_words(mesh, questions[number], lens)


def _search(mesh: MemoryMesh, questions: list[str], number: int) -> object:
    return mesh.search(questions[number], **READER)


def _common() -> list[tuple[str, ...]]:
    """Questions of words that very many texts hold."""
    words = [word for word in corpus.vocabulary()[:60] if analyzer.query_terms(word)]
    chance = random.Random(f"{corpus.SEED} common words")
    return [tuple(chance.sample(words, chance.choice((1, 2, 3)))) for _ in range(40)]
