"""Give every namespace of a store vectors of another model, many at once.

    pip install 'ray[data]'
    python examples/reembed_in_bulk.py postgresql://mesh@db.example.org/memories --model MODEL
    python examples/reembed_in_bulk.py ~/store --embedder static --threads 4      without Ray

With Ray installed, Ray Data spreads the namespaces over the machines of a cluster; with `--threads`
a pool of this process does the same. A namespace is a row, a worker holds one open store, and each
row is worked on whole by the public object. Searches use the former vectors until `switch`, a run
that was killed goes on where it was, and a namespace that is done costs one look. Cold namespaces
of a database are left where they are: give them the new model when they come back.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from memory_mesh import MeshError
from memory_mesh.sync import MemoryMesh

PAGE = 1_000  # names that are listed at a time


class Reembed:
    """A worker: opens the store once, and takes one namespace after the other."""

    def __init__(self, store: str, model: Mapping[str, str], *, switch: bool) -> None:
        self.mesh = MemoryMesh(store)
        self.model, self.switch = model, switch

    def __call__(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Makes the vectors of one namespace; what went wrong is said in its row."""
        name = str(row["namespace"])
        user = name.removeprefix("user.") if name.startswith("user.") else None
        view = self.mesh.for_user(user) if user is not None else self.mesh.view(namespace=name)
        try:
            embedded = view.care.models.reembed(self.model).embedded
            if self.switch:
                view.care.models.switch(self.model)
        except MeshError as error:  # one namespace that fails keeps no other waiting
            if "already" not in str(error):
                return {"namespace": name, "texts": 0, "wrong": str(error)}
            embedded = view.care.upkeep().embedded  # it uses the model: only what is missing
        return {"namespace": name, "texts": embedded, "wrong": ""}


def namespaces(store: str) -> Iterator[dict[str, str]]:
    """The names of all namespaces that are in use, page by page."""
    with MemoryMesh(store) as mesh:
        cold, after = set[str](), None
        while page := mesh.care.namespaces(after=after, limit=PAGE):
            if mesh.config.store is not None:
                from memory_mesh.care.server import cold_among

                cold = {each.namespace for each in cold_among(mesh.config, page)}
            yield from ({"namespace": name} for name in page if name not in cold)
            after = page[-1]


def over_ray(options: argparse.Namespace, work: dict[str, Any]) -> Iterable[Mapping[str, Any]]:
    """The rows that a cluster, or this machine as one, gives back."""
    import ray

    ray.init(ignore_reinit_error=True, include_dashboard=False, log_to_driver=False)
    rows = ray.data.from_items(list(namespaces(options.store)))
    done = rows.map(Reembed, fn_constructor_kwargs=work, concurrency=options.workers)
    return done.iter_rows()


def over_threads(options: argparse.Namespace, work: dict[str, Any]) -> Iterable[Mapping[str, Any]]:
    """The same by threads of this process, which share one open store."""
    with ThreadPoolExecutor(options.threads) as pool:
        yield from pool.map(Reembed(**work), namespaces(options.store))


def main() -> int:
    """Works on all, and says which namespaces are not done."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("store", help="a folder, or the address of a database")
    parser.add_argument("--embedder", default="local", help="what makes the vectors")
    parser.add_argument("--model", help="the name of the embedding model")
    parser.add_argument("--switch", action="store_true", help="let searches use the new vectors")
    parser.add_argument("--workers", type=int, default=2, help="of Ray")
    parser.add_argument("--threads", type=int, default=0, help="work without Ray, in so many")
    options = parser.parse_args()
    model = {"embedder": options.embedder}
    model |= {"embedder_model": options.model} if options.model else {}
    spread, count, wrong = (over_threads if options.threads else over_ray), 0, 0
    for row in spread(options, {"store": options.store, "model": model, "switch": options.switch}):
        count, wrong = count + 1, wrong + bool(row["wrong"])
        if row["wrong"]:
            print(f"{row['namespace']}: {row['wrong']}", file=sys.stderr)
    print(f"{count - wrong} of {count} namespaces are done")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
