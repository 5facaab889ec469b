"""Many namespaces on one machine: whether a search in one feels the others.

Two patterns, each beside a store that holds nothing but one such namespace. Hot: the same namespace
again and again. Cold: another namespace each time, so that its file is never among the 64 open
ones; the lone namespace is closed after each search to match. No recall blocks here: a file that is
closed at once would be written to at once.
"""

import random
import time
from itertools import islice
from pathlib import Path

from bench import corpus, measure, stores
from bench.measure import Figures, say
from memory_mesh.ledgers.sqlite.ledger import SqliteLedger
from memory_mesh.model import Lens, Query
from memory_mesh.platform.cache import SearchCache
from memory_mesh.platform.ids import MonotonicIds, SystemClock
from memory_mesh.search.recall import recall
from memory_mesh.write.access import Access

_SEARCHES = 1_000  # in each pattern


def loaded(folder: Path, namespaces: int, memories: int) -> float | None:
    """A store with so many namespaces; seconds each took, None when all were there."""
    with stores.keyword_mesh(folder) as mesh:
        there = mesh.care.namespaces()
    done = max(0, len(there) - 1)  # the last one may have been interrupted
    texts = corpus.texts(done * memories, namespaces * memories)
    start = time.perf_counter()
    for number in range(done, namespaces):
        with stores.keyword_mesh(folder, _name(number)) as mesh:
            mesh.add_many(islice(texts, memories))
        if number % 500 == 499:
            say(f"  {folder.name}: {number + 1:,} of {namespaces:,} namespaces")
    made = namespaces - done
    return (time.perf_counter() - start) / made if made > 1 else None


def against_one(many: Path, one: Path, namespaces: int) -> Figures:
    """The bar: the median search within one and a half times of one namespace alone."""
    chance = random.Random(f"{corpus.SEED} namespaces")
    questions = corpus.queries()
    asked = [
        (_name(chance.randrange(namespaces)), chance.choice(questions)) for _ in range(_SEARCHES)
    ]
    crowd, alone = (SqliteLedger(folder, SystemClock()) for folder in (many, one))
    hot, hot_alone = measure.alternate(
        _SEARCHES,
        lambda number: _search(crowd, _name(0), asked[number][1]),
        lambda number: _search(alone, _name(0), asked[number][1]),
    )
    say("  hot searches done")
    alone.close()
    cold, cold_alone = measure.alternate(
        _SEARCHES,
        lambda number: _search(crowd, *asked[number]),
        lambda number: _search_once(one, asked[number][1]),
    )
    crowd.close()
    return {
        "hot_p50_ms": measure.median_ms(hot.wall),
        "hot_alone_p50_ms": measure.median_ms(hot_alone.wall),
        "hot_ratio": measure.ratio_of_medians(hot.wall, hot_alone.wall),
        "cold_p50_ms": measure.median_ms(cold.wall),
        "cold_alone_p50_ms": measure.median_ms(cold_alone.wall),
        "cold_ratio": measure.ratio_of_medians(cold.wall, cold_alone.wall),
        "opening_ms": measure.rounded(measure.median_ms(cold.wall) - measure.median_ms(hot.wall)),
        "bytes_per_namespace": stores.file_of(one, _name(0)).stat().st_size,
    }


def _name(number: int) -> str:
    return f"team-{number:05}"


def _search(ledger: SqliteLedger, namespace: str, question: str) -> None:
    clock = SystemClock()
    access = Access(
        ledger=ledger,
        ids=MonotonicIds(clock),
        cache=SearchCache(),
        namespace=namespace,
        agent="bench",
        yamo=False,
    )
    recall(access, Query(question, Lens(clock.now()), keyword_only=True), use_cache=False)


def _search_once(folder: Path, question: str) -> None:
    """Open the file, search and close it, as a full table of open files does."""
    ledger = SqliteLedger(folder, SystemClock(), allow_network=True)
    _search(ledger, _name(0), question)
    ledger.close()
