"""The body as one Lance dataset per namespace and space: number, vector, audience, and indexes.

::

    absorb   own the folder -> stand on the ledger's body, or start anew -> append what is above it,
             one commit -> build the index anew -> sync -> clean old versions -> Body
    near     Body -> the dataset at exactly that version -> nearest by index among the rows of the
             audiences -> exact cosines

The ledger is the truth about the body too. A `Body` counts once the ledger names it; whatever a
killed absorb left behind is rolled back by the next one. A version never changes, so a reader is
never disturbed, and a body that cannot be read is no body: the caller scans its ledger instead.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from pathlib import Path

from memory_mesh.engines.indexes.lance import asking, loading, manifests
from memory_mesh.engines.indexes.lance.handles import Handles
from memory_mesh.engines.indexes.lance.index_folders import Place, drop_all
from memory_mesh.errors import InvalidInput
from memory_mesh.model import Body
from memory_mesh.typed import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
    from lance import LanceDataset
    from lance.fragment import FragmentMetadata

Rows: TypeAlias = Sequence[tuple[int, bytes, int]]  # number, vector, audience

# Why these: docs/decisions/0016-index-parameters.md
KIND = "IVF_RQ"
ROWS_A_PARTITION = 2_000
CACHE_BYTES = 512 * 1024 * 1024  # of index pages, all bodies of a process together
DEAD_SHARE = 0.1  # of a body's rows: more are compacted away
KEEP = timedelta(minutes=10)  # how long a version outlives the one that replaced it
_CHUNK = 65_536  # rows of a data file: 100 MB at 384 dimensions, held in memory while written
_EVER = timedelta(days=36_500)
_FLOAT_BYTES = 4
_DELETE_BATCH = 10_000  # numbers in one delete statement


class LanceIndex:
    """Bodies in a folder; any number of threads and processes may search while one absorbs."""

    def __init__(
        self, folder: Path, *, keep: timedelta = KEEP, cache_bytes: int = CACHE_BYTES
    ) -> None:
        self._folder = folder
        self._keep = keep
        self._handles = Handles(cache_bytes)

    def hindrance(self) -> str | None:
        """Why this process cannot use the index, in words; None when it can."""
        return loading.hindrance()

    def absorb(
        self,
        namespace: str,
        space: str,
        *,
        dimension: int,
        base: Body | None,
        rows: Callable[[int], Iterable[Rows]],
    ) -> Body | None:
        """The body that stands on `base` and holds all `rows` above it; `base` when busy."""
        loading.load()
        place = Place(self._folder, namespace, space)
        with place.owned(wait=False) as mine:
            if not mine:
                return base
            standing = _stand(place, base)
            floor = base.highest if base is not None and standing is not None else 0
            grown = _appended(place, standing, _tables(rows(floor), floor, dimension))
            if grown is None:
                return base if standing is not None else None
            return self._finish(place, grown, base)

    def forget(
        self, namespace: str, space: str, *, base: Body, numbers: Collection[int]
    ) -> Body | None:
        """The body without these numbers, compacted when much is dead; None where none is."""
        loading.load()
        place = Place(self._folder, namespace, space)
        with place.owned(wait=True):
            dataset = _stand(place, base)
            if dataset is None:
                return None
            with loading.writing():
                compacted = _without(dataset, numbers)
            if not dataset.count_rows():
                place.clear()
                return None
            return (self._finish if compacted else self._settle)(place, dataset, base)

    def near(
        self,
        namespace: str,
        space: str,
        *,
        body: Body,
        vector: bytes,
        limit: int,
        audiences: Collection[int] | None = None,
    ) -> list[tuple[int, float]] | None:
        """The nearest as (number, cosine), best first; None when this body cannot be read here.

        With audiences only their rows are looked at, and a body without audiences cannot be read.
        """
        if self.hindrance() is not None:
            return None
        if limit < 1 or (audiences is not None and not audiences):
            return []
        wanted = asking.only(audiences)
        if wanted is None:
            return None
        place = Place(self._folder, namespace, space)
        for _ in range(2):  # a handle may be older than the files: then once more, freshly opened
            dataset = self._handles.get(place.uri, body)
            if dataset is None:
                return None
            if wanted and not asking.has_audiences(dataset):
                return None
            found = asking.nearest(dataset, vector, min(limit, body.rows), wanted)
            if found is not None:
                return found
            self._handles.forget(place.uri)
        return None

    def holds(self, namespace: str, space: str, body: Body) -> bool:
        """This very body is there, with its audiences, and can be read in this process."""
        dataset = self._open(namespace, space, body)
        return dataset is not None and asking.has_audiences(dataset)

    def numbers(self, namespace: str, space: str, body: Body) -> Iterator[int]:
        """Every number the body holds, in no order; nothing where there is no such body."""
        dataset = self._open(namespace, space, body)
        if dataset is not None:
            for batch in dataset.to_batches(columns=["number"]):
                yield from batch["number"].to_pylist()

    def drop(self, namespace: str, space: str | None = None) -> None:
        """Remove the body of a space, or everything of a namespace; the ledger still has it all."""
        self._handles.close()
        if space is None:
            drop_all(self._folder, namespace)
            return
        place = Place(self._folder, namespace, space)
        with place.owned(wait=True):
            place.clear()

    def close(self) -> None:
        """Give up every open dataset."""
        self._handles.close()

    def _open(self, namespace: str, space: str, body: Body) -> "LanceDataset | None":
        if self.hindrance() is not None:
            return None
        return self._handles.get(Place(self._folder, namespace, space).uri, body)

    def _finish(self, place: Place, dataset: "LanceDataset", base: Body | None) -> Body:
        """Index anew: adding to an index slows it down, a new one does not."""
        partitions = max(1, dataset.count_rows() // ROWS_A_PARTITION)
        with loading.writing():
            dataset.create_index(
                "vector", KIND, metric="cosine", num_partitions=partitions, replace=True
            )
            dataset.create_scalar_index("audience", "BITMAP", replace=True)
        return self._settle(place, dataset, base)

    def _settle(self, place: Place, dataset: "LanceDataset", base: Body | None) -> Body:
        """Syncs the dataset before the ledger refers to it, then removes unused old versions."""
        with loading.writing():
            place.sync()
            gone = _outlived(dataset, datetime.now(UTC) - self._keep)
            gone -= {base.version} if base is not None else set()
            # Unverified are files that no version names: a killed owner's, for we are the only one.
            if gone:
                dataset.cleanup_old_versions(versions=sorted(gone), delete_unverified=True)
            else:
                dataset.cleanup_old_versions(_EVER, delete_unverified=True)
            body = loading.body_of(dataset)
            manifests.note(place.folder, body.version)
            return body


def _stand(place: Place, base: Body | None) -> "LanceDataset | None":
    """The dataset as the ledger knows it, whatever came after undone; None to start anew."""
    if base is None:
        return None
    dataset = loading.open_body(place.uri, base)
    if dataset is None or not loading.is_sound(dataset) or not asking.has_audiences(dataset):
        place.clear()
        return None
    if dataset.version != dataset.latest_version:
        dataset.restore()  # type: ignore[no-untyped-call]  # so it is
    return dataset


def _appended(
    place: Place, standing: "LanceDataset | None", tables: Iterator["pa.Table"]
) -> "LanceDataset | None":
    """The dataset with these tables more, in one commit; None when there are none."""
    from lance import LanceDataset, LanceOperation
    from lance.fragment import write_fragments

    before = standing or loading.open_latest(place.uri)  # readers keep it while we make the next
    if before is None:
        place.clear()
    target = place.uri if before is None else before
    mode = "append" if standing is not None else "create" if before is None else "overwrite"
    fragments: list[FragmentMetadata] = []
    schema = None
    for table in tables:
        schema = table.schema
        with loading.writing():
            fragments += write_fragments(table, target, mode=mode)
    if schema is None:
        return None
    overwrite = LanceOperation.Overwrite(schema, fragments)
    change = overwrite if standing is None else LanceOperation.Append(fragments)
    with loading.writing():
        version = before.version if before is not None else None
        return LanceDataset.commit(place.uri, change, read_version=version)


def _without(dataset: "LanceDataset", numbers: Collection[int]) -> bool:
    """Delete the numbers, and compact when much is dead: then the index is to be built anew."""
    waiting = iter(numbers)
    while few := list(islice(waiting, _DELETE_BATCH)):
        dataset.delete(f"number IN ({', '.join(str(int(number)) for number in few)})")
    held = sum(fragment.physical_rows for fragment in dataset.get_fragments())
    if held - dataset.count_rows() <= DEAD_SHARE * held:
        return False
    dataset.optimize.compact_files(materialize_deletions_threshold=0.0)
    return True


def _outlived(dataset: "LanceDataset", before: datetime) -> set[int]:
    """The versions that were replaced before that time."""
    made: list[tuple[Any, Any]] = [(v["version"], v["timestamp"]) for v in dataset.versions()]
    known = pairwise(sorted(made))
    return {old for (old, _), (_, replaced) in known if replaced.astimezone(UTC) < before}


def _tables(batches: Iterable[Rows], floor: int, dimension: int) -> Iterator["pa.Table"]:
    """Reads rows above the floor in the caller's thread, because a ledger may require it."""
    waiting: list[tuple[int, bytes, int]] = []
    for batch in batches:
        waiting += [row for row in batch if row[0] > floor]
        if len(waiting) >= _CHUNK:
            yield _table(waiting, dimension)
            floor, waiting = waiting[-1][0], []
    if waiting:
        yield _table(waiting, dimension)


def _table(rows: Rows, dimension: int) -> "pa.Table":
    import numpy as np
    import pyarrow as pa

    for number, data, _ in rows:
        if len(data) != _FLOAT_BYTES * dimension:
            raise InvalidInput(f"vector {number} has not the {dimension} dimensions of its space")
    numbers = np.fromiter((number for number, _, _ in rows), np.int64, len(rows))
    if not (np.diff(numbers) > 0).all():
        raise InvalidInput("the rows to absorb do not come in the order of their numbers")
    values = np.frombuffer(b"".join(data for _, data, _ in rows), "<f4")
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(values, pa.float32()), dimension)
    schema = pa.schema(
        [
            pa.field("number", pa.int64(), nullable=False),
            pa.field("vector", vectors.type, nullable=False),
            pa.field("audience", pa.int64(), nullable=False),
        ]
    )
    audiences = np.fromiter((audience for _, _, audience in rows), np.int64, len(rows))
    return pa.table([pa.array(numbers), vectors, pa.array(audiences)], schema=schema)
