"""Lance datasets as tables of plain rows, a batch at a time: opened, read, written and synced.

A LanceDB directory holds a dataset `<table>.lance` for each table. Lance is loaded with the first
table; nothing here knows what the rows mean.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING, Any, Literal
from memory_mesh.compat.rfc11.columns import Column
from memory_mesh.model.errors import MissingExtra, StoreError, StoreIsDamaged
from memory_mesh.models.lance import loading
from memory_mesh.platform.durable_files import sync_tree

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
    from lance import LanceDataset

BATCH = 256  # rows in memory at a time
_STORAGE: Literal["2.0"] = (
    "2.0"  # every LanceDB reads it, and the same rows are always the same bytes
)
_FLOAT_BYTES = 4


def load() -> None:
    """Raise unless Lance can be used here."""
    try:
        loading.load()
    except MissingExtra:
        raise MissingExtra.of("lance", "a LanceDB directory") from None


def place(folder: Path, table: str) -> Path:
    """Where a table lies."""
    return folder / f"{table}.lance"


def opened(path: Path) -> "LanceDataset | None":
    """The dataset at a path; None where nothing is, StoreIsDamaged where it cannot be read."""
    load()
    import lance

    if not path.is_dir():
        return None
    with _in_our_words(f"{path} is no table that can be read"):
        return lance.dataset(_uri(path))


def column_names(dataset: "LanceDataset") -> list[str]:
    """The names of a table's columns."""
    return list(dataset.schema.names)


def rows(
    dataset: "LanceDataset", columns: Sequence[str], *, where: str | None = None
) -> Iterator[list[dict[str, object]]]:
    """Batches of rows with those of the columns that there are; a time is in milliseconds."""
    there = [name for name in columns if name in column_names(dataset)]
    with _in_our_words("the table cannot be read to its end"):
        yield from (_plain(batch) for batch in scanned(dataset, columns=there, filter=where))


def scanned(dataset: "LanceDataset", **options: Any) -> "Iterator[pa.RecordBatch]":  # noqa: ANN401  # Lance's own
    """A table's batches in its order, no more than two of them in memory."""
    return dataset.to_batches(
        batch_size=BATCH, batch_readahead=1, fragment_readahead=1, scan_in_order=True, **options
    )


def write_rows(
    path: Path, columns: Sequence[Column], dimension: int, rows: Iterable[Mapping[str, object]]
) -> int:
    """Make a table of these rows, forced to the disk; how many there were."""
    load()
    schema, counted = arrow_schema(columns, dimension), 0

    def batches() -> "Iterator[pa.RecordBatch]":
        nonlocal counted
        for part in _parts(rows):
            counted += len(part)
            yield _batch(schema, columns, dimension, part)

    write_batches(path, schema, batches())
    return counted


def write_batches(path: Path, schema: "pa.Schema", batches: "Iterator[pa.RecordBatch]") -> None:
    """Make a table of these batches; its files are on the disk when this returns."""
    import lance
    import pyarrow as pa

    reader = pa.RecordBatchReader.from_batches(schema, batches)
    with _in_our_words(f"{path} cannot be written", StoreError):
        lance.write_dataset(reader, _uri(path), mode="create", data_storage_version=_STORAGE)
    sync_tree(path)


def arrow_schema(columns: Sequence[Column], dimension: int) -> "pa.Schema":
    """RFC-0011's types for some columns."""
    import pyarrow as pa

    types = {
        "text": pa.utf8(),
        "vector": pa.list_(pa.field("item", pa.float32()), dimension),
        "time": pa.timestamp("ms"),
        "float": pa.float32(),
        "int": pa.int32(),
    }
    return pa.schema(
        [pa.field(column.name, types[column.holds], column.nullable) for column in columns]
    )


def _plain(batch: "pa.RecordBatch") -> list[dict[str, object]]:
    """Rows of plain values; a time that Python cannot hold is for the reader to refuse."""
    import pyarrow as pa

    columns: dict[str, list[object]] = {}
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_timestamp(values.type):
            values = values.cast(pa.timestamp("ms", values.type.tz), safe=False).cast(pa.int64())  # noqa: PLW2901  # the same
        columns[name] = values.to_pylist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _batch(
    schema: "pa.Schema",
    columns: Sequence[Column],
    dimension: int,
    rows: Sequence[Mapping[str, object]],
) -> "pa.RecordBatch":
    import pyarrow as pa

    arrays = [
        _vectors([row.get(column.name) for row in rows], schema.field(column.name).type, dimension)
        if column.holds == "vector"
        else pa.array([row.get(column.name) for row in rows], schema.field(column.name).type)
        for column in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _vectors(data: Sequence[object], type_: "pa.DataType", dimension: int) -> "pa.Array":
    """Little-endian float32 as it came; None where a text has no vector of this dimension."""
    import numpy as np
    import pyarrow as pa

    size = dimension * _FLOAT_BYTES
    fitting = [item if isinstance(item, bytes) and len(item) == size else None for item in data]
    joined = b"".join(item or bytes(size) for item in fitting)
    return pa.FixedSizeListArray.from_arrays(
        pa.array(np.frombuffer(joined, "<f4")),
        type=type_,
        mask=pa.array([item is None for item in fitting]),
    )


def _parts(rows: Iterable[Mapping[str, object]]) -> Iterator[list[Mapping[str, object]]]:
    stream = iter(rows)
    while part := list(islice(stream, BATCH)):
        yield part


def _uri(path: Path) -> str:
    return str(path.absolute())  # a relative path may be taken for a host


@contextmanager
def _in_our_words(what: str, kind: type[StoreError] = StoreIsDamaged) -> Iterator[None]:
    try:
        yield
    except loading.UNREADABLE as error:
        raise kind(f"{what}: {error}") from error
