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

import os
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import islice, pairwise
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING, Any, TypeAlias
from memory_mesh.model import Body, InvalidInput
from memory_mesh.models.lance import loading
from memory_mesh.platform.locks import locked
from memory_mesh.platform.system import close_to_others, make_folder

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
    from lance import LanceDataset
    from lance.fragment import FragmentMetadata
    from lance.lance import _Session

# Where a body lies and who may change it: a folder per namespace and space, one owner at a time.
#
# The lock is a file beside the folder, under flock: it dies with its holder, and removing the
# folder
# by hand never leaves anything locked.


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_READABLE = 40  # characters of a name that stay readable in its folder's


class IndexFolder:
    """The folder of one namespace's body in one space, and its lock."""

    def __init__(self, root: Path, namespace: str, space: str) -> None:
        self.folder: Path = root / folder_name(namespace) / f"{folder_name(space)}.lance"
        self.uri: str = str(self.folder.absolute())  # a relative path may be taken for a host

    @contextmanager
    def owned(self, *, wait: bool) -> Iterator[bool]:
        """Be the only one who changes this body; False when another is and we do not wait."""
        make_folder(self.folder.parent)
        with locked(self.folder.with_suffix(".lock"), wait=wait) as mine:
            yield mine

    def clear(self) -> None:
        """Remove every file of the body."""
        with suppress(FileNotFoundError):
            shutil.rmtree(self.folder)

    def sync(self) -> None:
        """Force the body to the disk, closed to others: the index library itself does neither."""
        for here, _, files in os.walk(self.folder):
            for path in (here, *(os.path.join(here, name) for name in files)):  # noqa: PTH118  # many
                descriptor = os.open(path, os.O_RDONLY)
                try:
                    close_to_others(path, descriptor)
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)


def folder_name(name: str) -> str:
    """A readable beginning and a hash: safe on every file system, and no two names share one."""
    readable = "".join(c if c in _PLAIN else "_" for c in name[:_READABLE])
    return f"{readable}-{sha256(name.encode()).hexdigest()[:16]}"


def drop_all(root: Path, namespace: str) -> None:
    """Remove everything of a namespace, each body when its owner is done."""
    home = root / folder_name(namespace)
    for body in {path.with_suffix(".lance") for path in home.glob("*.l*")}:
        lock = body.with_suffix(".lock")
        with locked(lock, wait=True):
            with suppress(FileNotFoundError):
                shutil.rmtree(body)
            lock.unlink()
    with suppress(OSError):  # a new body may be there already
        home.rmdir()


_MAX_OPEN_BODIES = (
    16  # an open body costs its manifest; index pages are bounded by the session's cache
)

# Why these: docs/decisions/0016-index-parameters.md and 0076-an-index-knows-audiences.md
PROBES = 1_000_000  # all there are: on real questions fewer lose answers and save little
COMPARED = 200  # rows at least whose cosines are computed from the vectors themselves
MOST_AUDIENCES = 1_000  # numbers and ranges in one question: each costs about 0.01 ms
_FARTHEST = 2.1  # a cosine distance is at most 2; that of a zero vector is no number
_RANGE = 3  # numbers in a row from which on they are told as a range

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
        place = IndexFolder(self._folder, namespace, space)
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
        place = IndexFolder(self._folder, namespace, space)
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
        wanted = only(audiences)
        if wanted is None:
            return None
        place = IndexFolder(self._folder, namespace, space)
        for _ in range(2):  # a handle may be older than the files: then once more, freshly opened
            dataset = self._handles.get(place.uri, body)
            if dataset is None or (wanted and not has_audiences(dataset)):
                return None
            found = nearest(dataset, vector, min(limit, body.rows), wanted)
            if found is not None:
                return found
            self._handles.forget(place.uri)
        return None

    def holds(self, namespace: str, space: str, body: Body) -> bool:
        """This very body is there, with its audiences, and can be read in this process."""
        dataset = self._open(namespace, space, body)
        return dataset is not None and has_audiences(dataset)

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
        place = IndexFolder(self._folder, namespace, space)
        with place.owned(wait=True):
            place.clear()

    def close(self) -> None:
        """Give up every open dataset."""
        self._handles.close()

    def _open(self, namespace: str, space: str, body: Body) -> "LanceDataset | None":
        if self.hindrance() is not None:
            return None
        return self._handles.get(IndexFolder(self._folder, namespace, space).uri, body)

    def _finish(self, place: IndexFolder, dataset: "LanceDataset", base: Body | None) -> Body:
        """Index anew: adding to an index slows it down, a new one does not."""
        partitions = max(1, dataset.count_rows() // ROWS_A_PARTITION)
        with loading.writing():
            dataset.create_index(
                "vector", KIND, metric="cosine", num_partitions=partitions, replace=True
            )
            dataset.create_scalar_index("audience", "BITMAP", replace=True)
        return self._settle(place, dataset, base)

    def _settle(self, place: IndexFolder, dataset: "LanceDataset", base: Body | None) -> Body:
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
            loading.note(place.folder, body.version)
            return body


def _stand(place: IndexFolder, base: Body | None) -> "LanceDataset | None":
    """The dataset as the ledger knows it, whatever came after undone; None to start anew."""
    if base is None:
        return None
    dataset = loading.open_body(place.uri, base)
    if dataset is None or not loading.is_sound(dataset) or not has_audiences(dataset):
        place.clear()
        return None
    if dataset.version != dataset.latest_version:
        dataset.restore()  # type: ignore[no-untyped-call]  # so it is
    return dataset


def _appended(
    place: IndexFolder, standing: "LanceDataset | None", tables: Iterator["pa.Table"]
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


# A question to an open body: the nearest rows, all or those of some audiences, by true cosines.


def only(audiences: Collection[int] | None) -> str | None:
    """The rows of these audiences as Lance reads it; empty for all rows, None for too many."""
    if audiences is None:
        return ""
    single: list[int] = []
    ranges: list[str] = []
    for first, last in _runs(sorted(set(audiences))):
        if last - first + 1 < _RANGE:
            single += range(first, last + 1)
        else:
            ranges.append(f"(audience >= {first} AND audience <= {last})")
        if len(single) + len(ranges) > MOST_AUDIENCES:
            return None
    listed = [f"audience IN ({', '.join(map(str, single))})"] if single else []
    return " OR ".join(listed + ranges)


def has_audiences(dataset: "LanceDataset") -> bool:
    """False for a body that was made before rows had audiences: it is to be made anew."""
    return "audience" in dataset.schema.names


def nearest(
    dataset: "LanceDataset", vector: bytes, count: int, wanted: str
) -> list[tuple[int, float]] | None:
    """The `count` nearest that are wanted, with exact cosines; None when a file is unreadable."""
    import numpy as np

    question = np.frombuffer(vector, "<f4")
    if len(question) != dataset.schema.field("vector").type.list_size:
        raise InvalidInput(f"a question of {len(question)} dimensions does not fit this space")
    asked = {
        "column": "vector",
        "q": question,
        "k": count,
        "nprobes": PROBES,
        "refine_factor": max(1, -(-COMPARED // count)),
    }
    among: dict[str, Any] = {"filter": wanted, "prefilter": True} if wanted else {}
    try:
        found = dataset.to_table(columns=["number", "_distance"], nearest=asked, **among)
    except loading.UNREADABLE:
        return None
    pairs = zip(found["number"].to_pylist(), found["_distance"].to_pylist(), strict=True)
    return [
        (number, min(1.0, 1.0 - distance)) for number, distance in pairs if distance <= _FARTHEST
    ]


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The first and last of each row of numbers without a gap."""
    first = last = None
    for number in numbers:
        if first is None or last is None:
            first = number
        elif number != last + 1:
            yield first, last
            first = number
        last = number
    if first is not None and last is not None:
        yield first, last


# Open bodies of this process: few, shared by its threads, each at one version for good.


class Handles:
    """The bodies used last, over one cache of index pages."""

    def __init__(self, cache_bytes: int) -> None:
        self._cache_bytes = cache_bytes
        self._session: _Session | None = None
        self._start_anew()

    def get(self, uri: str, body: Body) -> "LanceDataset | None":
        """The body, opened if need be; None when it cannot be read or is another one."""
        if self._process != os.getpid():  # nothing is open: a child of a user of Lance never asks
            self._start_anew()
        with self._mutex:
            known = self._open.get((uri, body))
            if known is not None:
                self._open.move_to_end((uri, body))
                return known
            self._session = self._session or loading.session(self._cache_bytes)
        dataset = loading.open_body(uri, body, self._session)
        if dataset is not None:
            with self._mutex:
                self._open[uri, body] = dataset
                while len(self._open) > _MAX_OPEN_BODIES:
                    self._open.popitem(last=False)
        return dataset

    def forget(self, uri: str) -> None:
        """Whatever is open there is out of date."""
        with self._mutex:
            for key in [key for key in self._open if key[0] == uri]:
                del self._open[key]

    def close(self) -> None:
        """Give up everything; a later `get` opens anew."""
        self._start_anew()

    def _start_anew(self) -> None:
        self._process = os.getpid()
        self._mutex = threading.Lock()
        self._open: OrderedDict[tuple[str, Body], LanceDataset] = OrderedDict()
        self._session = None
