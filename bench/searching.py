"""Search beside the bare FTS5 statement, at two sizes, and whether it finds what is there.

The bare side asks the same file the analyzed terms of the same question, joined by OR, the best ten
by rank. Both sides have the same page cache; ours answers with ten loaded memories, cache off.
"""

import random
import sqlite3
import statistics
from collections.abc import Iterable
from pathlib import Path

from bench import corpus, measure, stores
from bench.measure import Figures, Times, say
from memory_mesh.sync import MemoryMesh
from memory_mesh.text import analyzer

_ROUNDS = 3  # over all questions; of each question the median counts
_CACHE_KIB = 8_192  # as ours
_ITEMS = 200  # known items looked for
_GROUPS = {"common": (0,), "rare": (1,), "mixed": (2, 3)}  # a question's line modulo 4


class Bare:
    """A connection of our own to the same file."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")

    def search(self, terms: Iterable[str]) -> list[int]:
        """The ten best rows that hold any of the terms."""
        asked = " OR ".join(f'"{term}"' for term in terms)
        found = self._db.execute(
            "SELECT rowid FROM live WHERE live MATCH ? ORDER BY rank LIMIT 10", (asked,)
        )
        return [number for (number,) in found]

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()


def against_bare(folder: Path) -> Figures:
    """The bar: a search costs at most one and a half times the bare statement."""
    questions = corpus.queries()
    terms = [analyzer.query_terms(question) for question in questions]
    bare = Bare(stores.file_of(folder))
    rounds: list[tuple[Times, Times]] = []
    with stores.keyword_mesh(folder) as mesh:
        for turn in range(_ROUNDS):
            timed = measure.alternate(
                len(questions),
                lambda number: mesh.search(questions[number], use_cache=False),
                lambda number: bare.search(terms[number]),
            )
            rounds.append(timed)
            say(f"  {folder.name}: round {turn + 1} of {_ROUNDS} against bare FTS5")
    bare.close()
    ours_s, bare_s = (_medians(side[which].wall for side in rounds) for which in (0, 1))
    ours_cpu, bare_cpu = (_medians(side[which].cpu for side in rounds) for which in (0, 1))
    figures: Figures = {
        "search_p50_ms": measure.median_ms(ours_s),
        "search_p95_ms": measure.percentile_ms(ours_s, 0.95),
        "bare_p50_ms": measure.median_ms(bare_s),
        "bare_p95_ms": measure.percentile_ms(bare_s, 0.95),
        "ratio_of_medians": measure.ratio_of_medians(ours_s, bare_s),
        "median_ratio": measure.median_ratio(ours_s, bare_s),
        "cpu_ratio_of_medians": measure.ratio_of_medians(ours_cpu, bare_cpu),
        "cpu_median_ratio": measure.median_ratio(ours_cpu, bare_cpu),
    }
    for group, lines in _GROUPS.items():
        chosen = [number for number in range(len(questions)) if number % 4 in lines]
        ours_g, bare_g = ([side[number] for number in chosen] for side in (ours_s, bare_s))
        figures[f"{group}_search_p50_ms"] = measure.median_ms(ours_g)
        figures[f"{group}_bare_p50_ms"] = measure.median_ms(bare_g)
        figures[f"{group}_median_ratio"] = measure.median_ratio(ours_g, bare_g)
    return figures


def _medians(rounds: Iterable[list[float]]) -> list[float]:
    """Of each question the median of its rounds."""
    return [statistics.median(times) for times in zip(*rounds, strict=True)]


def across_sizes(small: Path, large: Path) -> Figures:
    """The bar: ten times the memories cost at most four times the search."""
    questions = corpus.queries()
    large_s, small_s, large_cpu, small_cpu = (list[float]() for _ in range(4))
    with stores.keyword_mesh(small) as one, stores.keyword_mesh(large) as two:
        for turn in range(_ROUNDS + 1):
            more, less = measure.alternate(
                len(questions),
                lambda number: two.search(questions[number], use_cache=False),
                lambda number: one.search(questions[number], use_cache=False),
            )
            if turn:  # the first round only warms the file cache
                large_s, small_s = large_s + more.wall, small_s + less.wall
                large_cpu, small_cpu = large_cpu + more.cpu, small_cpu + less.cpu
            say(f"  round {turn} of {_ROUNDS} at both sizes")
    return {
        "large_p50_ms": measure.median_ms(large_s),
        "large_p95_ms": measure.percentile_ms(large_s, 0.95),
        "small_p50_ms": measure.median_ms(small_s),
        "large_over_small": measure.ratio_of_medians(large_s, small_s),
        "median_ratio": measure.median_ratio(large_s, small_s),
        "cpu_large_over_small": measure.ratio_of_medians(large_cpu, small_cpu),
    }


def known_items(folder: Path, memories: int) -> Figures:
    """How often a text is among the ten best for some of its own words, by us and by bare FTS5."""
    chance = random.Random(f"{corpus.SEED} items")
    figures: Figures = {}
    bare = Bare(stores.file_of(folder))
    with stores.keyword_mesh(folder) as mesh:
        for own, foreign in ((3, 0), (5, 0), (5, 2)):
            numbers = chance.sample(range(memories), _ITEMS)
            items = list(corpus.known_items(numbers, own, foreign))
            name = f"{own}_words" + (f"_and_{foreign}_foreign" if foreign else "")
            figures[f"found_by_{name}"] = _found(mesh, items)
            figures[f"bare_found_by_{name}"] = _bare_found(bare, folder, items)
            say(f"  {folder.name}: known items by {name} done")
    bare.close()
    return figures


def _found(mesh: MemoryMesh, items: list[tuple[str, str]]) -> float:
    answers = [
        text in {hit.content for hit in mesh.search(question, use_cache=False)}
        for question, text in items
    ]
    return measure.rounded(sum(answers) / len(answers))


def _bare_found(bare: Bare, folder: Path, items: list[tuple[str, str]]) -> float:
    db = sqlite3.connect(stores.file_of(folder))
    hits = 0
    for question, text in items:
        numbers = bare.search(analyzer.query_terms(question))
        marks = ", ".join("?" * len(numbers))
        found = db.execute(f"SELECT content FROM text WHERE number IN ({marks})", numbers)
        hits += (text,) in found.fetchall()
    db.close()
    return measure.rounded(hits / len(items))
