"""What a page costs beside the operation that it shows, on a large store.

::

    python bench/page_cost.py [--memories 100000] [--rounds 40] [--store FOLDER]

In turns, in one process: the operation by itself, and the page of it over a kept connection to a
real server. The list and the search must stay below 2 x their operation.
"""

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import uvicorn

from bench import corpus, stores
from memory_mesh.dashboard.app import Dashboard
from memory_mesh.dashboard.asked import EVERYONE
from memory_mesh.dashboard.readers import OwnerReaders
from memory_mesh.platform.ports import bound

MOST = 2.0  # x the operation
_A_PAGE = 50


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
        mesh.context(texts[0])
        readers = OwnerReaders(mesh)
        config = uvicorn.Config(
            Dashboard(readers).application(), log_level="warning", access_log=False, ws="none"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        connection = HTTPConnection("127.0.0.1", listener.getsockname()[1])
        cookie = _signed_in(connection, readers.token or "")

        def page(path: str, **query: str) -> None:
            tail = f"?{urlencode(query)}" if query else ""
            connection.request("GET", f"/default{path}{tail}", headers={"Cookie": cookie})
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise SystemExit(f"{path}: {answer.status} {body[:200]!r}")

        def search(text: str) -> None:
            mesh.search(text, limit=_A_PAGE, across=EVERYONE, record=False)

        found = [
            _turns("/memories", rounds, lambda _: mesh.get_all(limit=_A_PAGE, across=EVERYONE),
                   lambda _: page("/memories"), texts),
            _turns("/memories?q=", rounds, search, lambda text: page("/memories", q=text), texts),
            _turns("/why?said=", rounds, search, lambda text: page("/why", said=text), texts),
            _turns("/memories/{id}", rounds, lambda _: mesh.explain(kept),
                   lambda _: page(f"/memories/{kept}"), texts),
        ]  # fmt: skip
        found += [
            _turns(path, rounds, search, lambda _, path=path: page(path), texts)  # type: ignore[misc]
            for path in ("/told", "/inbox", "/working", "/health")
        ]
        server.should_exit = True
        connection.close()
        thread.join()
    print(f"{memories:,} memories, {rounds} rounds, medians in ms")
    for path, bare, whole in found:
        print(f"{path:18} operation {bare:8.2f}  page {whole:8.2f}  {whole / bare:5.2f} x")
    return int(any(whole > MOST * bare for _, bare, whole in found[:2]))


def _turns(
    path: str,
    rounds: int,
    bare: Callable[[str], object],
    page: Callable[[str], object],
    texts: list[str],
) -> tuple[str, float, float]:
    """The medians of an operation and of a page, asked in turns."""
    took: tuple[list[float], list[float]] = ([], [])
    for at in range(rounds):
        text = texts[at % len(texts)]
        for run, spent in zip((bare, page), took, strict=True):
            begun = time.perf_counter()
            run(text)
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
