"""What a filter costs: a search among the 1 % that an equality on a metadata key selects.

    python -m bench.filtering [--memories 20000] [--store FOLDER]

Prints the CPU time of a filtered search as a ratio to the same search without a filter, by keyword
and with hash vectors, and what the marks of metadata add to a store and to an add.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench import corpus
from bench.meaning import Synthetic
from memory_mesh.model import Space
from memory_mesh.sync import MemoryMesh

SHARE = 100  # one memory in so many has each team
ROUNDS = 3
SPACE = Space("bench", "synthetic", "1", 384, 512)


def metadata(number: int) -> dict[str, object]:
    """What an application may note of a memory."""
    return {"team": f"team-{number % SHARE}", "priority": number % 10, "source_file": "notes.md"}


def fill(mesh: MemoryMesh, memories: int) -> None:
    """Stores the corpus, each text with its metadata."""
    texts = list(corpus.texts(0, memories))
    for start in range(0, memories, 1_000):
        mesh.add_many([
            {"content": text, "metadata": metadata(start + place)}
            for place, text in enumerate(texts[start : start + 1_000])
        ])  # fmt: skip


def spent(search: Callable[[str], object], questions: Sequence[str]) -> float:
    """CPU milliseconds of one search, the median over the questions."""
    times = []
    for question in questions:
        start = time.process_time()
        search(question)
        times.append(1_000 * (time.process_time() - start))
    return statistics.median(times)


def ratios(mesh: MemoryMesh, questions: Sequence[str], *, keyword_only: bool) -> dict[str, float]:
    """Milliseconds without a filter, and of each filter the ratio to that, side by side."""
    filters: dict[str, str | Mapping[str, object]] = {
        "team = (1 %)": {"team": "team-7"},
        "team IN two (2 %)": {"team": ["team-7", "team-8"]},
        "team = and priority": {"team": "team-7", "priority": {"$gte": 5}},
        "priority = (10 %)": {"priority": 3},
        "nobody's": {"team": "none"},
        "priority >= 9 (10 %)": "priority >= 9",
    }

    def searching(filter_: str | Mapping[str, object] | None) -> Callable[[str], object]:
        return lambda question: mesh.search(
            question, filter=filter_, use_cache=False, keyword_only=keyword_only
        )

    found: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        plain = spent(searching(None), questions)
        found.setdefault("no filter, ms", []).append(plain)
        for name, each in filters.items():
            found.setdefault(name, []).append(spent(searching(each), questions) / plain)
    return {name: round(statistics.median(values), 3) for name, values in found.items()}


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("--store", type=Path)
    options = parser.parse_args()
    questions = corpus.QUERIES.read_text("utf-8").splitlines()[:30]
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or Path(folder)
        with MemoryMesh(
            db_dir=store, custom_embedder=Synthetic(SPACE), settings={"read_claims": False}
        ) as mesh:
            if not mesh.get_all(limit=1):
                fill(mesh, options.memories)
            for keyword_only in (True, False):
                print("keyword" if keyword_only else "hash vectors")
                for name, value in ratios(mesh, questions, keyword_only=keyword_only).items():
                    print(f"  {name}: {value}")


if __name__ == "__main__":
    main()
