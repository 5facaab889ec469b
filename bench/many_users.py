"""Many users of one store, made through the API: seconds, bytes, files, and a search of any.

    python -m bench.many_users --users 10000 --memories 20 --work-dir DIR

Each user's memories are stored by one `add_many` of their own view. Searches are of users drawn at
random, most of whose files are not open. Printed as JSON; nothing is written but the store.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from bench import corpus, measure, report, stores
from bench.measure import Figures, Times, rounded, say

_SEARCHES = 500
_PAGE = 1_000  # names of a page


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the users, look at what they take, search as some of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--users", type=int, default=10_000)
    parser.add_argument("--memories", type=int, default=20)
    parser.add_argument("--work-dir", type=Path, help="where the store is made and removed")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.work_dir) as folder:
        figures = measured(Path(folder) / "store", options.users, options.memories)
    print(json.dumps({**report.stamp(), **figures}, indent=2))
    return 0


def measured(folder: Path, users: int, memories: int) -> Figures:
    """Every figure of one store."""
    figures = made(folder, users, memories)
    files = [file for file in folder.rglob("*") if file.is_file()]
    taken = sum(file.stat().st_size for file in files)
    figures |= {
        "megabytes": rounded(taken / 1e6),
        "bytes_of_a_user": round(taken / users),
        "files_of_a_user": rounded(len(files) / users),
    }
    return figures | asked(folder, users)


def made(folder: Path, users: int, memories: int) -> Figures:
    """What it takes to make all users, one after the other."""
    texts = corpus.texts(0, users * memories)
    wall, cpu = time.perf_counter(), time.process_time()
    with stores.keyword_mesh(folder) as mesh:
        for number in range(users):
            mesh.for_user(_name(number)).add_many(islice(texts, memories))
            if number % 500 == 499:
                say(f"  {number + 1:,} of {users:,} users")
    return {
        "users": users,
        "memories": users * memories,
        "seconds": rounded(time.perf_counter() - wall),
        "cpu_seconds": rounded(time.process_time() - cpu),
    }


def asked(folder: Path, users: int) -> Figures:
    """Searches of random users, and the list of users: whole, and in pages."""
    chance = random.Random(f"{corpus.SEED} users")
    questions = corpus.queries()
    searches, whole, pages = Times(), Times(), Times()
    with stores.keyword_mesh(folder) as mesh:
        for number in range(_SEARCHES):
            own = mesh.for_user(_name(chance.randrange(users)))
            question = questions[number % len(questions)]
            searches.take(partial(own.search, question))
        listed: list[str] = []
        whole.take(partial(_extend, listed, mesh.users))
        after: str | None = None
        while True:
            page: list[str] = []
            pages.take(partial(_extend, page, partial(mesh.users, after=after, limit=_PAGE)))
            if not page:
                break
            after = page[-1]
    return {
        "search_p50_ms": measure.median_ms(searches.wall),
        "search_p95_ms": measure.percentile_ms(searches.wall, 0.95),
        "listed": len(listed),
        "list_ms": measure.median_ms(whole.wall),
        "page_of_1000_ms": measure.median_ms(pages.wall),
    }


def _extend(found: list[str], listing: Callable[[], list[str]]) -> None:
    found += listing()


def _name(number: int) -> str:
    return f"user-{number:06}"


if __name__ == "__main__":
    sys.exit(main())
