"""The texts of an archive: its manifest, and one line of JSON for each row of a table.

A row is an object with a key for each column; bytes are `{"base64": …}`. The manifest says which
tables follow, in which order, with how many rows and bytes and which SHA-256. Neither holds a time
or a path, so that the same namespace always gives the same archive.
"""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence

from memory_mesh.base.typed import Any, TypeAlias, dataclass
from memory_mesh.model.errors import InvalidInput, StoreIsNewer

FORMAT = 1
KIND = "memory-mesh archive"
_BYTES = "base64"
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

Value: TypeAlias = "str | int | float | bytes | None"


@dataclass(frozen=True, slots=True)
class ArchiveTable:
    """One table of an archive: its columns, and what its file must be."""

    name: str
    columns: tuple[str, ...]
    rows: int
    bytes: int
    sha256: str

    @property
    def file(self) -> str:
        """The name of its file in the archive."""
        return f"tables/{self.name}.jsonl"


@dataclass(frozen=True, slots=True)
class ArchiveManifest:
    """What an archive holds: a namespace as of one write."""

    product: str  # the version that wrote it
    schema: int
    namespace: str
    identities: tuple[str, ...]  # of the namespace, and of those that it was copied from
    keys: tuple[str, ...]  # ids of the keys behind its placeholders and tombstones
    seq: int
    position: int
    hash: str
    with_vectors: bool
    tables: tuple[ArchiveTable, ...]


def written(manifest: ArchiveManifest) -> bytes:
    """The manifest as indented JSON."""
    plain = {
        "kind": KIND,
        "format": FORMAT,
        "product": manifest.product,
        "schema": manifest.schema,
        "namespace": manifest.namespace,
        "identities": list(manifest.identities),
        "keys": list(manifest.keys),
        "seq": manifest.seq,
        "position": manifest.position,
        "hash": manifest.hash,
        "with_vectors": manifest.with_vectors,
        "tables": [
            {
                "file": table.file,
                "name": table.name,
                "columns": list(table.columns),
                "rows": table.rows,
                "bytes": table.bytes,
                "sha256": table.sha256,
            }
            for table in manifest.tables
        ],
    }
    return json.dumps(plain, ensure_ascii=False, indent=2).encode() + b"\n"


def read(data: bytes) -> ArchiveManifest:
    """The manifest that a text is; raises InvalidInput if it is none, StoreIsNewer if too new."""
    try:
        plain: Any = json.loads(data)
        _check_format(plain)
        return ArchiveManifest(
            str(plain["product"]),
            _number(plain["schema"]),
            str(plain["namespace"]),
            _texts(plain["identities"]),
            _texts(plain["keys"]),
            _number(plain["seq"]),
            _number(plain["position"]),
            str(plain["hash"]),
            plain["with_vectors"] is True,
            tuple(
                ArchiveTable(
                    str(one["name"]),
                    _texts(one["columns"]),
                    _number(one["rows"]),
                    _number(one["bytes"]),
                    str(one["sha256"]),
                )
                for one in plain["tables"]
            ),
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InvalidInput("the manifest of the archive cannot be read") from None


def row_line(columns: Sequence[str], values: Sequence[Value]) -> bytes:
    """One row as a line of JSON."""
    plain = {
        column: {_BYTES: base64.b64encode(value).decode()} if isinstance(value, bytes) else value
        for column, value in zip(columns, values, strict=True)
    }
    return _ENCODER.encode(plain).encode() + b"\n"


def row_values(columns: Sequence[str], line: bytes) -> tuple[Value, ...]:
    """The values of a line, in the order of the columns; raises InvalidInput for another row."""
    try:
        plain: Any = json.loads(line)
        values = tuple(_value(plain[column]) for column in columns)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InvalidInput("a row of the archive cannot be read") from None
    if len(plain) != len(values):
        raise InvalidInput("a row of the archive has a column that its table has not")
    return values


def _check_format(plain: Mapping[str, Any]) -> None:
    if plain["kind"] != KIND:
        raise ValueError
    if plain["format"] != FORMAT:
        raise StoreIsNewer(
            f"the archive has format {int(plain['format'])}, and this version reads {FORMAT}. "
            "Upgrade memory-mesh."
        )


def _value(plain: object) -> Value:
    if isinstance(plain, Mapping):
        if len(plain) != 1:
            raise ValueError
        try:
            return base64.b64decode(plain[_BYTES], validate=True)
        except binascii.Error:
            raise ValueError from None
    if plain is None or (isinstance(plain, str | int | float) and not isinstance(plain, bool)):
        return plain
    raise ValueError


def _texts(plain: Sequence[object]) -> tuple[str, ...]:
    if not isinstance(plain, list) or not all(isinstance(one, str) for one in plain):
        raise ValueError
    return tuple(str(one) for one in plain)


def _number(plain: object) -> int:
    if not isinstance(plain, int) or isinstance(plain, bool) or plain < 0:
        raise ValueError
    return plain
