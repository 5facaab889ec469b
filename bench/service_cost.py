"""What a search costs over HTTP, beside the same search in this process and a bare echo.

::

    python bench/service_cost.py [--memories 5000] [--rounds 300]

In turns, in one run: (a) the search here, (b) a POST that an ASGI application of ten lines sends
back, (c) the search of the service by a kept connection, (d) by `MemoryMesh(url)`. The service must
stay below 1.5 x (a + b).
"""

import argparse
import json
import multiprocessing
import random
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from http.client import HTTPConnection

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from memory_mesh.server.app import KeyLimits, Service
from memory_mesh.server.mcp import application, bound
from memory_mesh.sync import MemoryMesh

MOST = 1.5  # x (a search here + an echo)


async def _echo(request: Request) -> JSONResponse:
    return JSONResponse(await request.json())


def _serve(listener: socket.socket, folder: str | None) -> None:
    """Serves the store in a folder; without one the echo."""
    app = Starlette(routes=[Route("/", _echo, methods=["POST"])])
    options = {"log_level": "warning", "access_log": False, "ws": "none"}
    if folder is None:
        uvicorn.Server(uvicorn.Config(app, **options)).run(sockets=[listener])  # type: ignore[arg-type]
        return
    with MemoryMesh(folder, embedder="none") as mesh:
        service = Service(mesh, KeyLimits(rate=1e6, burst=1e6))
        app = application(service, "http://127.0.0.1")
        uvicorn.Server(uvicorn.Config(app, **options)).run(sockets=[listener])  # type: ignore[arg-type]


def _posted(connection: HTTPConnection, path: str, body: object, key: str) -> object:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(body), headers)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        raise SystemExit(text.decode())
    return json.loads(text)


def _waited(port: int) -> HTTPConnection:
    end = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return HTTPConnection("127.0.0.1", port)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def measured(memories: int, rounds: int) -> dict[str, float]:
    """Medians in milliseconds."""
    draw = random.Random(7)
    parts = ("al", "be", "co", "du", "fi", "ra", "no", "ti", "mek", "sul", "or", "win")
    words = ["".join(draw.choices(parts, k=3)) for _ in range(1_000)]
    texts = [" ".join(draw.choices(words, k=9)) + f" {number}" for number in range(memories)]
    with tempfile.TemporaryDirectory() as folder, MemoryMesh(folder, embedder="none") as mesh:
        mesh.add_many(texts)
        key = mesh.care.access_keys.add("bench", grants={"*": "admin"}, speaks_as="user").text or ""
        with bound("127.0.0.1", 0) as one, bound("127.0.0.1", 0) as two:
            spawn = multiprocessing.get_context("spawn")
            processes = [
                spawn.Process(target=_serve, args=(listener, place), daemon=True)
                for listener, place in ((one, folder), (two, None))
            ]
            for process in processes:
                process.start()
            ports = [listener.getsockname()[1] for listener in (one, two)]
        service, echo = map(_waited, ports)
        with MemoryMesh(f"http://127.0.0.1:{ports[0]}", key=key) as remote:
            asked = [
                {"query": " ".join(draw.choices(words, k=4)), "limit": 5} for _ in range(rounds)
            ]
            answer = _posted(service, "/v1/search", asked[0], key)
            runs: dict[str, Callable[[dict[str, object]], object]] = {
                "search here": lambda one: mesh.search(**one),  # type: ignore[arg-type]
                "echo": lambda one: _posted(echo, "/", [one, answer], key),
                "search over HTTP": lambda one: _posted(service, "/v1/search", one, key),
                "MemoryMesh(url)": lambda one: remote.search(**one),  # type: ignore[arg-type]
            }
            took: dict[str, list[float]] = {name: [] for name in runs}
            for question in asked:
                for name, run in runs.items():
                    begun = time.perf_counter()
                    run({**question, "use_cache": False})
                    took[name].append(1000 * (time.perf_counter() - begun))
        for process in processes:
            process.terminate()
            process.join()
    return {name: statistics.median(each) for name, each in took.items()}


def main() -> int:
    """Prints the medians, and fails if the service costs more than it may."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--memories", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=300)
    options = parser.parse_args()
    found = measured(options.memories, options.rounds)
    for name, milliseconds in found.items():
        print(f"{name:20} {milliseconds:8.2f} ms")
    ratio = found["search over HTTP"] / (found["search here"] + found["echo"])
    print(f"{'ratio':20} {ratio:8.2f}    (at most {MOST})")
    return 0 if ratio <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
