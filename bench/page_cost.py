"""What a page costs beside the search itself, on a large store.

::

    python -m bench.page_cost [--memories 100000] [--rounds 40] [--store FOLDER]

In turns, in one process: a search, and a page over a kept connection to a real server. Each
question is asked once, so that neither is answered from a cache. The first page and the page of a
search must stay below 2 x the search.
"""

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection
from itertools import product
from pathlib import Path
from urllib.parse import quote

import uvicorn

from bench import corpus, stores
from memory_mesh.dashboard.app import Dashboard
from memory_mesh.dashboard.asked import EVERYONE
from memory_mesh.dashboard.readers import OwnerReaders
from memory_mesh.platform.ports import bound

MOST = 2.0  # x the operation
_A_PAGE = 50
_FIRST = {"/memories", "/memories?q="}


def main() -> int:
    """Measures, prints a table, and returns 1 where a page costs too much."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--store", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as spare:
        folder = options.store or Path(spare)
        stores.loaded(folder, options.memories)
        return _measured(folder, options.memories, options.rounds)


def _measured(folder: Path, memories: int, rounds: int) -> int:
    texts = corpus.QUERIES.read_text(encoding="utf-8").splitlines()
    with stores.keyword_mesh(folder) as mesh, bound("127.0.0.1", 0) as listener:
        kept = mesh.get_all(limit=1)[0].id
        prompt = mesh.context(texts.pop()).injection_id
        readers = OwnerReaders(mesh)
        config = uvicorn.Config(
            Dashboard(readers).application(), log_level="warning", access_log=False, ws="none"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        connection = HTTPConnection("127.0.0.1", listener.getsockname()[1])
        cookie = _signed_in(connection, readers.token or "")

        def page(path: str, question: str) -> None:
            asked = quote(question) if path.endswith("=") else ""
            connection.request("GET", f"/default{path}{asked}", headers={"Cookie": cookie})
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != HTTPStatus.OK:
                raise SystemExit(f"{path}: {answer.status} {body[:200]!r}")

        def search(text: str) -> None:
            mesh.search(text, limit=_A_PAGE, across=EVERYONE, record=False)

        paths = ["/memories", "/memories?q=", "/why", "/why?said=", f"/memories/{kept}", "/told"]
        paths += [f"/told/{prompt}", "/inbox", "/working", "/health"]
        asked = (f"{one} {other.split()[0]}" for one, other in product(texts, texts[:9]))
        found = [_turns(path, rounds, search, page, asked) for path in paths]
        server.should_exit = True
        connection.close()
        thread.join()
    print(f"{memories:,} memories, {rounds} rounds, medians in ms")
    for path, bare, whole in found:
        print(f"{path:36} search {bare:7.2f}  page {whole:7.2f}  {whole / bare:5.2f} x")
    return int(any(whole > MOST * bare for path, bare, whole in found if path in _FIRST))


def _turns(
    path: str,
    rounds: int,
    search: Callable[[str], object],
    page: Callable[[str, str], object],
    asked: Iterator[str],
) -> tuple[str, float, float]:
    """The medians of a search and of a page, asked in turns."""
    took: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        runs: tuple[Callable[[str], object], ...] = (search, partial(page, path))
        for run, spent in zip(runs, took, strict=True):
            question = next(asked)
            begun = time.perf_counter()
            run(question)
            spent.append(1_000 * (time.perf_counter() - begun))
    return path, statistics.median(took[0]), statistics.median(took[1])


def _signed_in(connection: HTTPConnection, token: str) -> str:
    for _ in range(100):
        try:
            connection.request("GET", f"/-/in?token={token}")
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    answer = connection.getresponse()
    answer.read()
    return (answer.headers["set-cookie"] or "").split(";")[0]


if __name__ == "__main__":
    raise SystemExit(main())
